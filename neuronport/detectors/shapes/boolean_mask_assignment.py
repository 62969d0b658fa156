"""Writing by a mask: ``x[mask] = v``."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.shapes._indexing import masked_item
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("item",)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name != "store":
        return
    sure = masked_item(event, view)
    if sure is not None:
        yield Hit(event.span, f"{view.text(event.value)} is written by a mask", sure)
