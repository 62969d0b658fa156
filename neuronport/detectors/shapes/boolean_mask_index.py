"""Reading by a mask: ``x[x > 0]``, ``hidden[labels != -100]``."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import LIKELY
from neuronport.detectors.shapes._indexing import masked_item
from neuronport.findings import weakest
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("item",)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name != "load" or event.at in view.once("items stored", lambda: _stored(view)):
        return  # ``x[mask] += 1`` reads and writes: the writing is spoken of
    sure = masked_item(event, view)
    if sure is not None:
        yield Hit(
            event.span,
            f"{view.text(event.value)} is read by a mask: the data decides how many elements are left",
            weakest(sure, LIKELY),  # that this is a mask is told from how it was made
        )


def _stored(view: ModuleView) -> set[tuple[int, int, int, int]]:
    return {e.at for e in view.facts.events if e.kind == "item" and e.name == "store"}
