"""Sizes that are read from data are said beforehand, where the code around says them.

``F.one_hot(labels)`` is as wide as the largest label of the batch; it gets ``num_classes=`` from what
the index is made of (``logits.argmax(-1)`` stays below ``logits.shape[-1]``), from the tensor a loss
compares it with, or from the one name in scope for the number of classes (``num_classes``,
``self.num_labels``, ``num_experts`` …); ``bincount`` likewise its ``minlength``. ``repeat_interleave``
by counts that are written out gets their sum as ``output_size=``. Under review: where the largest class
is missing from a batch the result is now as wide as in every other; an index beyond the number raises.

By hand: numbers that nothing around names, counts of repeats that the data gives, tensors sized by
``.item()``.
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.counts import bare, count_for
from neuronport.codemods.engine.model import Change, Left
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.shapes import bound_between, definition, in_text
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "Say the size beforehand"
_ONE_HOT = (
    "F.one_hot(labels, num_classes=n), with n from the model or the data set, not from the batch",
    "labels[..., None] == torch.arange(n, device=labels.device), where true and false is enough",
)
_BINCOUNT = (
    "F.one_hot(x, n).sum(0), with n known beforehand: it runs on the device",
    "torch.zeros(n, device=x.device).scatter_add_(0, x, torch.ones_like(x, dtype=torch.float32))",
    "torch.bincount(x.cpu(), minlength=n), outside of what is compiled",
)
_REPEAT = (
    "torch.repeat_interleave(x, counts, output_size=n), with n known beforehand",
    "x[torch.searchsorted(counts.cumsum(0), torch.arange(n), right=True)], padded to the longest n",
    "the counts on the host (a list of integers), and one of few lengths to pad to",
)
_SIZED = (
    "torch.arange(longest), with the longest there can be, and a mask: arange(longest) < length",
    "a size from the configuration or from x.shape, which the host knows",
    "the number on the host from the start (a list in the batch), padded to few lengths",
)
_COMPARED = frozenset(
    f"torch.nn.functional.{n}"
    for n in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy")
) | {"torch.nn.functional.binary_cross_entropy_with_logits"}
"""Losses whose target has the shape of the input."""
_KEEPS = frozenset(["float", "double", "half", "bfloat16", "to", "type", "type_as"])
_BELOW = frozenset(["argmax", "argmin", "topk", "max", "min", "argsort", "sort"])
"""Operations whose indices stay below the size of the dimension they look along."""


def fix(finding: Finding, source: Source, project: Project) -> Any:
    if patterns.is_skipped(finding):
        return None
    call = source.at(finding, ast.Call)
    name = source.called(call).rpartition(".")[2] if call is not None else ""
    if call is not None and not name and isinstance(call.func, ast.Attribute):
        name = call.func.attr
    if call is None or patterns.has_star(call) or in_text(source, call):
        return Left(finding, "unclear", "the call is not written out plainly", _SIZED)
    if name == "one_hot":
        return _one_hot(finding, source, call)
    if name == "bincount":
        return _bincount(finding, source, call)
    if name == "repeat_interleave":
        return _repeat(finding, source, call)
    return Left(finding, "by-hand", "the size is a number that the data holds", _SIZED)


def _one_hot(finding: Finding, source: Source, call: ast.Call) -> Any:
    given = patterns.keyword(call, "num_classes")
    index = _argument(call, ("tensor", "input"))
    classes = given.value if given is not None else call.args[1] if len(call.args) > 1 else None
    if index is None:
        return Left(finding, "unclear", "the index is not written here", _ONE_HOT)
    exact = _length_of(source, index)
    width = exact or _below(source, index, call) or _compared(source, call)
    width = width or count_for(source, index, call)
    if not width:
        return Left(finding, "needs-a-person", "nothing around names the number", _ONE_HOT)
    if classes is not None:
        edit = patterns.replace(source, classes, width)
    else:
        edit = patterns.last_argument(source, call, f"num_classes={width}")
    safety = FixSafety.SAFE if exact else FixSafety.REVIEW
    return Change(finding, "known-size", safety, f"{TITLE}: {width}", (edit,))


def _bincount(finding: Finding, source: Source, call: ast.Call) -> Any:
    index = _argument(call, ("input",), method="bincount", called=source.called(call))
    width = (_below(source, index, call) or count_for(source, index, call)) if index else ""
    if not width:
        return Left(finding, "needs-a-person", "nothing around names the number", _BINCOUNT)
    edit = patterns.last_argument(source, call, f"minlength={width}")
    return Change(finding, "known-size", FixSafety.REVIEW, f"{TITLE}: {width}", (edit,))


def _repeat(finding: Finding, source: Source, call: ast.Call) -> Any:
    function = source.called(call).startswith("torch.") and not source.called(call).startswith(
        "torch.Tensor."
    )
    word = patterns.keyword(call, "repeats")
    place = 1 if function and (len(call.args) > 1 or word is not None) else 0
    counts = (
        word.value if word is not None else call.args[place] if len(call.args) > place else None
    )
    total = _total(source, counts, call) if counts is not None else ""
    if not total:
        return Left(finding, "needs-a-person", "the data says how often", _REPEAT)
    edit = patterns.last_argument(source, call, f"output_size={total}")
    # As many counts as there are rows: one alone would stand for all of them.
    safety = FixSafety.SAFE if total.isdigit() else FixSafety.REVIEW
    return Change(finding, "known-size", safety, f"{TITLE}: {total}", (edit,))


def _argument(
    call: ast.Call, names: tuple[str, ...], method: str = "", called: str = "torch."
) -> ast.expr | None:
    """The tensor that a function or method works on."""
    for name in names:
        word = patterns.keyword(call, name)
        if word is not None:
            return word.value
    if method and not called.startswith("torch.") and isinstance(call.func, ast.Attribute):
        return call.func.value
    return call.args[0] if call.args else None


def _made(source: Source, node: ast.expr, at: ast.AST) -> ast.expr:
    """What a name was made by, where that is sure; else the expression itself."""
    node = bare(node)
    made = definition(source, node, source.statement(at))
    return bare(made.value) if made is not None else node


def _length_of(source: Source, index: ast.expr) -> str:
    """``n`` of ``torch.arange(n)``: the largest index is the last."""
    index = bare(index)
    if not isinstance(index, ast.Call) or source.called(index) != "torch.arange":
        return ""
    if len(index.args) != 1 or {k.arg for k in index.keywords} - {"device", "dtype"}:
        return ""
    return source.text_of(index.args[0]) if _is_simple(index.args[0]) else ""


def _below(source: Source, index: ast.expr, at: ast.Call) -> str:
    """``x.shape[d]`` of ``x.argmax(d)``, ``x.topk(k, d)[1]``, ``x.max(dim=d).indices``."""
    made = _made(source, index, at)
    second = False
    if isinstance(made, ast.Attribute) and made.attr == "indices":
        made, second = bare(made.value), True
    elif isinstance(made, ast.Subscript) and isinstance(made.slice, ast.Constant):
        if made.slice.value != 1:
            return ""
        made, second = bare(made.value), True
    elif isinstance(made, ast.Name):
        found = _second_of(source, made, at)
        if found is None:
            return ""
        made, second = found, True
    if not isinstance(made, ast.Call) or patterns.has_star(made):
        return ""
    name = source.called(made)
    if isinstance(made.func, ast.Attribute) and not name.startswith("torch."):
        name, tensor, rest = made.func.attr, made.func.value, made.args
    elif name.startswith("torch.") and made.args:
        name, tensor, rest = name.rpartition(".")[2], made.args[0], made.args[1:]
    else:
        return ""
    if name not in _BELOW or second is name.startswith("arg") or not _is_simple(tensor):
        return ""
    place = 1 if name == "topk" else 0
    word = patterns.keyword(made, "dim")
    dim = word.value if word is not None else rest[place] if len(rest) > place else None
    if dim is None:
        number = -1 if name in ("topk", "sort", "argsort") else None
    else:
        number = _integer(dim)
    if number is None or bound_between(source, tensor, made, at):
        return ""
    return f"{source.text_of(tensor)}.shape[{number}]"


def _second_of(source: Source, name: ast.Name, at: ast.AST) -> ast.Call | None:
    """The call whose second result a name is: ``_, index = x.topk(2)``."""
    scope = next(
        (a for a in source.above(at) if isinstance(a, ast.FunctionDef | ast.Module)), source.tree
    )
    bound = [
        n
        for n in ast.walk(scope)
        if isinstance(n, ast.Name) and n.id == name.id and not isinstance(n.ctx, ast.Load)
    ]
    if len(bound) != 1:
        return None
    pair = source.parent(bound[0])
    stmt = source.parent(pair) if pair is not None else None
    if (
        not isinstance(pair, ast.Tuple)
        or len(pair.elts) != 2
        or pair.elts[1] is not bound[0]
        or not isinstance(stmt, ast.Assign)
        or not isinstance(stmt.value, ast.Call)
        or stmt.lineno >= at.lineno  # type: ignore[attr-defined]
        or source.parent(stmt) not in list(source.above(at))
    ):
        return None
    return stmt.value


def _compared(source: Source, call: ast.Call) -> str:
    """``x.shape[-1]`` of ``F.mse_loss(x, F.one_hot(y).float())``."""
    node: ast.expr = call
    parent = source.parent(node)
    while (
        isinstance(parent, ast.Attribute)
        and parent.attr in _KEEPS
        and isinstance(source.parent(parent), ast.Call)
    ):
        above = source.parent(parent)
        assert isinstance(above, ast.Call)
        if above.func is not parent:
            return ""
        node, parent = above, source.parent(above)
    if (
        not isinstance(parent, ast.Call)
        or source.called(parent) not in _COMPARED
        or len(parent.args) < 2
        or parent.args[1] is not node
        or not _is_simple(parent.args[0])
    ):
        return ""
    return f"{source.text_of(parent.args[0])}.shape[-1]"


def _total(source: Source, counts: ast.expr, at: ast.Call) -> str:
    """The sum of counts that are written out: ``torch.tensor([2, 1])``, ``torch.full((n,), 3)``."""
    made = _made(source, counts, at)
    if not isinstance(made, ast.Call) or not made.args:
        return ""
    name = source.called(made)
    if name in ("torch.tensor", "torch.as_tensor", "torch.LongTensor"):
        items = made.args[0].elts if isinstance(made.args[0], ast.List | ast.Tuple) else []
        numbers = [_integer(i) for i in items]
        # One count alone stands for every row.
        if len(numbers) < 2 or None in numbers:
            return ""
        return str(sum(n for n in numbers if n is not None))
    if name == "torch.full" and len(made.args) == 2:
        size, count = made.args
        if not isinstance(size, ast.List | ast.Tuple) or len(size.elts) != 1:
            return ""
        if not _is_simple(size.elts[0]) or not _is_simple(count):
            return ""
        names = [n for part in (size, count) for n in ast.walk(part) if isinstance(n, ast.Name)]
        if any(bound_between(source, n, made, at) for n in names):
            return ""
        return f"{source.text_of(size.elts[0])} * {source.text_of(count)}"
    return ""


def _integer(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _integer(node.operand)
        return None if number is None else -number
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


def _is_simple(node: ast.expr) -> bool:
    """Whether an expression can be written twice: a name, an attribute, a number, a size."""
    if isinstance(node, ast.Subscript):
        return _is_simple(node.value) and _integer(node.slice) is not None
    if isinstance(node, ast.Attribute):
        return _is_simple(node.value)
    return isinstance(node, ast.Name) or _integer(node) is not None
