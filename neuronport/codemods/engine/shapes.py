"""Whether a mask has the shape of what it masks, told by how it is written."""

from __future__ import annotations

import ast

from neuronport.codemods.engine.source import Source

_ELEMENTWISE = frozenset(
    ["isnan", "isinf", "isfinite", "abs", "logical_not", "bool", "ge", "gt", "le", "lt", "eq", "ne"]
)


def same_shape(source: Source, mask: ast.expr, x: ast.expr, at: ast.stmt | None) -> bool:
    """Whether a mask is made element by element of ``x`` itself: ``x < 0``, ``isnan(x) | (x > y)``.

    Then no dimension is missing: what broadcasts ``x`` cannot index it, and the mask is as large.
    """
    if _is_of(source, mask, x):
        return True
    made = definition(source, mask, at)
    return made is not None and not _rebound(source, x, made, at) and _is_of(source, made.value, x)


def _is_of(source: Source, node: ast.expr, x: ast.expr) -> bool:
    if isinstance(node, ast.Compare):
        return any(_value_of(source, n, x) for n in (node.left, *node.comparators))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor):
        return _is_of(source, node.left, x) or _is_of(source, node.right, x)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return _is_of(source, node.operand, x)
    if isinstance(node, ast.Call):
        inner = _argument(source, node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if inner is not None and name in ("isnan", "isinf", "isfinite"):
            return _value_of(source, inner, x)
        if inner is not None and name == "logical_not":
            return _is_of(source, inner, x)
    return False


def _value_of(source: Source, node: ast.expr, x: ast.expr) -> bool:
    """Whether an operand is ``x`` or made of it element by element."""
    if ast.dump(node) == ast.dump(x):
        return True
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _value_of(source, node.operand, x)
    if isinstance(node, ast.Call):
        inner = _argument(source, node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        return name == "abs" and inner is not None and _value_of(source, inner, x)
    return False


def _argument(source: Source, call: ast.Call) -> ast.expr | None:
    """What ``torch.f(x)`` or ``x.f()`` is applied to, where that is all."""
    if call.keywords:
        return None
    if source.called(call).startswith("torch."):
        return call.args[0] if len(call.args) == 1 else None
    if isinstance(call.func, ast.Attribute) and not call.args:
        return call.func.value
    return None


def definition(source: Source, node: ast.expr, at: ast.stmt | None) -> ast.Assign | None:
    """The one assignment of a local name, where it stands before in the same or an outer block."""
    if not isinstance(node, ast.Name) or at is None:
        return None
    scope = _scope(source, at)
    found = [
        n
        for n in ast.walk(scope)
        if isinstance(n, ast.Name) and n.id == node.id and not isinstance(n.ctx, ast.Load)
    ]
    if len(found) != 1:
        return None
    stmt = source.parent(found[0])
    if (
        not isinstance(stmt, ast.Assign)
        or stmt.targets != [found[0]]
        or stmt.lineno >= at.lineno
        or _scope(source, stmt) is not scope
    ):
        return None
    blocks = {source.parent(n) for n in (at, *source.above(at)) if isinstance(n, ast.stmt)}
    return stmt if source.parent(stmt) in blocks else None


def _rebound(source: Source, x: ast.expr, made: ast.Assign, at: ast.stmt | None) -> bool:
    """Whether ``x`` becomes something else between a mask's making and its use."""
    if not isinstance(x, ast.Name) or at is None:
        return True
    return any(
        isinstance(n, ast.Name)
        and n.id == x.id
        and not isinstance(n.ctx, ast.Load)
        and made.lineno < n.lineno <= at.lineno
        for n in ast.walk(_scope(source, at))
    )


_TRUTH = frozenset(
    ["bool", "isnan", "isfinite", "eq", "ne", "gt", "ge", "lt", "le", "logical_not", "logical_and"]
)


def is_truth(source: Source, mask: ast.expr, at: ast.stmt | None) -> bool:
    """Whether a mask is of true and false, as it is written or was made."""
    if isinstance(mask, ast.Name):
        made = definition(source, mask, at)
        return made is not None and is_truth(source, made.value, made)
    if isinstance(mask, ast.UnaryOp) and isinstance(mask.op, ast.Invert):
        return is_truth(source, mask.operand, at)
    if isinstance(mask, ast.BinOp) and isinstance(mask.op, ast.BitAnd | ast.BitOr):
        return is_truth(source, mask.left, at) and is_truth(source, mask.right, at)
    if isinstance(mask, ast.Call) and isinstance(mask.func, ast.Attribute):
        if mask.func.attr in ("view", "reshape", "flatten"):
            return is_truth(source, mask.func.value, at)
        return mask.func.attr in _TRUTH
    return isinstance(mask, ast.Compare) and isinstance(
        mask.ops[0], ast.Eq | ast.NotEq | ast.Lt | ast.LtE | ast.Gt | ast.GtE
    )


def _scope(source: Source, node: ast.AST) -> ast.AST:
    for above in source.above(node):
        if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module):
            return above
    return source.tree


def bound_between(
    source: Source, node: ast.AST, first: ast.expr | ast.stmt, last: ast.expr | ast.stmt
) -> bool:
    """Whether a name that an expression is made of is bound anew from one place to another."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    scope = next((a for a in source.above(last) if isinstance(a, ast.FunctionDef)), source.tree)
    return any(
        isinstance(n, ast.Name)
        and n.id in names
        and not isinstance(n.ctx, ast.Load)
        and first.lineno <= n.lineno <= last.lineno
        for n in ast.walk(scope)
    )


def in_text(source: Source, node: ast.AST) -> bool:
    """Whether an expression stands in an f-string, where older Pythons give no true position."""
    return any(isinstance(above, ast.JoinedStr) for above in source.above(node))


def is_number(source: Source, node: ast.expr) -> bool:
    """Whether an expression is a plain number, however written: ``-float("inf")``, ``math.pi``."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return is_number(source, node.operand)
    if isinstance(node, ast.BinOp):
        return is_number(source, node.left) and is_number(source, node.right)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("float", "int")
    if isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Call):
            limits = source.called(node.value) in ("torch.finfo", "torch.iinfo")
            return limits and node.attr in ("min", "max", "eps", "tiny")
        return source.dotted(node) in (
            "math.inf",
            "math.nan",
            "math.pi",
            "numpy.inf",
            "numpy.nan",
            "torch.inf",
            "torch.nan",
        )
    return False
