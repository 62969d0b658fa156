"""``x.get_device()``, a bare number, to ``x.device`` where a device is wanted.

The number of a CUDA tensor's device and the device itself are the same to ``device=`` and ``.to()``;
of a CPU tensor the number is -1, which no call takes.
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Edit, Left
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Confidence, Finding, FixSafety

TITLE = "The device of the tensor, not its number"
_WAYS = ("x.device where a device is wanted", "x.device.index where the number is wanted")


def fix(finding: Finding, source: Source, project: Project) -> Any:
    call = source.at(finding, ast.Call)
    if call is None or not isinstance(call.func, ast.Attribute) or call.args or call.keywords:
        return Left(finding, "unclear", "handed on, not called", _WAYS)
    if patterns.is_guarded(finding):
        return None
    parent = source.parent(call)
    wanted = isinstance(parent, ast.keyword) and parent.arg == "device"
    if isinstance(parent, ast.Call) and parent.args == [call]:
        func = parent.func
        wanted = isinstance(func, ast.Attribute) and func.attr in ("to", "cuda")
    if not wanted or finding.confidence is Confidence.POSSIBLE:
        return Left(finding, "needs-a-person", "a number or a device may be wanted", _WAYS)
    start, _ = patterns.attribute_name(source, call.func)
    _, end = source.span(call)
    edit = Edit(start, end, "device")
    return Change(finding, "tensor-device", FixSafety.SAFE, TITLE, (edit,))
