"""``x[mask] = number`` to ``x.masked_fill_(mask, number)``: the same, without looking for indices.

Where the mask is made element by element of ``x`` itself (``x[x < 0] = 0``) both write in place, in
every dtype, and have the same gradient; safe where ``x`` is known to be a tensor. Other masks may
have fewer dimensions than ``x``, which an index lines up with the first ones and ``masked_fill_`` with
the last: they go through a function of the seam, which lays the mask out; ``x[mask] = y[mask]`` is a
``torch.where`` there. Under review: what is no mask of true and false, or has another length, is
assigned there as it was.

By hand: values that are tensors of the mask's length.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Edit, Left, seam
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
_NUMBERS = re.compile(
    r"(^|_)(id|ids?x|index|token|pad|eos|bos|eot|eod|unk|value|val|fill|num|inf|eps|min|max|const"
    r"|constant)$",
    re.I,
)
"""Names that are given to numbers."""


def fix(finding: Finding, source: Source, project: Project) -> Any:
    target = source.at(finding, ast.Subscript)
    stmt = source.parent(target) if target is not None else None
    if target is None or patterns.is_skipped(finding) or in_text(source, target):
        return None
    if not isinstance(stmt, ast.Assign) or stmt.targets != [target]:
        return Left(finding, "needs-a-person", "more than one plain assignment", _WAYS)
    if (
        is_number(source, stmt.value)
        and isinstance(target.value, ast.Name | ast.Attribute)
        and same_shape(source, target.slice, target.value, stmt)
    ):
        return _own(finding, source, target, stmt)
    return _other(finding, source, target, stmt)


def _own(finding: Finding, source: Source, target: ast.Subscript, stmt: ast.Assign) -> Any:
    """By a mask of the tensor itself."""
    start, end = source.span(target.slice)
    left, _ = source.span(target)
    first, last = source.span(stmt.value)
    base = source.text_of(target.value)
    edits = (
        Edit(left, start, f"{base}.masked_fill_("),
        Edit(end, first, ", "),
        Edit(last, last, ")"),
    )
    if _parenthesized(source, end, first, last):
        return Left(finding, "unclear", "parentheses around the value", _WAYS)
    safety = FixSafety.SAFE if _is_tensor(source, target) else FixSafety.REVIEW
    return Change(finding, "mask-assignment", safety, TITLE, edits)


def _other(finding: Finding, source: Source, target: ast.Subscript, stmt: ast.Assign) -> Any:
    """By a mask of some dimensions of the tensor."""
    found = _mask(target)
    if found is None:
        return Left(finding, "needs-a-person", "a mask beside other indices", _WAYS)
    mask, dim = found
    first, last = source.span(stmt.value)
    left, _ = source.span(target)
    base_end = source.span(target.value)[1]
    start, end = source.span(mask)
    if _parenthesized(source, source.span(target)[1], first, last):
        return Left(finding, "unclear", "parentheses around the value", _WAYS)
    behind = f", dim={dim})" if dim else ")"
    value = stmt.value
    if isinstance(value, ast.Subscript) and ast.dump(value.slice) == ast.dump(target.slice):
        inner = source.span(value.value)[1]
        function = "copy_by_mask"
        tail = Edit(inner, last, behind)
    elif is_number(source, value) or _may_be_number(source, target, value):
        function = "fill_by_mask"
        tail = Edit(last, last, behind)
    else:
        return Left(finding, "needs-a-person", "the value's length may depend on the mask", _WAYS)
    edits = (
        Edit(left, left, f"{seam(function)}("),
        Edit(base_end, start, ", "),
        Edit(end, first, ", "),
        tail,
    )
    # What is read by the mask on the other side goes with it.
    covers = (source.span(value),) if function == "copy_by_mask" else ()
    return Change(finding, "mask-assignment", FixSafety.REVIEW, TITLE, edits, covers=covers)


def _mask(target: ast.Subscript) -> tuple[ast.expr, int] | None:
    """The mask and the dimension it begins at: ``x[mask]``, ``x[:, mask]``, ``x[:, mask, :]``."""
    index = target.slice
    if not isinstance(index, ast.Tuple):
        return None if isinstance(index, ast.Slice) else (index, 0)
    found = [i for i, part in enumerate(index.elts) if not _is_all(part)]
    if len(found) != 1 or isinstance(index.elts[found[0]], ast.Slice | ast.Constant | ast.Starred):
        return None
    return index.elts[found[0]], found[0]


def _is_all(part: ast.expr) -> bool:
    return isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None


def _may_be_number(source: Source, target: ast.Subscript, value: ast.expr) -> bool:
    """Whether a value is one by what is known, or by its name: the seam looks again."""
    for event in source.events(target):
        if event.kind == "item" and event.args is not None and len(event.args) > 1:
            kind = source.view.kind(event.args[1]).kind
            if kind != "unknown":
                return kind in ("number", "int", "float")
    name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
    return bool(name) and _NUMBERS.search(name) is not None


def _is_tensor(source: Source, target: ast.Subscript) -> bool:
    items = [e for e in source.events(target) if e.kind == "item"]
    return any(source.view.kind(e.value).kind == "tensor" for e in items)


def _parenthesized(source: Source, end: int, first: int, last: int) -> bool:
    return "(" in source.text[end:first] or ")" in source.text[last : last + 1]
