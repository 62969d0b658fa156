"""Copies that need not wait: ``tensor.to(device, non_blocking=True)``."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("pair",)
KEYWORDS = frozenset(("non_blocking",))
ONLY = KEYWORDS


def check(event: Event, _view: ModuleView) -> Iterator[Hit]:
    if event.name == "non_blocking" and event.value == ("const", True):
        yield Hit(event.span, "non_blocking=True lets a copy from pinned memory overlap")
