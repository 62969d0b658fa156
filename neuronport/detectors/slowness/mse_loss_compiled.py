"""``F.mse_loss`` in a program that is compiled."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import LIKELY, torch_call
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ROOTS = ("torch",)
ONLY = ("mse_loss", "MSELoss")
_NAMES = frozenset(("torch.nn.functional.mse_loss", "torch.nn.MSELoss"))


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if torch_call(event, view) not in _NAMES:
        return
    if view.once("mse-loss-compiled", lambda: _compiles(view)):
        yield Hit(
            event.span,
            "the gradient of mse_loss failed in a compiled graph",
            LIKELY,
            paths=("native",),
        )


def _compiles(view: ModuleView) -> bool:
    return any(e.kind == "use" and e.name == "torch.compile" for e in view.facts.events)
