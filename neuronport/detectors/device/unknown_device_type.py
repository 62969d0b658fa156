"""``torch.device("gpu")``: PyTorch has no device type of that name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

STRINGS = r"^\s*(gpu|GPU|nvidia|CUDA)(:\d+)?\s*$"
EVENTS = ("str",)
_WORD = re.compile(STRINGS)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if not _WORD.search(event.name):
        return
    role, listed, _ = _strings.unwrap(event.role)
    if listed:
        return
    if role[0] == "arg" and view.name(role[1]) == "torch.device":
        yield Hit(event.span, f"PyTorch has no device type {event.name!r}", Confidence.CERTAIN)
    elif (
        role[0] == "method"
        and role[2] == "to"
        and view.receiver(role[1], "tensor", "module") is not None
    ):
        known = view.receiver(role[1], "tensor", "module")
        assert known is not None
        yield Hit(event.span, f"PyTorch has no device type {event.name!r}", known)
