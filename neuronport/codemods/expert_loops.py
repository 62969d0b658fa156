"""Loops over experts: every expert sees every token on Neuron, with a weight of zero where not chosen.

``rows, k = torch.where(chosen == i)`` makes a list of tokens of another length for each expert and
batch. With CUDA and on the CPU all stays as it was; on Neuron ``rows`` are all tokens, and the weight that
the expert's answer is multiplied by is zero for the others, so that what is added is the same. A list of
the experts that were hit becomes all experts there. Written where all that is done with the rows is
reading tokens and weights by them and adding what was multiplied by such a weight. Under review: the
experts must treat each token alone, and a token must not choose an expert twice (``topk`` never does);
an expert costs the time of all tokens, which pays for few experts or few tokens.

By hand: experts whose answers are not weighted, capacities, tokens sorted by expert.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Edit, Left, seam
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.shapes import in_text
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

ALSO = frozenset(["data-dependent-selection"])
TITLE = "All tokens to each expert on Neuron, with a weight of zero"
_SIZES = frozenset(["numel", "shape", "size", "nelement"])
_PLAIN = ast.Name | ast.Attribute | ast.Subscript | ast.Compare | ast.Constant
_LAID_OUT = frozenset(["to", "type", "type_as", "float", "reshape", "view", "squeeze"])


class _Expert(NamedTuple):
    """``a, b = torch.where(mask)`` in a loop, and what is done with the two."""

    call: ast.Call
    mask: ast.expr
    names: tuple[str, str]
    row: int
    """Which of the two is the token."""
    weights: list[ast.Subscript]
    uses: list[ast.AST]


def fix(finding: Finding, source: Source, project: Project) -> Any:
    call = source.at(finding, ast.Call)
    if call is None or patterns.is_skipped(finding) or in_text(source, call):
        return None
    expert = _expert(source, call)
    if expert is not None:
        return _change(finding, source, expert)
    loop = _loop_over(source, call)
    if loop is None:
        return None
    inside = [_expert(source, c) for c in ast.walk(loop) if isinstance(c, ast.Call)]
    if not any(inside):
        return None
    assert isinstance(call.func, ast.Attribute)
    start, end = source.span(call.func.value)
    edits = (
        Edit(start, start, f"{seam('hit_experts')}("),
        Edit(end, source.span(call)[1], ")"),
    )
    return Change(
        finding, "expert-loops", FixSafety.REVIEW, TITLE, edits, group=_group(source, loop)
    )


def _change(finding: Finding, source: Source, expert: _Expert) -> Change | Left:
    mask = source.text_of(expert.mask)
    if "\n" in mask:
        return Left(finding, "unclear", "the mask is written over several lines")
    edits = [patterns.replace(source, expert.call, f"{seam('expert_rows')}({mask}, {expert.row})")]
    for weight in expert.weights:
        start, end = source.span(weight)
        names = ", ".join(expert.names)
        edits.append(Edit(start, start, f"{seam('chosen_only')}("))
        edits.append(Edit(end, end, f", {mask}, {names})"))
    loop = next(a for a in source.above(expert.call) if isinstance(a, ast.For))
    return Change(
        finding,
        "expert-loops",
        FixSafety.REVIEW,
        TITLE,
        tuple(edits),
        group=_group(source, loop),
        covers=tuple(source.span(u) for u in expert.uses),
        note="an expert must treat each token alone, and a token choose an expert at most once",
    )


def _group(source: Source, loop: ast.For) -> str:
    return f"experts:{source.path}:{loop.lineno}"


def _loop_over(source: Source, call: ast.Call) -> ast.For | None:
    """The loop over ``hit.nonzero()``, by name or directly; the list goes nowhere else."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "nonzero":
        return None
    if call.args or call.keywords or source.called(call).startswith("torch.nonzero"):
        return None
    node: ast.expr = call
    parent = source.parent(node)
    if isinstance(parent, ast.Attribute) and parent.attr in ("squeeze", "flatten"):
        above = source.parent(parent)
        if not isinstance(above, ast.Call):
            return None
        node, parent = above, source.parent(above)
    if isinstance(parent, ast.For):
        return parent if parent.iter is node else None
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return None
    target = parent.targets[0]
    scope = _function(source, call)
    if not isinstance(target, ast.Name) or scope is None:
        return None
    others = [
        n
        for n in ast.walk(scope)
        if isinstance(n, ast.Name) and n.id == target.id and n is not target
    ]
    loop = source.parent(others[0]) if len(others) == 1 else None
    return loop if isinstance(loop, ast.For) and loop.iter is others[0] else None


