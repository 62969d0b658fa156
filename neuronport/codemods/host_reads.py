"""Running totals stay on the device: ``total += loss.item()`` becomes ``total += loss.detach()``.

The host waits for the device once, where the total is read, and not in every step. Written where all
that happens to the total is in sight: a local name, begun at a number, only added to in loops; each
place that reads it asks for the number (``number(total)`` of the seam). Under review: the sum is
kept in the tensor's own precision, where the host's was float64.

By hand: values that decide something in the step, lists of numbers, printing in every step.
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Edit, Left, seam
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "Add up on the device, read once"
_WAYS = (
    "accumulate on the device (total += loss.detach()) and read where it is printed",
    "read every N steps: if step % N == 0: print(loss.item())",
    "keep tensors in the list and read them together after the loop: torch.stack(losses).tolist()",
)
_FORMAT = (
    "log every N steps",
    "hand the logger a number that was read together with others: torch.stack([a, b]).tolist()",
)
_PLAIN = (ast.Mult, ast.Div)


def fix(finding: Finding, source: Source, project: Project) -> Any:
    if patterns.is_skipped(finding):
        return None
    if finding.rule == "tensor-formatting":
        return Left(finding, "by-hand", "printing in every step is for a person to judge", _FORMAT)
    call = source.at(finding, ast.Call)
    if (
        call is None
        or not isinstance(call.func, ast.Attribute)
        or call.func.attr != "item"
        or call.args
        or call.keywords
    ):
        return Left(finding, "needs-a-person", "the value is needed where it is read", _WAYS)
    stmt = source.statement(call)
    if (
        not isinstance(stmt, ast.AugAssign)
        or not isinstance(stmt.op, ast.Add)
        or not isinstance(stmt.target, ast.Name)
        or not _is_term(stmt.value, call)
    ):
        return Left(finding, "needs-a-person", "the value is needed where it is read", _WAYS)
    reads = _reads(source, stmt, stmt.target.id)
    if reads is None:
        return Left(finding, "needs-a-person", "what else happens to the total is not clear", _WAYS)
    start, _ = patterns.attribute_name(source, call.func)
    _, end = source.span(call)
    edits = [Edit(start, end, "detach()")]
    for name in reads:
        edits.append(patterns.before(source, name, f"{seam('number')}("))
        edits.append(patterns.after(source, name, ")"))
    return Change(
        finding,
        "host-reads",
        FixSafety.REVIEW,
        TITLE,
        tuple(edits),
        note="the total is kept in the tensor's precision",
    )


def _is_term(value: ast.expr, call: ast.Call) -> bool:
    """``x.item()``, or times or by something that is a number."""
    if value is call:
        return True
    return (
        isinstance(value, ast.BinOp)
        and isinstance(value.op, _PLAIN)
        and (value.left is call or (value.right is call and isinstance(value.op, ast.Mult)))
    )


def _reads(source: Source, stmt: ast.AugAssign, name: str) -> list[ast.Name] | None:
    """Where the total is read; None: more happens to it than can be followed."""
    function = source.function(stmt)
    if function is None or not any(isinstance(a, ast.For | ast.While) for a in source.above(stmt)):
        return None
    begun = False
    added = 0
    reads: list[ast.Name] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Global | ast.Nonlocal) and name in node.names:
            return None
        if isinstance(node, ast.arg) and node.arg == name:
            return None
        if not isinstance(node, ast.Name) or node.id != name:
            continue
        if isinstance(node.ctx, ast.Load):
            above = list(source.above(node))
            inner = next(a for a in above if isinstance(a, ast.FunctionDef | ast.AsyncFunctionDef))
            if inner is not function or any(isinstance(a, ast.JoinedStr) for a in above):
                # In an f-string a tensor of one element is formatted as its number is; positions
                # there are not to be trusted.
                if inner is not function or not _formats(source, node):
                    return None
                continue
            if any(isinstance(a, ast.Lambda) for a in above):
                return None
            reads.append(node)
            continue
        parent = source.parent(node)
        if isinstance(parent, ast.Assign) and parent.targets == [node]:
            number = parent.value
            if not isinstance(number, ast.Constant) or number.value not in (0, 0.0):
                return None
            begun = True
        elif isinstance(parent, ast.AugAssign) and parent.target is node:
            added += 1
        else:
            return None
    return reads if begun and added == 1 else None


def _formats(source: Source, node: ast.AST) -> bool:
    """Whether a name stands in an f-string by itself or is divided there, with a format."""
    parent = source.parent(node)
    while isinstance(parent, ast.BinOp):
        parent = source.parent(parent)
    return isinstance(parent, ast.FormattedValue) and parent.format_spec is not None
