"""``device_map="auto"`` kept in a dict, a variable or a default, or given to a class that is chosen
at run time."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

STRINGS = r"^(auto|balanced|balanced_low_0|sequential)$"
EVENTS = ("str",)
ONLY = ("auto", "balanced", "balanced_low_0", "sequential")
_NAME = "device_map"
_TABLES = ("transformers.", "diffusers.", "accelerate.", "trl.", "peft.", "sentence_transformers.")
"""Rows speak about calls of these."""


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name not in ONLY:
        return
    role, listed, _ = _strings.unwrap(event.role)
    if listed:
        return
    kind, where = role[0], ""
    if kind in ("assign", "attr", "field") and role[-1] == _NAME:
        where = f"assigned to {_NAME}"
    elif kind == "default" and role[2] == _NAME:
        where = f"default of parameter {_NAME}"
    elif kind == "value" and role[1] == _NAME:
        where = f"value of {_NAME!r}"
    elif kind in ("arg", "method") and role[-1] == _NAME:
        func = view.name(role[1]) if kind == "arg" else ""
        if func.startswith(_TABLES):
            return
        last = _strings.callee_name(role[1], view) if kind == "arg" else str(role[2])
        where = f"given to {last}"
    if where:
        yield Hit(event.span, f"device_map is {event.name!r}, {where}", Confidence.LIKELY)
