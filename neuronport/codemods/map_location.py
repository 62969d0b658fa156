"""``torch.load(path)`` with ``map_location="cpu"``: a checkpoint can be read where it was not written.

Under review: ``load_state_dict`` copies to where the parameters are, on CUDA too, but a tensor of the
checkpoint that is used as it is now lies on the CPU until it is moved.
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


def fix(finding: Finding, source: Source, project: Project) -> Any:
    call = source.at(finding, ast.Call)
    if call is None or patterns.has_star(call) or not call.args:
        return Left(finding, "unclear", "its arguments are not written out", _WAYS)
    word = patterns.keyword(call, "map_location")
    given = word.value if word is not None else call.args[1] if len(call.args) > 1 else None
    if given is not None:
        if not (isinstance(given, ast.Constant) and given.value is None):
            return Left(finding, "unclear", "map_location is given", _WAYS)
        edit = patterns.replace(source, given, '"cpu"')
    else:
        edit = patterns.after(source, call.args[0], ', map_location="cpu"')
    return Change(
        finding,
        "map-location",
        FixSafety.REVIEW,
        TITLE,
        (edit,),
        note="tensors of the checkpoint that are used as they are have to be moved",
    )
