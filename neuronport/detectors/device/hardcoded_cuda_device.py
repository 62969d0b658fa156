"""A CUDA device string where a device is meant."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("str",)
STRINGS = _strings.STRINGS


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if not _strings.DEVICE.search(event.name):
        return
    role, listed, branched = _strings.unwrap(event.role)
    if _strings.is_compared(role) or _strings.is_option(role, view):
        return
    if role[0] in ("default", "field") or (role[0] == "method" and role[2] == "startswith"):
        return
    if listed or branched:
        return
    found = _strings.place(event, view)
    if found is None:
        return
    confidence, where = found
    yield Hit(event.span, f"the device is {event.name.strip()!r}, {where}", confidence)
