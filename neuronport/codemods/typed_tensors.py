"""``torch.cuda.FloatTensor`` and its like: an ordinary tensor of that dtype on the device.

``torch.cuda.FloatTensor(3, 4)`` is ``torch.empty``, ``torch.cuda.FloatTensor([1, 2])`` is
``torch.tensor``: the same dtype on the current CUDA device. Under review: ``x.type(…)``, which leaves
a tensor on the GPU it is on, where ``.to(device)`` takes it to the current one.

By hand: an argument that may be a size or data, the type handed on, ``isinstance``.
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import TORCH, Change, Edit, Left
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "A tensor of a dtype on the device"
_DTYPES = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "ShortTensor": "int16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "BoolTensor": "bool",
}
_WAYS = (
    "torch.tensor(data, dtype=…, device=device) for data, torch.empty(size, dtype=…, device=device) "
    "for a size",
    "x.to(device, dtype) for a cast",
    "x.dtype and x.device.type in place of isinstance",
)


def fix(finding: Finding, source: Source, project: Project) -> Any:
    if patterns.is_guarded(finding):
        return None
    dtype = _DTYPES.get(finding.rule.rpartition(".")[2])
    if dtype is None:
        return None
    options = f"dtype={TORCH}.{dtype}, device={patterns.get_device()}"
    call = source.at(finding, ast.Call)
    if call is not None:
        if call.keywords or patterns.has_star(call) or source.has_comment(*source.span(call)):
            return Left(finding, "unclear", "its arguments are not written out", _WAYS)
        made = _maker(source, call.args)
        if made is None:
            return Left(finding, "needs-a-person", "a size or data may be meant", _WAYS)
        edits = [patterns.replace(source, call.func, f"{TORCH}.{made}")]
        if not call.args:
            edits = [patterns.replace(source, call, f"{TORCH}.empty(0, {options})")]
        else:
            edits.append(patterns.last_argument(source, call, options))
        return Change(finding, "typed-tensors", FixSafety.SAFE, TITLE, tuple(edits))
    node = source.at(finding, ast.Attribute) or source.at(finding, ast.Name)
    parent = source.parent(node) if node is not None else None
    if (
        node is not None
        and isinstance(parent, ast.Call)
        and parent.args == [node]
        and not parent.keywords
        and isinstance(parent.func, ast.Attribute)
        and parent.func.attr == "type"
        and source.view.kind(source.receiver(parent)).kind in ("tensor", "unknown")
    ):
        start, end = patterns.attribute_name(source, parent.func)
        edits = [
            Edit(start, end, "to"),
            patterns.replace(source, node, f"{patterns.get_device()}, {TORCH}.{dtype}"),
        ]
        return Change(finding, "typed-tensors", FixSafety.REVIEW, TITLE, tuple(edits))
    return Left(finding, "needs-a-person", "the type is handed on", _WAYS)


def _maker(source: Source, args: list[ast.expr]) -> str | None:
    """Whether sizes or data are given: ``empty`` or ``tensor``; None: it cannot be told."""
    if not args or len(args) > 1:
        return "empty"
    only = args[0]
    if isinstance(only, ast.Constant):
        return "empty" if isinstance(only.value, int) else None
    if isinstance(only, ast.List | ast.ListComp | ast.Tuple):
        return "tensor"
    if isinstance(only, ast.Attribute) and only.attr == "shape":
        return "empty"
    if (
        isinstance(only, ast.Call)
        and isinstance(only.func, ast.Attribute)
        and only.func.attr == "size"
        and not only.args
    ):
        return "empty"
    if isinstance(only, ast.Call) and source.called(only) == "torch.Size":
        return "empty"
    return None
