"""An operation whose result is as long as the data says: nonzero, argwhere, one-argument where,
masked_select, unique."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import COUNTING, called, on_host, placed
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

METHODS = tuple(sorted(COUNTING))
EVENTS = ("use", "method")
_NAMES = COUNTING | {"where"}
ONLY = frozenset(_NAMES)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "method" and event.name not in COUNTING:
        return
    call = called(event, view, _NAMES)
    if call is None:
        return
    if call.name == "where" and (event.kind == "method" or call.args or call.kwargs):
        return
    if on_host(view, call.tensor):
        return
    what = "torch.where with one argument is nonzero" if call.name == "where" else call.name
    yield Hit(
        event.span,
        f"{what}: the data decides how many elements the result has",
        placed(event, view, call.confidence),
    )
