"""Doubles converted on the host before they are moved, and running sums kept in float32.

``x.to(device).float()`` takes float64 to a device that has none: ``.float()`` goes before the move,
which gives the same float32 numbers. A sum that starts as bfloat16 or float16 stops growing: it is
begun in float32, on every device. Under review: what is computed between the move and the
conversion, and the dtype that comes out of the sum.
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import TORCH, Change, Edit, Left
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.shapes import in_text
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "Numbers of a width the device has"
_MOVED = ("torch.from_numpy(a).float().to(device)", "a.astype(np.float32) where the data is read")
_SUMMED = (
    "torch.zeros((), dtype=torch.float32, device=device)",
    "the sum as a Python float, read late",
)
_LOW = ("torch.bfloat16", "torch.float16", "torch.half")


def fix(finding: Finding, source: Source, project: Project) -> Any:
    if patterns.is_skipped(finding):
        return None
    call = source.at(finding, ast.Call)
    if finding.rule == "float64-moved":
        if (
            call is None
            or in_text(source, call)
            or not isinstance(call.func, ast.Attribute)
            or call.func.attr not in ("to", "cuda")
            or _gives_a_dtype(source, call)
        ):
            return Left(
                finding, "needs-a-person", "where it is moved is not written plainly", _MOVED
            )
        _, at = source.span(call.func.value)
        edit = Edit(at, at, ".float()")
        return Change(finding, "wide-numbers", FixSafety.REVIEW, "convert, then move", (edit,))
    word = patterns.keyword(call, "dtype") if call is not None else None
    if word is None or source.dotted(word.value) not in _LOW:
        return Left(finding, "needs-a-person", "the sum's dtype is chosen elsewhere", _SUMMED)
    edit = patterns.replace(source, word.value, f"{TORCH}.float32")
    return Change(finding, "wide-numbers", FixSafety.REVIEW, "add up in float32", (edit,))


def _gives_a_dtype(source: Source, call: ast.Call) -> bool:
    return any(
        source.dotted(a).startswith("torch.") and not isinstance(a, ast.Call)
        for a in (*call.args, *(k.value for k in call.keywords))
    )