def _function(source: Source, node: ast.AST) -> ast.FunctionDef | None:
    return next((a for a in source.above(node) if isinstance(a, ast.FunctionDef)), None)


def _expert(source: Source, call: ast.Call) -> _Expert | None:
    stmt = source.parent(call)
    scope = _function(source, call)
    if (
        source.called(call) != "torch.where"
        or len(call.args) != 1
        or call.keywords
        or isinstance(call.args[0], ast.Starred)
        or scope is None
        or not isinstance(stmt, ast.Assign)
        or len(stmt.targets) != 1
        or not any(isinstance(a, ast.For) for a in source.above(call))
    ):
        return None
    pair = stmt.targets[0]
    if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
        return None
    first, second = pair.elts
    if not isinstance(first, ast.Name) or not isinstance(second, ast.Name):
        return None
    names = (first.id, second.id)
    for row in (0, 1):
        found = _uses(source, scope, stmt, names[row], names[1 - row], (first, second))
        if found is not None:
            weights, uses = found
            mask = call.args[0]
            if _changes(source, scope, mask, stmt, weights):
                return None
            return _Expert(call, mask, names, row, weights, uses)
    return None


def _uses(
    source: Source,
    scope: ast.FunctionDef,
    stmt: ast.Assign,
    row: str,
    column: str,
    bound: tuple[ast.Name, ast.Name],
) -> tuple[list[ast.Subscript], list[ast.AST]] | None:
    """The weights and all places where rows are used; None: not only to read and to add."""
    weights: list[ast.Subscript] = []
    uses: list[ast.AST] = []
    added = False
    for name in ast.walk(scope):
        if not isinstance(name, ast.Name) or name.id not in (row, column) or name in bound:
            continue
        if not isinstance(name.ctx, ast.Load) or _block(source, stmt) not in list(
            source.above(name)
        ):
            return None
        if _is_size(source, name):
            continue
        item, parts = _item(source, name)
        if name.id == row and item is None:
            add = source.parent(name)
            if not _is_add(add, name):
                return None
            assert isinstance(add, ast.Call)
            added = True
            uses.append(add)
        elif item is None:
            return None
        elif {row, column} <= parts:
            if item not in weights:
                weights.append(item)
        elif column in parts:
            return None
        elif isinstance(item.ctx, ast.Store):
            aug = source.parent(item)
            if not isinstance(aug, ast.AugAssign) or not isinstance(aug.op, ast.Add):
                return None
            if not isinstance(item.slice, ast.Name):
                return None
            added = True
            uses.append(item)
        else:
            uses.append(item)
    if not added or len(weights) != 1 or not _reaches(source, weights[0], row):
        return None
    return weights, [*uses, *weights]


def _is_size(source: Source, name: ast.Name) -> bool:
    """Whether only a place is asked, or in a condition how many there are."""
    parent = source.parent(name)
    if isinstance(parent, ast.Attribute) and parent.attr in ("device", "dim", "ndim", "dtype"):
        return True
    is_length = (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Name)
        and parent.func.id == "len"
    )
    if not is_length and not (isinstance(parent, ast.Attribute) and parent.attr in _SIZES):
        return False
    below: ast.AST = name
    for above in source.above(name):
        if isinstance(above, ast.stmt):
            return isinstance(above, ast.If) and above.test is below
        below = above
    return False


