"""A tensor made in page-locked host memory: ``torch.empty(n, pin_memory=True)``."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("pair",)
KEYWORDS = frozenset(("pin_memory",))
ONLY = KEYWORDS
_NOT_FACTORIES = ("torch.utils.", "torch.distributed.", "torch.cuda.")


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    value = event.value
    if event.name != "pin_memory" or event.role[0] != "keyword" or value is None:
        return
    name = view.callee(event.role[1])
    if not name.startswith("torch.") or name.startswith(_NOT_FACTORIES):
        return
    if value == ("const", True):
        yield Hit(event.span, f"{name}(pin_memory=True) needs a driver to pin memory with")
        return
    if value[0] == "const" or view.truth_of(value) is not None:
        return
    if any(atom.value == ("const", True) for atom in view.follow(value)):
        message = f"{name}(pin_memory=…) can need a driver to pin memory with"
        yield Hit(event.span, message, Confidence.POSSIBLE)
