"""``torch.load(path)`` with ``map_location``: a checkpoint can be read where it was not written.

``"cpu"``, on CUDA too, where ``load_state_dict`` copies from what is loaded or ``.to()`` moves it. A
whole model that is run as it is loaded goes where the program runs, and with CUDA where it was. Under
review: tensors of the checkpoint that are used as they are now lie on the CPU until they are moved.
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
    place = _WHERE_IT_RUNS if _is_run(source, call) else '"cpu"'
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


def _is_run(source: Source, call: ast.Call) -> bool:
    """Whether what is loaded is a whole model that is run without being moved."""
    parent = source.parent(call)
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    name = source.text_of(parent.targets[0])
    above = (n for n in source.above(call) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    scope: ast.AST = source.tree if name.startswith("self.") else next(above, source.tree)
    run = False
    for node in ast.walk(scope):
        if not isinstance(node, ast.Call):
            continue
        if source.text_of(node.func) == name:
            run = True
        if isinstance(node.func, ast.Attribute) and source.text_of(node.func.value) == name:
            if node.func.attr in ("to", "cuda", "cpu", "state_dict"):
                return False
            run = run or node.func.attr in ("eval", "train", "parameters", "forward", "generate")
    return run
