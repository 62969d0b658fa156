"""The smallest float32 number as a mask: bfloat16 has no room for it."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import POSSIBLE
from neuronport.detectors.precision._dtypes import formats
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

NAMES = ("min", "max")
EVENTS = ("attr",)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name not in NAMES or event.role != "load":
        return
    base = event.value
    if base is None or base[0] != "call" or base[1] != ("ref", "torch.finfo") or not base[2]:
        return
    found = set(formats(view, base[2][0]))
    if found == {"float32"}:
        yield Hit(event.span, f"float32's {event.name}imum becomes infinite in bfloat16", POSSIBLE)
