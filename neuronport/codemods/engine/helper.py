"""A project's own function that returns its device, used in place of the seam where it is at hand.

Only a function without arguments that returns ``torch.device("cuda" if torch.cuda.is_available()
else "cpu")`` counts, or one that asks the seam already: it is rewritten to ask the seam, so that it
and the seam answer the same. It is taken where a file has it anyway; no import is added for it, which
could go round in a circle.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Edit, seam
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source

_ASKED = f"{seam('get_device')}()"


def by_helpers(
    project: Project, accepted: Mapping[str, Sequence[Change]]
) -> tuple[dict[str, list[Change]], dict[str, str]]:
    """The changes with the project's own helper wherever a file has it; and for each of these files,
    where the helper is, if somewhere else."""
    ported = [
        path
        for path, names in project.imported_names().items()
        if any(n.endswith("neuron_device.get_device") for n in names)
    ]
    helpers = {
        (path, function.name): source.span(function)
        for path in sorted({*(p for p, changes in accepted.items() if _asks(changes)), *ported})
        if (source := project.source(path)) is not None
        for function in source.tree.body
        if isinstance(function, ast.FunctionDef)
        and _is_helper(source, function, accepted.get(path, ()))
    }
    result: dict[str, list[Change]] = {}
    taken: dict[str, str] = {}
    for path, changes in accepted.items():
        source = project.source(path) if helpers and _asks(changes) else None
        known = _at_hand(project, source, helpers) if source is not None else None
        if source is None or known is None:
            result[path] = list(changes)
            continue
        home, name, line, own = known
        result[path] = [
            replace(c, edits=tuple(_taken(source, e, name, line, own) for e in c.edits))
            for c in changes
        ]
        if home != path and home in accepted and result[path] != list(changes):
            taken[path] = home
    return result, taken


def _asks(changes: Sequence[Change]) -> bool:
    return any(_ASKED in edit.text for change in changes for edit in change.edits)


def _taken(source: Source, edit: Edit, name: str, line: int, own: tuple[int, int]) -> Edit:
    if _ASKED not in edit.text or own[0] <= edit.start < own[1]:
        return edit
    if source.line_of(edit.start) <= line:
        return edit
    return edit._replace(text=edit.text.replace(_ASKED, f"{name}()"))


def _at_hand(
    project: Project, source: Source, helpers: Mapping[tuple[str, str], tuple[int, int]]
) -> tuple[str, str, int, tuple[int, int]] | None:
    """Where a helper is, its local name, the line after which it is there, and the span of its own text."""
    for stmt in source.tree.body:
        if isinstance(stmt, ast.FunctionDef) and (source.path, stmt.name) in helpers:
            if _bound_once(source, stmt.name):
                return source.path, stmt.name, stmt.end_lineno or 0, helpers[source.path, stmt.name]
        elif isinstance(stmt, ast.ImportFrom):
            target = _target(project, source.path, stmt)
            for alias in stmt.names:
                name = alias.asname or alias.name
                if (target, alias.name) in helpers and _bound_once(source, name):
                    return target, name, stmt.end_lineno or 0, (0, 0)
    return None


def _bound_once(source: Source, name: str) -> bool:
    """Whether a name means one thing in the whole file."""
    count = 0
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            count += node.name == name
        elif isinstance(node, ast.alias):
            count += (node.asname or node.name.partition(".")[0]) == name
        elif isinstance(node, ast.arg):
            count += node.arg == name
        elif isinstance(node, ast.Name):
            count += node.id == name and not isinstance(node.ctx, ast.Load)
    return count == 1


def _target(project: Project, path: str, stmt: ast.ImportFrom) -> str:
    """The file of the tree that a ``from … import`` reads; '' for none."""
    if not stmt.level:
        return project.modules.find(stmt.module or "", path) or ""
    folder = path.split("/")[: -stmt.level]
    stem = "/".join([*folder, *(stmt.module or "").split(".")]).rstrip("/")
    return next((p for p in (f"{stem}.py", f"{stem}/__init__.py") if p in project.files), "")


def _is_helper(source: Source, function: ast.FunctionDef, changes: Sequence[Change]) -> bool:
    arguments = function.args
    if arguments.args or arguments.posonlyargs or arguments.kwonlyargs or function.decorator_list:
        return False
    body = list(function.body)
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    if not body or not isinstance(body[-1], ast.Return):
        return False
    value = body[-1].value
    if len(body) == 2 and isinstance(body[0], ast.Assign) and isinstance(value, ast.Name):
        target = body[0].targets[0]
        if not isinstance(target, ast.Name) or target.id != value.id:
            return False
        value = body[0].value
    elif len(body) != 1:
        return False
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        name = source.imports.get(value.func.id, "") or _relative(source, value.func.id)
        if name.endswith("neuron_device.get_device") and not value.args:
            return True
    if not patterns.is_device_call(source, value):
        return False
    start, end = source.span(function)
    return any(
        start <= e.start and e.end <= end and _ASKED in e.text for c in changes for e in c.edits
    )


def _relative(source: Source, name: str) -> str:
    for stmt in source.tree.body:
        if isinstance(stmt, ast.ImportFrom) and stmt.level:
            for alias in stmt.names:
                if (alias.asname or alias.name) == name:
                    return f"{stmt.module}.{alias.name}"
    return ""
