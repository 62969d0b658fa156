"""Masks in place of lists of indices made by ``nonzero``, ``argwhere`` or one-argument ``where``.

A list is as long as the data says. Where only its being empty is asked (``nonzero(m).numel() > 0``) it is
``m.any()``, where only its length is, ``int(m.sum())``; where it says what is overwritten by a number
(``x[torch.where(m)] = v``) the mask itself does, through a function of the seam; where only the first
is taken (``m.nonzero()[0, 0]``) a function of the seam finds it, on Neuron by ``argmax`` and without
raising where there is none. A name for a list becomes one for the mask where all that is done with it is one of these. The host still waits for
an answer it decides by, but for no new shape.

By hand: lists that are read by, or handed on.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from neuronport.codemods import mask_reduction
from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Edit, Left, marks, seam
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.shapes import definition, in_text, is_number, is_truth
from neuronport.codemods.engine.source import Source
from neuronport.findings import Confidence, Finding, FixSafety

TITLE = "A mask in place of a list of indices"
_READING = (
    "all rows with a mask as multiplier: (x * keep[:, None]).sum(0)",
    "topk with a fixed k in place of a list of unknown length",
    "torch.where(keep[:, None], x, 0) where rows are only read",
)
_LISTS = frozenset(["nonzero", "argwhere", "where"])
_FLAT = frozenset(["flatten", "squeeze", "ravel"])


def fix(finding: Finding, source: Source, project: Project) -> Any:
    if patterns.is_skipped(finding):
        return None
    if finding.rule == "data-dependent-index":
        # Rewritten with the place where the indices are made.
        return Left(finding, "by-hand", "what is read or added by a list has its length", _READING)
    call = source.at(finding, ast.Call)
    made = _list(source, call) if call is not None else None
    if made is None:
        return mask_reduction.fix(finding, source, project)
    if in_text(source, made.call):
        return Left(finding, "unclear", "it stands in an f-string", mask_reduction.SELECTING)
    change = _written(finding, source, made)
    if change is None:
        says = "what is done with the indices needs them"
        return Left(finding, "by-hand", says, mask_reduction.SELECTING)
    return change


class _List(NamedTuple):
    call: ast.Call
    mask: ast.expr
    rows: bool
    """Whether it is a tensor with a row for each place; else a tuple with a list per dimension."""


def _list(source: Source, call: ast.Call) -> _List | None:
    """A call that makes a list of indices."""
    name = source.called(call)
    if name.startswith("torch.") and name.count(".") == 1:
        last = name.rpartition(".")[2]
        mask = call.args[0] if len(call.args) == 1 else None
    elif isinstance(call.func, ast.Attribute) and not call.args:
        last, mask = call.func.attr, call.func.value
    else:
        return None
    if last not in _LISTS or mask is None or isinstance(mask, ast.Starred):
        return None
    as_tuple = last == "where"
    for word in call.keywords:
        if word.arg != "as_tuple" or not isinstance(word.value, ast.Constant):
            return None
        as_tuple = bool(word.value.value)
    return _List(call, mask, not as_tuple)


def _written(finding: Finding, source: Source, made: _List) -> Change | None:
    node, single = _one_list(source, made)
    truth = _truth(source, made)
    stmt = source.parent(node)
    if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
        return _named(finding, source, made, node, stmt, truth, single)
    edits = _use(source, node, truth, made.rows and not single)
    if edits is None:
        return None
    return _change(finding, source, edits, [node], made.rows and single)


def _change(
    finding: Finding, source: Source, edits: list[Edit], nodes: list[ast.expr], flattened: bool
) -> Change:
    """Safe where the seam has no part in it, and nobody flattened what may have had two columns."""
    doubtful = any(marks(e.text) or (flattened and ".sum()" in e.text) for e in edits)
    sure = finding.confidence is not Confidence.POSSIBLE and not doubtful
    safety = FixSafety.SAFE if sure else FixSafety.REVIEW
    covers = [source.span(n) for n in nodes]
    return Change(finding, "index-lists", safety, TITLE, tuple(edits), covers=tuple(covers))


def _one_list(source: Source, made: _List) -> tuple[ast.expr, bool]:
    """The widest expression that is still the list: ``torch.where(m)[0]``, ``m.nonzero().flatten()``;
    and whether it is of one dimension."""
    node: ast.expr = made.call
    parent = source.parent(node)
    if not made.rows:
        if (
            isinstance(parent, ast.Subscript)
            and parent.value is node
            and isinstance(parent.slice, ast.Constant)
            and parent.slice.value == 0
        ):
            return parent, True
        return node, False
    single = False
    while isinstance(parent, ast.Attribute) and (
        parent.attr in _FLAT or parent.attr in ("view", "reshape")
    ):
        call = source.parent(parent)
        if not isinstance(call, ast.Call) or call.func is not parent or call.keywords:
            break
        if parent.attr not in _FLAT and not _is(call.args, -1):
            break
        node, single, parent = call, True, source.parent(call)
    return node, single


def _truth(source: Source, made: _List) -> str:
    """The mask as an expression of true and false that a method can be called on."""
    text = source.text_of(made.mask)
    # What stood in the parentheses of a call may run over several lines.
    whole = isinstance(made.mask, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    if is_truth(source, made.mask, source.statement(made.call)):
        return text if whole else f"({text})"
    return f"({text} != 0)" if whole else f"(({text}) != 0)"


def _named(
    finding: Finding,
    source: Source,
    made: _List,
    node: ast.expr,
    stmt: ast.Assign,
    truth: str,
    single: bool,
) -> Change | None:
    """A name for the list, of which all uses can be told."""
    target = stmt.targets[0]
    if isinstance(target, ast.Tuple) and len(target.elts) == 1 and not made.rows and not single:
        name, left = target.elts[0], source.span(target)
    elif single or made.rows:
        name, left = target, source.span(target)
    else:
        return None
    scope = source.function(stmt)
    if not isinstance(name, ast.Name) or scope is None:
        return None
    edits = [Edit(*left, name.id)] if left != source.span(name) else []
    edits.append(patterns.replace(source, node, _bare(truth)))
    reads: list[ast.expr] = []
    for n in ast.walk(scope):
        if not isinstance(n, ast.Name) or n.id != name.id or n is name:
            continue
        if not isinstance(n.ctx, ast.Load) or definition_of(source, n) is not stmt:
            return None
        use = _use(source, n, name.id, made.rows and not single)
        if use is None or in_text(source, n):
            return None
        edits += use
        reads.append(n)
    if not reads:
        return None
    return _change(finding, source, edits, [node, *reads], made.rows and single)


def definition_of(source: Source, name: ast.Name) -> ast.stmt | None:
    """The one assignment of a name that is read, in whatever way it is unpacked."""
    found = definition(source, name, source.statement(name))
    if found is not None:
        return found
    scope = next((a for a in source.above(name) if isinstance(a, ast.FunctionDef)), None)
    bound = [
        n
        for n in ast.walk(scope or source.tree)
        if isinstance(n, ast.Name) and n.id == name.id and not isinstance(n.ctx, ast.Load)
    ]
    stmt = source.statement(bound[0]) if len(bound) == 1 else None
    above = list(source.above(name))
    return stmt if stmt is not None and source.parent(stmt) in above else None


def _use(source: Source, node: ast.expr, truth: str, rows: bool) -> list[Edit] | None:
    """The edits of a use of the list, whose mask is ``truth``; None: it needs the indices."""
    return (
        _asked(source, node, truth, rows)
        or _first(source, node, truth, rows)
        or _overwrites(source, node, truth, rows)
    )


def _asked(source: Source, node: ast.expr, truth: str, rows: bool) -> list[Edit] | None:
    """How many there are, or whether there are any."""
    found = _size(source, node)
    if found is None:
        return None
    size, counts_all = found
    parent = source.parent(size)
    some = _asks_for_some(parent, size)
    if some is not None:
        assert isinstance(parent, ast.Compare)
        return [patterns.replace(source, parent, _any(source, parent, truth, some))]
    if _is_test(source, size):
        return [patterns.replace(source, size, f"{truth}.any()")]
    if rows and counts_all:
        # One number for each dimension.
        return None
    return [patterns.replace(source, size, f"int({truth}.sum())")]


def _any(source: Source, node: ast.expr, truth: str, some: bool) -> str:
    if _is_test(source, node):
        return f"{truth}.any()" if some else f"not {truth}.any()"
    return f"bool({truth}.any())" if some else f"(not {truth}.any())"


def _size(source: Source, node: ast.expr) -> tuple[ast.expr, bool] | None:
    """``len(x)``, ``x.numel()``, ``x.shape[0]``, ``x.size(0)``, and whether every element counts."""
    parent = source.parent(node)
    if isinstance(parent, ast.Call) and parent.args == [node] and not parent.keywords:
        name = parent.func
        return (parent, False) if isinstance(name, ast.Name) and name.id == "len" else None
    if not isinstance(parent, ast.Attribute):
        return None
    above = source.parent(parent)
    if parent.attr in ("numel", "nelement") and isinstance(above, ast.Call):
        return (above, True) if above.func is parent and not above.args else None
    if parent.attr == "size" and isinstance(above, ast.Call) and above.func is parent:
        return (above, False) if _is(above.args, 0) else None
    if parent.attr == "shape" and isinstance(above, ast.Subscript) and above.value is parent:
        return (above, False) if _is([above.slice], 0) else None
    return None


def _is(nodes: list[ast.expr], number: int) -> bool:
    wanted = ast.Constant(number) if number >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-number))
    return len(nodes) == 1 and ast.dump(nodes[0]) == ast.dump(wanted)


def _asks_for_some(parent: ast.AST | None, size: ast.expr) -> bool | None:
    """``size > 0``: True; ``size == 0``: False; None: another question."""
    if not isinstance(parent, ast.Compare) or parent.left is not size or len(parent.ops) != 1:
        return None
    op, other = parent.ops[0], parent.comparators
    if isinstance(op, ast.Gt | ast.NotEq) and _is(other, 0):
        return True
    if isinstance(op, ast.GtE) and _is(other, 1):
        return True
    if isinstance(op, ast.Eq | ast.LtE) and _is(other, 0):
        return False
    return False if isinstance(op, ast.Lt) and _is(other, 1) else None


def _is_test(source: Source, node: ast.expr) -> bool:
    """Whether only the truth of an expression matters."""
    below: ast.AST = node
    for above in source.above(node):
        if isinstance(above, ast.If | ast.While | ast.Assert | ast.IfExp):
            return above.test is below
        if isinstance(above, ast.UnaryOp) and isinstance(above.op, ast.Not):
            return True
        if not isinstance(above, ast.BoolOp):
            return False
        below = above
    return False


def _first(source: Source, node: ast.expr, truth: str, rows: bool) -> list[Edit] | None:
    """``m.nonzero()[0, 0]``, ``torch.where(m)[0][0]``, ``m.nonzero().item()``: where the first is."""
    whole = source.parent(node)
    if isinstance(whole, ast.Attribute) and whole.attr == "item" and rows:
        item = source.parent(whole)
        if not isinstance(item, ast.Call) or item.func is not whole or item.args:
            return None
        return [patterns.replace(source, item, f"{seam('only_true')}({_bare(truth)})")]
    if not isinstance(whole, ast.Subscript) or whole.value is not node:
        return None
    if rows and isinstance(whole.slice, ast.Tuple):
        if [ast.dump(e) for e in whole.slice.elts] != [ast.dump(ast.Constant(0))] * 2:
            return None
    elif not _is([whole.slice], 0):
        return None
    elif rows:
        inner = source.parent(whole)
        if isinstance(inner, ast.Subscript) and inner.value is whole and _is([inner.slice], 0):
            whole = inner
        elif not isinstance(inner, ast.Attribute) or inner.attr != "item":
            return None
    if not isinstance(whole.ctx, ast.Load):
        return None
    return [patterns.replace(source, whole, f"{seam('first_true')}({_bare(truth)})")]


def _overwrites(source: Source, node: ast.expr, truth: str, rows: bool) -> list[Edit] | None:
    """``x[torch.where(m)] = v``, ``x[torch.where(m)[0]] = v``."""
    target = source.parent(node)
    stmt = source.parent(target) if target is not None else None
    if (
        rows
        or not isinstance(target, ast.Subscript)
        or target.slice is not node
        or not isinstance(stmt, ast.Assign)
        or stmt.targets != [target]
        or not is_number(source, stmt.value)
    ):
        return None
    mask = _bare(truth)
    whole = isinstance(node, ast.Call) and _list(source, node) is not None
    if not whole:
        mask = f"{seam('true_rows')}({mask})"
    first, last = source.span(stmt.value)
    if "(" in source.text[source.span(target)[1] : first]:
        return None
    new = (
        f"{seam('fill_by_mask')}({source.text_of(target.value)}, {mask}, "
        f"{source.text_of(stmt.value)})"
    )
    return [Edit(source.span(target)[0], last, new)]


def _bare(truth: str) -> str:
    """Without the parentheses around all of it, where none are needed."""
    if not truth.startswith("(") or "\n" in truth:
        return truth
    depth = 0
    for i, character in enumerate(truth):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return truth[1:-1] if i == len(truth) - 1 else truth
    return truth
