"""``F.mse_loss`` in a program that is compiled."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from neuronport.detectors import Hit
from neuronport.detectors._tensors import LIKELY, torch_call
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ROOTS = ("torch",)
ONLY = ("mse_loss", "MSELoss")
_NAMES = frozenset(("torch.nn.functional.mse_loss", "torch.nn.MSELoss"))
_COMPILES: WeakKeyDictionary[ModuleView, bool] = WeakKeyDictionary()


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if torch_call(event, view) not in _NAMES:
        return
    known = _COMPILES.get(view)
    if known is None:
        known = _COMPILES[view] = any(
            e.kind == "use" and e.name == "torch.compile" for e in view.facts.events
        )
    if known:
        yield Hit(
            event.span,
            "the gradient of mse_loss failed in a compiled graph",
            LIKELY,
            paths=("native",),
        )
