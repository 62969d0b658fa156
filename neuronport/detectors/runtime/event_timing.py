"""Time taken between two device events: ``start.elapsed_time(end)``."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("method",)
METHODS = frozenset(("elapsed_time",))
ONLY = METHODS


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name != "elapsed_time" or len(event.args or ()) != 1:
        return
    confidence = Confidence.LIKELY
    for atom in view.follow(event.value):
        value = atom.value
        if value is None or value[0] != "call" or value[1] is None or value[1][0] != "ref":
            continue
        name = str(value[1][1])
        if name.rpartition(".")[2] == "Event":
            confidence = Confidence.CERTAIN
        elif not name.startswith("torch."):
            return
    yield Hit(event.span, "elapsed_time between two device events", confidence)
