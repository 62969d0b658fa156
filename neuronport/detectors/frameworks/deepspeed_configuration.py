"""A DeepSpeed configuration written as a dict."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

STRINGS = r"^zero_optimization$"
EVENTS = ("str",)
ONLY = ("zero_optimization",)


def check(event: Event, _view: ModuleView) -> Iterator[Hit]:
    if event.name not in ONLY or event.role[0] != "key":
        return
    yield Hit(event.span, "a configuration of DeepSpeed's ZeRO")
