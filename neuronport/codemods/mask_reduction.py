"""Sums, means and losses of what a mask selects, over the full length instead.

``x[x > 0].sum()`` is ``torch.where(x > 0, x, 0).sum()``; a mean is a function of the seam, which adds
up in float32 as PyTorch's mean does; ``cross_entropy(z[y != k], y[y != k])`` is ``ignore_index=k``, and
where another mask chooses (``cross_entropy(z[active], y[active])``) the labels it leaves out become the
number that the loss ignores. The gradients are the same. Under review: another order of adding rounds
differently.

By hand: selections that go anywhere else.
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import TORCH, Change, Edit, Left, seam
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.shapes import (
    bound_between,
    definition,
    in_text,
    is_truth,
    same_shape,
)
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "The full length with a mask"
_LOSSES = frozenset(["torch.nn.functional.cross_entropy", "torch.nn.functional.nll_loss"])
SELECTING = (
    "torch.where(condition, a, b) of full lengths in place of indices",
    "topk with a fixed k, and a score of -1 for what does not count",
    "the selection on the host, after the device's part (x.cpu())",
)
_WAYS: dict[str, tuple[str, ...]] = {
    "boolean-mask-index": (
        "keep the full length and pass a weight per element: (loss * mask).sum() / mask.sum()",
        "ignore_index= or weight= of the loss",
        "torch.where(mask, x, filler), with a filler that changes nothing further down",
    ),
    "data-dependent-selection": SELECTING,
}


def fix(finding: Finding, source: Source, project: Project) -> Any:
    ways = _WAYS.get(finding.rule, ())
    if patterns.is_skipped(finding):
        return None
    node: ast.expr | None
    if finding.rule == "boolean-mask-index":
        node = source.at(finding, ast.Subscript)
    elif finding.rule == "data-dependent-selection":
        node = source.at(finding, ast.Call)
    else:
        return Left(finding, "by-hand", "results of another length need another reading", ways)
    if node is None:
        return None
    answer = _reduced(finding, source, node)
    if answer is None and isinstance(node, ast.Subscript):
        answer = _loss(finding, source, node) or _masked_loss(finding, source, node)
    if answer is None or in_text(source, node):
        return Left(finding, "by-hand", "what is done with the selection needs its length", ways)
    return answer


def _reduced(finding: Finding, source: Source, node: ast.expr) -> Change | None:
    """``x[mask].sum()``, ``torch.mean(x[mask])``, ``torch.masked_select(x, mask).mean()``."""
    pair = _selected(source, node)
    if pair is None:
        return None
    x, mask = pair
    name, whole = _reduction(source, node)
    if whole is None:
        return None
    a, b = source.text_of(x), source.text_of(mask)
    if name == "sum":
        new = f"{TORCH}.where({b}, {a}, 0).sum()"
    else:
        new = f"{seam('masked_mean')}({a}, {b})"
    edit = patterns.replace(source, whole, new)
    return Change(finding, "mask-reduction", FixSafety.REVIEW, TITLE, (edit,))


def _selected(source: Source, node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """What is selected from, and by what mask of the same shape."""
    if isinstance(node, ast.Subscript):
        if same_shape(source, node.slice, node.value, source.statement(node)):
            return node.value, node.slice
        return None
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    if source.called(node) == "torch.masked_select" and len(node.args) == 2:
        return node.args[0], node.args[1]
    if (
        isinstance(node.func, ast.Attribute)
        and node.func.attr == "masked_select"
        and len(node.args) == 1
    ):
        return node.func.value, node.args[0]
    return None


def _reduction(source: Source, node: ast.expr) -> tuple[str, ast.Call | None]:
    """The sum or mean over everything that an expression goes into, and its call."""
    parent = source.parent(node)
    if isinstance(parent, ast.Attribute) and parent.attr in ("sum", "mean"):
        call = source.parent(parent)
        if isinstance(call, ast.Call) and call.func is parent and not (call.args or call.keywords):
            return parent.attr, call
    if isinstance(parent, ast.Call) and parent.args == [node] and not parent.keywords:
        name = source.called(parent)
        if name in ("torch.sum", "torch.mean"):
            return name.rpartition(".")[2], parent
    return "", None


def _loss(finding: Finding, source: Source, node: ast.Subscript) -> Change | None:
    """``cross_entropy(logits[labels != k], labels[labels != k])``."""
    call = source.parent(node)
    if (
        not isinstance(call, ast.Call)
        or source.called(call) not in _LOSSES
        or len(call.args) != 2
        or {k.arg for k in call.keywords} - {"label_smoothing", "weight"}
        or not all(isinstance(a, ast.Subscript) for a in call.args)
    ):
        return None
    scores, labels = call.args
    assert isinstance(scores, ast.Subscript)
    assert isinstance(labels, ast.Subscript)
    if ast.dump(scores.slice) != ast.dump(labels.slice):
        return None
    test: ast.expr = labels.slice
    made = definition(source, test, source.statement(call))
    if made is not None:
        test = made.value
    if (
        not isinstance(test, ast.Compare)
        or len(test.ops) != 1
        or not isinstance(test.ops[0], ast.NotEq)
        or ast.dump(test.left) != ast.dump(labels.value)
    ):
        return None
    ignored = test.comparators[0]
    number = ignored.operand if isinstance(ignored, ast.UnaryOp) else ignored
    if not isinstance(number, ast.Constant) or not isinstance(number.value, int):
        return None
    edits: list[Edit] = []
    for argument, flat in ((scores, ".flatten(0, -2)"), (labels, ".flatten()")):
        _, start = source.span(argument.value)
        _, end = source.span(argument)
        edits.append(Edit(start, end, flat))
    edits[-1] = edits[-1]._replace(text=f"{edits[-1].text}, ignore_index={source.text_of(ignored)}")
    return Change(
        finding,
        "mask-reduction",
        FixSafety.REVIEW,
        "tell the loss which labels to leave out",
        tuple(edits),
        covers=(source.span(scores), source.span(labels)),
    )


def _masked_loss(finding: Finding, source: Source, node: ast.Subscript) -> Change | None:
    """``loss(z.view(-1, n)[active], y.view(-1)[active])``, also by way of two names."""
    at = _goes_to(source, node)
    call = source.parent(at) if at is not None else None
    if not isinstance(call, ast.Call) or len(call.args) != 2 or patterns.has_star(call):
        return None
    pair = [_comes_from(source, argument, call) for argument in call.args]
    scores, labels = pair
    if scores is None or labels is None or node not in pair:
        return None
    mask = labels.slice
    ignored = _ignored(source, call)
    if (
        ignored is None
        or not _is_flat(scores.value, 2)
        or not _is_flat(labels.value, 1)
        or ast.dump(scores.slice) != ast.dump(mask)
        or not is_truth(source, mask, source.statement(scores))
        or bound_between(source, mask, scores, call)
    ):
        return None
    _, a = source.span(scores.value)
    _, b = source.span(labels.value)
    test = source.text_of(mask)
    test = test if isinstance(mask, ast.Name | ast.Attribute | ast.Call) else f"({test})"
    edits = (
        Edit(a, source.span(scores)[1], ""),
        Edit(b, source.span(labels)[1], f".masked_fill(~{test}, {ignored})"),
    )
    return Change(
        finding,
        "mask-reduction",
        FixSafety.REVIEW,
        "tell the loss which labels to leave out",
        edits,
        covers=(source.span(scores), source.span(labels)),
    )


def _goes_to(source: Source, node: ast.expr) -> ast.expr | None:
    """Where a selection is used: itself, or the one place that reads the name it is given."""
    stmt = source.parent(node)
    if not isinstance(stmt, ast.Assign):
        return node
    target = stmt.targets[0]
    if len(stmt.targets) != 1 or not isinstance(target, ast.Name):
        return None
    scope = next((a for a in source.above(stmt) if isinstance(a, ast.FunctionDef)), None)
    if scope is None:
        return None
    reads = [
        n
        for n in ast.walk(scope)
        if isinstance(n, ast.Name) and n.id == target.id and isinstance(n.ctx, ast.Load)
    ]
    if len(reads) != 1 or definition(source, reads[0], source.statement(reads[0])) is not stmt:
        return None
    return reads[0]


def _comes_from(source: Source, node: ast.expr, call: ast.Call) -> ast.Subscript | None:
    """The selection that an argument is, or is the name of."""
    if isinstance(node, ast.Name):
        made = definition(source, node, source.statement(call))
        if made is None or _goes_to(source, made.value) is not node:
            return None
        node = made.value
    return node if isinstance(node, ast.Subscript) else None


def _ignored(source: Source, call: ast.Call) -> str | None:
    """What number labels have that a loss leaves out; None: it is no such loss."""
    made = call
    allowed = {"label_smoothing", "weight", "ignore_index", "reduction"}
    if source.called(call) not in _LOSSES:
        stmt = definition(source, call.func, source.statement(call))
        if (
            call.keywords
            or stmt is None
            or not isinstance(stmt.value, ast.Call)
            or source.called(stmt.value) not in ("torch.nn.CrossEntropyLoss", "torch.nn.NLLLoss")
            or stmt.value.args
        ):
            return None
        made = stmt.value
    if {k.arg for k in made.keywords} - allowed:
        return None
    reduction = patterns.keyword(made, "reduction")
    if reduction is not None and not (
        isinstance(reduction.value, ast.Constant) and reduction.value.value in ("mean", "sum")
    ):
        return None
    word = patterns.keyword(made, "ignore_index")
    return source.text_of(word.value) if word is not None else "-100"


def _is_flat(node: ast.expr, dimensions: int) -> bool:
    """``y.view(-1)``, ``z.view(-1, n)``: a mask that fits is of one dimension, as the first is."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("view", "reshape")
        and len(node.args) == dimensions
        and ast.dump(node.args[0]) == ast.dump(ast.UnaryOp(ast.USub(), ast.Constant(1)))
    )
