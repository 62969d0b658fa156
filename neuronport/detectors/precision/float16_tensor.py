"""Weights or tensors in float16: ``.half()``, ``.to(torch.float16)``, ``torch_dtype=torch.float16``."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.precision import _dtypes
from neuronport.detectors.precision.float16_autocast import is_autocast
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

METHODS = _dtypes.METHODS
KEYWORDS = _dtypes.KEYWORDS
EVENTS = ("use", "method", "callkw")
ONLY = {"use": (), "method": frozenset(_dtypes.METHODS), "callkw": ()}
WITH = _dtypes.KEYWORDS


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "use" and event.role not in ("call", "decorator"):
        return
    if event.kind == "use" and is_autocast(event, view):
        return
    for how, sure in _dtypes.made(event, view, "float16"):
        yield Hit(event.span, f"float16 by {how}; bfloat16 is the safer half on Neuron", sure)
