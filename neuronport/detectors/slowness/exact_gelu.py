"""GELU by the error function: ``F.gelu(x)``, ``nn.GELU()`` without ``approximate="tanh"``."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import CERTAIN, POSSIBLE, torch_call
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ROOTS = ("torch",)
ONLY = ("gelu", "GELU")
_POSITION = {"torch.nn.functional.gelu": 1, "torch.nn.GELU": 0}


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    name = torch_call(event, view)
    position = _POSITION.get(name)
    if position is None or any(key is None for key, _ in event.kwargs):
        return
    confidence = CERTAIN
    if view.given(event, "approximate", position):
        known, value = view.constant(view.argument(event, "approximate", position))
        if known and value != "none":
            return
        if not known:
            confidence = POSSIBLE
    if name == "torch.nn.functional.gelu" and not view.hot(event):
        confidence = POSSIBLE
    yield Hit(event.span, f"{name} computes the error function", confidence)