def _block(source: Source, stmt: ast.stmt) -> ast.AST | None:
    """What a statement runs in, each time it does: ``with`` only sets how."""
    block = source.parent(stmt)
    while isinstance(block, ast.With):
        block = source.parent(block)
    return block


def _item(source: Source, name: ast.Name) -> tuple[ast.Subscript | None, set[str]]:
    """The subscript whose index a name is or is part of, and the names in that index."""
    parent = source.parent(name)
    if isinstance(parent, ast.Tuple):
        above = source.parent(parent)
        if not isinstance(above, ast.Subscript) or above.slice is not parent:
            return None, set()
        parts = set()
        for part in parent.elts:
            if isinstance(part, ast.Name):
                parts.add(part.id)
            elif not _is_plain(part):
                return None, set()
        return above, parts
    if isinstance(parent, ast.Subscript) and parent.slice is name:
        return parent, {name.id}
    return None, set()


def _is_plain(part: ast.expr) -> bool:
    if isinstance(part, ast.Slice):
        return part.lower is part.upper is part.step is None
    return isinstance(part, ast.Constant) and part.value in (None, ...)


def _is_add(node: ast.AST | None, name: ast.Name) -> bool:
    """``out.index_add_(0, rows, x)``."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "index_add_"
        and len(node.args) == 3
        and node.args[1] is name
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value == 0
        and not node.keywords
    )


def _reaches(source: Source, node: ast.expr, row: str, depth: int = 0) -> bool:
    """Whether an expression is a factor of all that is added by the rows."""
    parent = source.parent(node)
    if depth > 8 or parent is None:
        return False
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mult):
        return _reaches(source, parent, row, depth)
    if isinstance(parent, ast.Attribute) and parent.attr in _LAID_OUT:
        call = source.parent(parent)
        return isinstance(call, ast.Call) and _reaches(source, call, row, depth)
    if isinstance(parent, ast.Call):
        return (
            len(parent.args) == 3
            and parent.args[2] is node
            and isinstance(parent.args[1], ast.Name)
            and parent.args[1].id == row
            and _is_add(parent, parent.args[1])
        )
    if isinstance(parent, ast.AugAssign):
        target = parent.target
        return (
            isinstance(parent.op, ast.Add)
            and isinstance(target, ast.Subscript)
            and isinstance(target.slice, ast.Name)
            and target.slice.id == row
        )
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        name = parent.targets[0]
        scope = _function(source, parent)
        if not isinstance(name, ast.Name) or scope is None:
            return False
        block = _block(source, parent)
        reads = [
            n
            for n in ast.walk(scope)
            if isinstance(n, ast.Name)
            and n.id == name.id
            and n.lineno > parent.lineno
            and block in list(source.above(n))
        ]
        return len(reads) == 1 and _reaches(source, reads[0], row, depth + 1)
    return False


def _changes(
    source: Source,
    scope: ast.FunctionDef,
    mask: ast.expr,
    stmt: ast.Assign,
    weights: list[ast.Subscript],
) -> bool:
    """Whether the mask would be another where the weights are read: it is written there again."""
    if not all(
        isinstance(n, _PLAIN | ast.expr_context | ast.Eq)
        or (isinstance(n, ast.Call) and _lays_out(n))
        for n in ast.walk(mask)
    ):
        return True
    names = {n.id for n in ast.walk(mask) if isinstance(n, ast.Name)}
    last = max(w.lineno for w in weights)
    return any(
        isinstance(n, ast.Name)
        and n.id in names
        and not isinstance(n.ctx, ast.Load)
        and stmt.lineno <= n.lineno <= last
        for n in ast.walk(scope)
    )


def _lays_out(call: ast.Call) -> bool:
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr in ("squeeze", "view", "reshape", "t", "transpose", "bool")
        and all(isinstance(a, ast.Constant) for a in call.args)
        and not call.keywords
    )
