"""Indices of gather and scatter_add as int32 on Neuron, which has no int64.

The index goes through a function of the seam, before it is expanded or reshaped: on Neuron it becomes
int32 where this PyTorch takes one, on CUDA and the CPU it stays the very tensor it was. Under review:
users measured 76 to 2,500 times on betas, a later kernel may have mended it.
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Left, seam
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.shapes import in_text
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "A narrow index on Neuron"
_WAYS = (
    "index.to(torch.int32) before it is expanded, where the PyTorch release takes it",
    "index_select or index_add along one dimension",
    "a comparison with arange and a sum, or torch.where",
)
_GATHER = ("torch.gather with an int32 index of the result's shape",)
_VIEWS = frozenset(
    ["unsqueeze", "expand", "expand_as", "view", "reshape", "repeat", "squeeze", "long", "flatten"]
)
"""Methods that only say how an index is laid out."""


def fix(finding: Finding, source: Source, project: Project) -> Any:
    call = source.at(finding, ast.Call)
    if call is None or patterns.is_skipped(finding) or patterns.has_star(call):
        return Left(finding, "unclear", "its arguments are not written out", _WAYS)
    if source.called(call).rpartition(".")[2] == "take_along_dim" or (
        isinstance(call.func, ast.Attribute) and call.func.attr == "take_along_dim"
    ):
        return Left(finding, "needs-a-person", "take_along_dim takes an int64 index alone", _GATHER)
    place = 2 if source.called(call).startswith("torch.") else 1
    word = patterns.keyword(call, "index")
    index = word.value if word is not None else None
    if index is None and len(call.args) > place:
        index = call.args[place]
    if index is None or in_text(source, index):
        return Left(finding, "unclear", "the index is not written here", _WAYS)
    while (
        isinstance(index, ast.Call)
        and isinstance(index.func, ast.Attribute)
        and index.func.attr in _VIEWS
        and index.func.attr != "long"
    ):
        index = index.func.value
    if not isinstance(index, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        return Left(finding, "unclear", "the index is put together here", _WAYS)
    if any(isinstance(n, ast.Name) and n.id == "narrow_index" for n in ast.walk(index)):
        return Left(finding, "done", "narrow on Neuron already", ())
    edits = (
        patterns.before(source, index, f"{seam('narrow_index')}("),
        patterns.after(source, index, ")"),
    )
    return Change(finding, "narrow-index", FixSafety.REVIEW, TITLE, edits)
