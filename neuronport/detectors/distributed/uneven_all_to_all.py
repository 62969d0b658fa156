"""``all_to_all`` with parts of different sizes, which the neuron backend refuses."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.distributed._calls import called, is_none, may_be_none
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ONLY = ("all_to_all_single",)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if not event.name.endswith("all_to_all_single"):
        return
    if not called(event, view, "all_to_all_single"):
        return
    for key, position in (("output_split_sizes", 2), ("input_split_sizes", 3)):
        value = view.argument(event, key, position)
        if is_none(value) or not view.given(event, key, position):
            continue
        yield Hit(
            event.span,
            f"{key}={view.text(value)}: only parts of one size are exchanged",
            Confidence.POSSIBLE if may_be_none(value, view) else Confidence.LIKELY,
        )
        return
