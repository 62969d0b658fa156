"""Variables that say nothing but where a checkpoint is read: each time they are read they are the
``map_location`` of a call. What they hold is as if it stood in that call."""

from __future__ import annotations

import ast
import re

KEYWORD = "map_location"
_BY_KEYWORD = re.compile(r"map_location\s*=\s*[A-Za-z_]\w*\s*[,)]")
_BY_POSITION = re.compile(r"torch\.load\([^,\n]*,\s*[A-Za-z_]\w*\s*[,)]")


def may_locate(text: str) -> bool:
    """Whether a file can have such variables: walking it for nothing takes time."""
    if KEYWORD in text and _BY_KEYWORD.search(text):
        return True
    return "torch.load(" in text and bool(_BY_POSITION.search(text))


def located(node: ast.AST) -> tuple[bool, frozenset[str]]:
    """Whether a module or a function, with what is within, gives any call a variable to say so, and
    the names of those that do nothing else."""
    reads: dict[str, int] = {}
    shared: set[str] = set()
    counted: dict[str, int] = {}
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            if isinstance(part.ctx, ast.Load):
                reads[part.id] = reads.get(part.id, 0) + 1
        elif isinstance(part, ast.Call):
            name = _location(part)
            if name:
                counted[name] = counted.get(name, 0) + 1
        elif isinstance(part, ast.Global | ast.Nonlocal):
            shared.update(part.names)
    only = (n for n, times in counted.items() if reads[n] == times and n not in shared)
    return bool(counted), frozenset(only)


def _location(call: ast.Call) -> str:
    """The variable that a call takes as its ``map_location``, or ''."""
    for keyword in call.keywords:
        if keyword.arg == KEYWORD:
            return keyword.value.id if isinstance(keyword.value, ast.Name) else ""
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr == "load" and len(call.args) == 2:
        owner, second = func.value, call.args[1]
        if isinstance(owner, ast.Name) and owner.id == "torch" and isinstance(second, ast.Name):
            return second.id
    return ""
