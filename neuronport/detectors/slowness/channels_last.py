"""``torch.channels_last`` memory formats."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ROOTS = ("torch",)
ONLY = ("channels_last", "channels_last_3d")


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name not in ("torch.channels_last", "torch.channels_last_3d"):
        return
    if event.role != "load":
        return
    confidence = Confidence.POSSIBLE if _asked_for(event, view) else Confidence.LIKELY
    yield Hit(event.span, f"{event.name} is a layout made for cuDNN", confidence)


def _asked_for(event: Event, view: ModuleView) -> bool:
    """Whether an option decides: ``if args.channels_last``."""
    return bool(view.ctx(event).guards)
