"""A CUDA tensor type by its name in a string: ``x.type("torch.cuda.FloatTensor")``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

STRINGS = r"^\s*(torch\.)?cuda\.(sparse\.)?[A-Z]?[a-zA-Z0-9]*Tensor\s*$"
EVENTS = ("str",)
_TYPE = re.compile(STRINGS)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if _TYPE.search(event.name):
        yield Hit(
            event.span,
            f"the tensor type {event.name.strip()} exists only with CUDA",
            Confidence.CERTAIN,
        )
