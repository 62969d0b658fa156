"""``torch_xla`` is imported where nothing makes up for its absence."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.lock_in._seams import behind_seam, how_sure
from neuronport.findings import Confidence, Verdict
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("import",)
ROOTS = ("torch_xla",)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name.partition(".")[0] not in ROOTS:
        return
    if behind_seam(event, view):
        yield Hit(event.span, "torch_xla behind a seam", verdict=Verdict.BENIGN)
        return
    # Asked about the XLA path as well, the program may be meant for that alone.
    alone = view.paths == frozenset(("native",))
    yield Hit(
        event.span,
        f"{event.name} belongs to PyTorch/XLA: the native path has no torch_xla",
        Confidence.CERTAIN if alone else how_sure(view),
    )
