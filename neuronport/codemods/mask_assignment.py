"""``x[mask] = number`` to ``x.masked_fill_(mask, number)``: the same, without looking for indices.

Only where the mask is made element by element of ``x`` itself (``x[x < 0] = 0``): a mask with fewer
dimensions than ``x`` would be aligned to the other end. Both write in place, in every dtype, and
have the same gradient; safe where ``x`` is known to be a tensor, else under review.

By hand: values that are tensors (``torch.where`` of full lengths), masks of unknown shape.
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Edit, Left
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.shapes import in_text, is_number, same_shape
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "Fill by a mask, without indices"
_WAYS = (
    "x = torch.where(mask, v, x), with v of the length of x",
    "x.masked_fill_(mask, number), with mask[..., None] for dimensions the mask lacks",
    "a product with the mask, where the number is zero and x is finite",
)


def fix(finding: Finding, source: Source, project: Project) -> Any:
    target = source.at(finding, ast.Subscript)
    stmt = source.parent(target) if target is not None else None
    if target is None or patterns.is_skipped(finding) or in_text(source, target):
        return None
    if (
        not isinstance(stmt, ast.Assign)
        or stmt.targets != [target]
        or not isinstance(target.value, ast.Name | ast.Attribute)
    ):
        return Left(finding, "needs-a-person", "more than one plain assignment", _WAYS)
    if not is_number(source, stmt.value):
        return Left(finding, "needs-a-person", "the value's length may depend on the mask", _WAYS)
    mask = target.slice
    if not same_shape(source, mask, target.value, stmt):
        return Left(finding, "needs-a-person", "the mask may lack dimensions", _WAYS)
    start, end = source.span(mask)
    left, _ = source.span(target)
    first, last = source.span(stmt.value)
    base = source.text_of(target.value)
    edits = (
        Edit(left, start, f"{base}.masked_fill_("),
        Edit(end, first, ", "),
        Edit(last, last, ")"),
    )
    if "(" in source.text[end:first] or ")" in source.text[last : last + 1]:
        return Left(finding, "unclear", "parentheses around the value", _WAYS)
    items = [e for e in source.events(target) if e.kind == "item"]
    known = any(source.view.kind(e.value).kind == "tensor" for e in items)
    safety = FixSafety.SAFE if known else FixSafety.REVIEW
    return Change(finding, "mask-assignment", safety, TITLE, edits)
