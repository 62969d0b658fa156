"""``torch_neuronx.get_executed_ops()`` and ``get_fallback_ops()``, as JSON or as printed.

JSON: ``{"executed": […], "fallback": […]}``. Printed: a list after a word with ``executed`` or
``fallback`` in it, on as many lines as it takes.
"""

from __future__ import annotations

import json
import re

from neuronport.operators.observed.report import Observation, Report, operator_name
from neuronport.operators.tables import Status

_LIST = re.compile(r"(executed|fallback)\w*(?:\(\))?[^\[{(\n]*[\[{(]([^\]})]*)[\]})]", re.I)
_NAME = re.compile(r"['\"]([\w:.]+)['\"]")
ORDER = 60


def _lists(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {"executed": set(), "fallback": set()}
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict):
        for key, value in data.items():
            for word in found:
                if word in key.lower() and isinstance(value, list):
                    found[word] |= {str(name) for name in value}
        return found
    for word, names in _LIST.findall(text):
        found[word.lower()] |= set(_NAME.findall(names))
    return found


def recognises(text: str) -> bool:
    return any(_lists(text).values())


def read(text: str) -> Report:
    lists = _lists(text)
    seen = [
        Observation(operator_name(name), "native", "eager", status)
        for word, status in (("executed", Status.DEVICE), ("fallback", Status.CPU_FALLBACK))
        for name in sorted(lists[word])
        # a name in both lists ran on both sides: with some arguments it falls back
        if not (word == "executed" and name in lists["fallback"])
    ]
    both = lists["executed"] & lists["fallback"]
    seen = [
        Observation(o.operator, o.path, o.stage, Status.CPU_FALLBACK, "?", "ran on both sides")
        if o.status is Status.CPU_FALLBACK and o.operator in {operator_name(n) for n in both}
        else o
        for o in seen
    ]
    return Report(tuple(seen), "torch_neuronx.get_executed_ops() and get_fallback_ops()")
