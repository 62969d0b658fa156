"""Worker processes of a ``DataLoader`` that are forked after the device was opened."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ROOTS = ("torch",)
ONLY = ("DataLoader",)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.role != "call" or not view.given(event, "num_workers", 5):
        return
    if view.index.canonical(event.name, view.summary) != "torch.utils.data.DataLoader":
        return
    if view.given(event, "multiprocessing_context"):
        return
    known, workers = view.constant(view.argument(event, "num_workers", 5))
    if known and isinstance(workers, int) and workers > 0:
        yield Hit(
            event.span,
            f"{workers} worker processes are forked from the one that holds the device",
            Confidence.POSSIBLE,
            paths=("native",),
        )
