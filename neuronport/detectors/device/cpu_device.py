"""The CPU written as the device: what a port has to look at where it is the program's choice."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

STRINGS = r"^cpu$"
EVENTS = ("str",)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name != "cpu":
        return
    role, listed, branched = _strings.unwrap(event.role)
    if listed or branched:
        return
    chosen = (
        role[0] in ("assign", "attr", "field") and _strings.DEVICE_WORD.search(str(role[-1]))
    ) or (role[0] == "arg" and role[2] == 0 and view.name(role[1]) == "torch.device")
    if chosen:
        yield Hit(event.span, "the device is the CPU, whatever the host has", Confidence.POSSIBLE)
