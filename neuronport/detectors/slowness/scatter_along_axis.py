"""``scatter`` along an axis, which had compiler defects."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import POSSIBLE, called, on_host
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use", "method")
METHODS = frozenset(("scatter", "scatter_"))
ROOTS = ("torch",)
ONLY = METHODS


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    call = called(event, view, METHODS)
    if call is None or (on_host(view, call.tensor) and not view.hot(event)):
        return
    if call.name == "scatter" and call.confidence is POSSIBLE:
        return  # plots scatter, too
    if len(call.args) + len(call.kwargs) < 3:
        return  # a collective, or something else of this name
    yield Hit(event.span, f"{call.name} along an axis had compiler defects in 2023", POSSIBLE)
