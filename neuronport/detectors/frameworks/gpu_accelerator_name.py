"""``accelerator="gpu"`` kept in a dict, a field or a default, to be given to a trainer later."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

STRINGS = r"^gpu$"
EVENTS = ("str",)
ONLY = ("gpu",)
_NAME = "accelerator"


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name not in ONLY:
        return
    role, listed, _ = _strings.unwrap(event.role)
    if listed or _strings.is_compared(role):
        return
    kind, where = role[0], ""
    if kind in ("assign", "attr", "field") and role[-1] == _NAME:
        where = f"assigned to {_NAME}"
    elif kind == "default" and role[2] == _NAME:
        where = f"default of parameter {_NAME}"
    elif (kind == "value" and role[1] == _NAME) or (
        kind == "arg" and role[-1] == _NAME and view.name(role[1]) == "builtins.dict"
    ):
        where = f"value of {_NAME!r}"
    if where:
        yield Hit(event.span, f"the accelerator is 'gpu', {where}", Confidence.LIKELY)
