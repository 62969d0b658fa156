"""``torch.load(path)`` with ``map_location``: a checkpoint can be read where it was not written.

``"cpu"`` where ``load_state_dict`` takes what is loaded, or ``.to()`` moves it, on CUDA too. What is
used as it is goes where the rest is, and with CUDA where it was: a whole model would else stay on the
CPU. Under review: other tensors of the checkpoint may be used as they are.
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Left
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "Read the checkpoint on the CPU"
_WAYS = ('torch.load(path, map_location="cpu"), then load_state_dict or .to(device)',)
_WHERE_IT_RUNS = f'None if {patterns.device_name()} == "cuda" else {patterns.device_name()}'


def fix(finding: Finding, source: Source, project: Project) -> Any:
    call = source.at(finding, ast.Call)
    if call is None or patterns.has_star(call) or not call.args:
        return Left(finding, "unclear", "its arguments are not written out", _WAYS)
    word = patterns.keyword(call, "map_location")
    given = word.value if word is not None else call.args[1] if len(call.args) > 1 else None
    place = '"cpu"' if _moved(source, call) else _WHERE_IT_RUNS
    if given is not None:
        if not (isinstance(given, ast.Constant) and given.value is None):
            return Left(finding, "unclear", "map_location is given", _WAYS)
        edit = patterns.replace(source, given, place)
    else:
        edit = patterns.after(source, call.args[0], f", map_location={place}")
    return Change(
        finding,
        "map-location",
        FixSafety.REVIEW,
        TITLE,
        (edit,),
        note="tensors of the checkpoint that are used as they are have to be moved",
    )


def _moved(source: Source, call: ast.Call) -> bool:
    """Whether what is loaded is copied or moved to where it is wanted."""
    parent = source.parent(call)
    if isinstance(parent, ast.Subscript):
        parent = source.parent(parent)
    if isinstance(parent, ast.Attribute):
        return parent.attr in _MOVES
    if isinstance(parent, ast.Call):
        return _takes_state(parent)
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    name = source.text_of(parent.targets[0])
    scope: ast.AST = next(
        (n for n in source.above(call) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)),
        source.tree,
    )
    for node in ast.walk(scope):
        if not isinstance(node, ast.Call) or node is call:
            continue
        if _takes_state(node) and any(_part_of(source, a, name) for a in node.args):
            return True
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in _MOVES
            and _part_of(source, node.func.value, name)
        ):
            return True
    return False


_MOVES = frozenset(["to", "cuda", "state_dict"])


def _takes_state(call: ast.Call) -> bool:
    func = call.func
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    return "load_state_dict" in name or (name.startswith("load_") and "state" in name)


def _part_of(source: Source, node: ast.expr, name: str) -> bool:
    """``checkpoint``, ``checkpoint["model"]``, ``checkpoint.state``."""
    while isinstance(node, ast.Subscript | ast.Attribute) and source.text_of(node) != name:
        node = node.value
    return source.text_of(node) == name
