"""The source lines that sites name: their text, their scope, and how they are called for people."""

from __future__ import annotations

import ast
import os
import tokenize
from functools import lru_cache

from neuronport.findings import Location
from neuronport.graph.record import Site


@lru_cache(maxsize=256)
def lines(file: str) -> tuple[str, ...]:
    """Empty where the file cannot be read."""
    try:
        with tokenize.open(file) as stream:
            return tuple(stream.read().splitlines())
    except (OSError, SyntaxError, UnicodeDecodeError):
        return ()


@lru_cache(maxsize=64)
def _scopes(file: str) -> tuple[tuple[int, int, str], ...]:
    """First line, last line and qualified name of every class and function, outermost first."""
    try:
        tree = ast.parse("\n".join(lines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return ()
    found: list[tuple[int, int, str]] = []
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, prefix = pending.pop()
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                name = f"{prefix}.{child.name}" if prefix else child.name
                found.append((child.lineno, child.end_lineno or child.lineno, name))
            pending.append((child, name))
    return tuple(sorted(found))


def scope(site: Site) -> str:
    """The innermost class and function around a line."""
    inside = [name for first, last, name in _scopes(site.file) if first <= site.line <= last]
    return inside[-1] if inside else ""


def text(site: Site) -> str:
    rows = lines(site.file)
    return rows[site.line - 1] if 0 < site.line <= len(rows) else ""


def path(file: str) -> str:
    """Relative to the current folder; of an installed library, from the library's name on."""
    for folder in ("site-packages", "dist-packages"):
        marker = f"{os.sep}{folder}{os.sep}"
        if marker in file:
            return file.rpartition(marker)[2].replace(os.sep, "/")
    relative = os.path.relpath(file)
    return (file if relative.startswith("..") else relative).replace(os.sep, "/")


def location(site: Site) -> Location:
    """The line without its indentation."""
    row = text(site)
    stripped = row.strip()
    begin = len(row) - len(row.lstrip()) + 1
    return Location(path(site.file), site.line, begin, site.line, begin + max(len(stripped), 1))
