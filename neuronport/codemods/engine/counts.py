"""How many classes, experts or tokens there are, where the code around a place says so by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from neuronport.codemods.engine.shapes import definition
from neuronport.codemods.engine.source import Source

_COUNTS = (
    (
        re.compile(r"label|target|class|categor|^(y|gt|t)$|^y_|digit|truth|answer", re.I),
        re.compile(
            r"^(num|n|nb|number)_?(of_)?(class(es)?|labels?|categories)$|^nclass(es)?$", re.I
        ),
    ),
    (
        re.compile(r"expert|rout|top_?k_(ind|id)|gate_?(ind|id)", re.I),
        re.compile(r"^(num|n|nb)_?(local_|routed_)?experts?$", re.I),
    ),
    (
        re.compile(r"token|input_?ids", re.I),
        re.compile(r"^(n_?|num_)?vocab(ulary)?(_size)?$|^vocab(ulary)?_(size|len)$", re.I),
    ),
    (
        re.compile(r"action", re.I),
        re.compile(r"^(num|n|nb)_?actions?$|^action_size$", re.I),
    ),
    (
        re.compile(r"cod(e|ing)|cluster|quant", re.I),
        re.compile(r"^codebook_size$|^(num|n)_?(codes|clusters|embeddings|embed)$|^n_e$", re.I),
    ),
)
"""What an index is called, and what the number is called that it stays below."""
_SAME = frozenset(
    [
        "long",
        "int",
        "to",
        "view",
        "reshape",
        "flatten",
        "squeeze",
        "unsqueeze",
        "detach",
        "clone",
        "contiguous",
        "type",
        "cuda",
        "cpu",
        "t",
        "transpose",
        "permute",
    ]
)
"""Methods after which a tensor holds the same numbers."""


def bare(node: ast.expr) -> ast.expr:
    """A tensor without what only says how it is laid out or stored: ``y`` of ``y.view(-1).long()``."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in _SAME:
                return node
            node = node.func.value
        elif isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            node = node.value
        else:
            return node


def word(node: ast.expr) -> str:
    """What an expression is called, in a word: ``labels`` of ``batch["labels"]``."""
    node = bare(node)
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return node.slice.value if isinstance(node.slice.value, str) else word(node.value)
    return ""


def count_for(source: Source, index: ast.expr, at: ast.expr) -> str:
    """The source of the number that an index stays below, as the code around calls it; '': none,
    or more than one."""
    name = word(index)
    for of_index, of_count in _COUNTS:
        if name and of_index.search(name):
            return _nearest(source, at, of_count)
    return ""


def _nearest(source: Source, at: ast.expr, wanted: re.Pattern[str]) -> str:
    stmt = source.statement(at)
    inside: ast.AST = at
    for above in source.above(at):
        found: set[str] = set()
        if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef) and inside in above.body:
            found = {a for a in _parameters(above) if wanted.search(a)}
            for node in ast.walk(above):
                if isinstance(node, ast.Name) and wanted.search(node.id):
                    made = definition(source, node, stmt)
                    if made is not None and _is_in(source, made, above):
                        found.add(node.id)
        elif isinstance(above, ast.ClassDef):
            method = inside if isinstance(inside, ast.FunctionDef) else None
            found = set(_of_self(above, method, wanted)) if method is not None else set()
        elif isinstance(above, ast.Module):
            found = set(_constants(above, wanted))
        if found:
            return found.pop() if len(found) == 1 else ""
        inside = above
    return ""


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Parameters that are numbers for all that is said of them, and bound nowhere else."""
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults))
    defaults += arguments.defaults
    pairs = [*zip(plain, defaults, strict=True)]
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    bound = {
        n.id
        for n in ast.walk(function)
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    }
    for argument, default in pairs:
        said = argument.annotation
        if said is not None and not (isinstance(said, ast.Name) and said.id == "int"):
            continue
        if default is not None and not _is_count(default):
            continue
        if argument.arg not in bound:
            yield argument.arg


def _is_count(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int)
        and not isinstance(node.value, bool)
        and node.value > 0
    )


def _is_in(source: Source, node: ast.AST, function: ast.AST) -> bool:
    """Whether a statement is of a function itself, not of one inside it."""
    for above in source.above(node):
        if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            return above is function
    return False


def _of_self(cls: ast.ClassDef, method: ast.FunctionDef, wanted: re.Pattern[str]) -> Iterator[str]:
    """``self.num_classes``, ``self.config.num_labels``: what the class sets, or reads of what it
    keeps; the shortest way to each."""
    if not method.args.args or any(
        isinstance(d, ast.Name) and d.id in ("staticmethod", "classmethod")
        for d in method.decorator_list
    ):
        return
    me = method.args.args[0].arg
    own = {
        target.id
        for node in cls.body
        if (target := _target(node)) is not None and wanted.search(target.id)
    }
    kept: dict[str, str] = {}
    reads: list[tuple[str, str]] = []
    for node in ast.walk(cls):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            for place in node.targets:
                if isinstance(place, ast.Attribute) and _is_name(place.value, me):
                    kept[node.value.id] = f"{me}.{place.attr}"
        if not isinstance(node, ast.Attribute) or not wanted.search(node.attr):
            continue
        base = node.value
        if _is_name(base, me):
            if isinstance(node.ctx, ast.Store):
                own.add(node.attr)
        elif isinstance(base, ast.Attribute) and _is_name(base.value, me):
            reads.append((f"{me}.{base.attr}", node.attr))
        elif isinstance(base, ast.Name):
            reads.append((base.id, node.attr))
    yield from (f"{me}.{name}" for name in own)
    for owner, name in reads:
        owner = kept.get(owner, owner)
        if name not in own and owner.startswith(f"{me}."):
            yield f"{owner}.{name}"


def _target(node: ast.stmt) -> ast.Name | None:
    target = node.target if isinstance(node, ast.AnnAssign) else None
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]  # type: ignore[assignment]
    return target if isinstance(target, ast.Name) else None


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _constants(module: ast.Module, wanted: re.Pattern[str]) -> Iterator[str]:
    """Names that the module gives a number, once and for all."""
    bound: dict[str, int] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound[node.id] = bound.get(node.id, 0) + 1
    for stmt in module.body:
        if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
            target = stmt.targets[0]
            if (
                isinstance(target, ast.Name)
                and wanted.search(target.id)
                and bound[target.id] == 1
                and _is_count(stmt.value)
            ):
                yield target.id
