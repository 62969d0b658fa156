"""Names that ``torch.accelerator`` was guessed to have.

``torch.cuda.current_device()`` became ``torch.accelerator.current_device()``, which does not exist:
``current_accelerator()`` is the device, ``current_device_index()`` its number. Under review: which of
the two is meant is told by where the answer goes.
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Edit, Left
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "A name that torch.accelerator has"
_WAYS = (
    "torch.accelerator.current_accelerator(): the device",
    "torch.accelerator.current_device_index(): its number",
)


def fix(finding: Finding, source: Source, project: Project) -> Any:
    call = source.at(finding, ast.Call)
    if call is None or not isinstance(call.func, ast.Attribute):
        return Left(finding, "unclear", "handed on, not called", _WAYS)
    parent = source.parent(call)
    wanted = isinstance(parent, ast.keyword) and parent.arg in ("device", "map_location")
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
        wanted = parent.func.attr == "to" and parent.args[:1] == [call]
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
        name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
        wanted = name.lower().endswith("device")
    if not wanted:
        return Left(finding, "needs-a-person", "the device or its number may be meant", _WAYS)
    start, end = patterns.attribute_name(source, call.func)
    edit = Edit(start, end, "current_accelerator")
    return Change(finding, "accelerator-names", FixSafety.REVIEW, TITLE, (edit,))
