"""Adding the imports that rewritten code needs, taking out those it no longer needs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from neuronport.codemods.engine.model import Edit
from neuronport.codemods.engine.source import Source


def insertion_point(source: Source, before: int) -> tuple[int, bool]:
    """Where a new import line goes, and whether it needs a blank line before it.

    After the last import at module level that comes before the first place that is edited (a line
    number) and before the first definition: a path set by hand (``sys.path``) is set by then.
    """
    body = source.tree.body
    last: ast.stmt | None = None
    for i, stmt in enumerate(body):
        first = min([stmt.lineno, *(d.lineno for d in getattr(stmt, "decorator_list", ()))])
        end = stmt.end_lineno or stmt.lineno
        if end >= before and i + 1 < len(body) and body[i + 1].lineno == end:
            # What is edited may follow on the same line.
            break
        if isinstance(stmt, ast.Import | ast.ImportFrom):
            if first > before:
                break
            last = stmt
            continue
        if i == 0 and _is_docstring(stmt):
            last = stmt
            continue
        if isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or end >= before:
            break
    if last is None:
        return _after_head(source), False
    at = source.line_start((last.end_lineno or last.lineno) + 1)
    return at, not isinstance(last, ast.Import | ast.ImportFrom)


def inline_point(source: Source, at: int) -> int | None:
    """Where on the line that begins at ``at`` an import has to go that must not come before it: the
    line begins with a docstring or an import from ``__future__`` that has to stay first."""
    line = source.line_of(at)
    first = [s for s in source.tree.body if _is_first(s, source.tree.body)]
    if not first or (first[-1].end_lineno or 0) < line:
        return None
    rest = source.tree.body[len(first) :]
    return source.span(rest[0])[0] if rest else None


def _is_first(stmt: ast.stmt, body: Sequence[ast.stmt]) -> bool:
    return (stmt is body[0] and _is_docstring(stmt)) or (
        isinstance(stmt, ast.ImportFrom) and stmt.module == "__future__"
    )


def _is_docstring(stmt: ast.stmt) -> bool:
    return (
        isinstance(stmt, ast.Expr)
        and isinstance(stmt.value, ast.Constant)
        and isinstance(stmt.value.value, str)
    )


def _after_head(source: Source) -> int:
    """After the comments a file begins with: the shebang, the encoding, a licence."""
    line = 1
    while line <= len(source.lines) and source.lines[line - 1].startswith("#"):
        line += 1
    return source.line_start(line)


def sole_on_line(source: Source, stmt: ast.stmt) -> bool:
    """Whether a statement has its lines for itself (a comment after it aside)."""
    start, end = source.span(stmt)
    line = source.line_start(stmt.lineno)
    if source.text[line:start].strip():
        return False
    rest = source.text[end : source.line_start((stmt.end_lineno or stmt.lineno) + 1)].strip()
    return not rest or rest.startswith("#")


def torch_name(source: Source) -> str | None:
    """The name by which module-level code reaches ``torch``; None: it has to be imported."""
    for stmt in source.tree.body:
        if isinstance(stmt, ast.Import):
            for alias in stmt.names:
                if alias.name == "torch" and alias.asname:
                    return alias.asname
                if alias.name.partition(".")[0] == "torch" and not alias.asname:
                    return "torch"
    return None


def removals(
    source: Source,
    gone: Sequence[tuple[int, int]],
    wanted: Callable[[str], bool] = lambda name: False,
    packages: frozenset[str] = frozenset(),
) -> tuple[list[Edit], list[ast.alias]]:
    """Edits that take out imported names whose last uses stood in the spans that are gone, and what
    they take out.

    Only for what is imported for this file alone: ``__init__.py`` re-exports, and so does whatever
    ``__all__`` or another file of the tree (``wanted``) names. Names of torch go where they are
    imported at module level; those of ``packages`` go from functions too, where the block is not
    left empty, and so do the modules themselves. An import that is tried or asked for stays.
    """
    if source.path.endswith("__init__.py") or not gone:
        return [], []
    exported = _exported(source)
    edits: list[Edit] = []
    removed: list[ast.alias] = []
    for stmt, alone in _import_statements(source, packages):
        unused = [
            a
            for a in stmt.names
            if a.name != "*"
            and _is_of(stmt, a, packages)
            and _is_unused(source, stmt, a, gone, exported)
            and not wanted(_bound(stmt, a))
        ]
        if not unused or source.has_comment(
            source.span(stmt)[0], source.line_start((stmt.end_lineno or stmt.lineno) + 1)
        ):
            continue
        if len(unused) == len(stmt.names):
            if alone:
                continue
            start = source.line_start(stmt.lineno)
            edits.append(Edit(start, source.line_start((stmt.end_lineno or 0) + 1), ""))
        else:
            edits += _without(source, stmt, unused)
        removed += unused
    return edits, removed


def _import_statements(
    source: Source, packages: frozenset[str]
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The imports to look at, and whether nothing else stands in their block."""
    top = set(source.tree.body)
    for node in source.tree.body if not packages else source.nodes:
        if not isinstance(node, ast.Import | ast.ImportFrom) or not sole_on_line(source, node):
            continue
        if node in top:
            yield node, False
        else:
            parent = source.parent(node)
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node, len(parent.body) == 1


