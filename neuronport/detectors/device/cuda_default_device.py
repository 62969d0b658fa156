"""A parameter, field or option whose default is a CUDA device."""

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
    if listed or branched:
        return
    option = _strings.is_option(role, view)
    if role[0] not in ("default", "field") and not option:
        return
    if option and role[-1] not in ("default", "const", 1, "value"):
        return
    found = _strings.place(event, view)
    if found is None:
        return
    confidence, where = found
    if option:
        where = "default of a command line option"
    yield Hit(
        event.span,
        f"without an argument the device is {event.name.strip()!r} ({where})",
        confidence,
    )