def _is_of(stmt: ast.Import | ast.ImportFrom, alias: ast.alias, packages: frozenset[str]) -> bool:
    """Whether a name is one of torch, or of the packages that are given up."""
    if isinstance(stmt, ast.Import):
        return alias.name.partition(".")[0] in packages
    if stmt.module is None or stmt.level:
        return False
    return stmt.module.partition(".")[0] in {"torch", *packages}


def _without(
    source: Source, stmt: ast.Import | ast.ImportFrom, unused: Sequence[ast.alias]
) -> list[Edit]:
    """Edits that take some names out of a statement and leave at least one."""
    edits = []
    kept = [i for i, a in enumerate(stmt.names) if a not in unused]
    for i, alias in enumerate(stmt.names):
        if alias not in unused:
            continue
        if i < kept[-1]:
            edits.append(Edit(source.span(alias)[0], source.span(stmt.names[i + 1])[0], ""))
        else:
            edits.append(Edit(source.span(stmt.names[i - 1])[1], source.span(alias)[1], ""))
    return edits


def _bound(stmt: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """The name that an import binds."""
    plain = isinstance(stmt, ast.Import)
    return alias.asname or (alias.name.partition(".")[0] if plain else alias.name)


def _is_unused(
    source: Source,
    stmt: ast.Import | ast.ImportFrom,
    alias: ast.alias,
    gone: Sequence[tuple[int, int]],
    exported: frozenset[str],
) -> bool:
    module = stmt.module or "" if isinstance(stmt, ast.ImportFrom) else alias.name
    name = _bound(stmt, alias)
    if name in exported:
        return False
    # A package that is given up is not kept for an import nobody uses.
    used = module.partition(".")[0] != "torch" and stmt in source.tree.body
    for node in source.each(ast.Name, ast.Global, ast.Nonlocal):
        if isinstance(node, ast.Name) and node.id == name:
            start, end = source.span(node)
            if not any(a <= start and end <= b for a, b in gone):
                return False
            used = True
        elif isinstance(node, ast.Global | ast.Nonlocal) and name in node.names:
            return False
    return used


def _exported(source: Source) -> frozenset[str]:
    names: set[str] = set()
    for stmt in source.tree.body:
        targets = (
            stmt.targets
            if isinstance(stmt, ast.Assign)
            else [stmt.target]
            if isinstance(stmt, ast.AnnAssign | ast.AugAssign)
            else []
        )
        if any(isinstance(t, ast.Name) and t.id == "__all__" for t in targets):
            names |= {
                n.value
                for n in ast.walk(stmt)
                if isinstance(n, ast.Constant) and isinstance(n.value, str)
            }
    return frozenset(names)


def is_relative(source: Source) -> bool:
    """Whether the file's own imports of its package are relative."""
    return any(isinstance(s, ast.ImportFrom) and s.level for s in source.tree.body)
