"""``torch.cuda.…()`` functions to the module of the device that is there.

``torch.get_device_module(device)`` has most of what ``torch.cuda`` has, but not on every device and
not in every PyTorch, and on the CPU some of ``torch.cuda`` was silent where ``torch.cpu`` has no
such name. So each call goes through a function of the seam, which is ``torch.cuda``'s with CUDA and
as silent as it was without.
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Edit, Left, seam
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Confidence, Finding, FixSafety

TITLE = "Call the module of the device that is there"
NAMES = (
    "synchronize",
    "empty_cache",
    "manual_seed",
    "manual_seed_all",
    "memory_allocated",
    "max_memory_allocated",
    "memory_reserved",
    "max_memory_reserved",
    "reset_peak_memory_stats",
)
"""Functions that the seam has under the same name, with the same arguments."""
_DEVICE_WORDS = ("device", "map_location")


def fix(finding: Finding, source: Source, project: Project) -> Any:
    name = finding.rule.rpartition(".")[2]
    if name == "is_bf16_supported":
        return _bf16(finding, source)
    if name == "current_device":
        return _current(finding, source)
    if name == "device_count":
        return _count(finding, source)
    # Deprecated and documented to do the same.
    name = {"reset_max_memory_allocated": "reset_peak_memory_stats"}.get(name, name)
    if name not in NAMES or patterns.is_guarded(finding):
        return None
    call = source.at(finding, ast.Call)
    node: ast.expr | None = call.func if call is not None else source.at(finding, ast.Attribute)
    if node is None or not isinstance(node, ast.Attribute | ast.Name):
        return None
    if call is None and _is_for_cuda(source, node):
        return Left(
            finding,
            "needs-a-person",
            "it is the entry for CUDA in a table of devices",
            ('an entry for "neuron" beside it',),
        )
    if call is not None and (len(call.args) + len(call.keywords) > 1 or patterns.has_star(call)):
        return Left(finding, "unclear", "its arguments are not written out")
    return Change(
        finding, "device-api", FixSafety.SAFE, TITLE, (patterns.replace(source, node, seam(name)),)
    )


def _is_for_cuda(source: Source, node: ast.expr) -> bool:
    """Whether a function is what a dict has under ``"cuda"``: ``{"cuda": torch.cuda.empty_cache}``."""
    parent = source.parent(node)
    return isinstance(parent, ast.Dict) and any(
        value is node and isinstance(key, ast.Constant) and key.value == "cuda"
        for key, value in zip(parent.keys, parent.values, strict=True)
    )


def _bf16(finding: Finding, source: Source) -> Any:
    call = source.at(finding, ast.Call)
    if call is None or call.args or call.keywords:
        return None
    new = f"{seam('is_bf16_supported')}()"
    parent = source.parent(call)
    if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And):
        i = parent.values.index(call)
        if i and patterns.is_available(source, parent.values[i - 1]):
            start, _ = source.span(parent.values[i - 1])
            _, end = source.span(call)
            between = source.text[source.span(parent.values[i - 1])[1] : source.span(call)[0]]
            if between.split() == ["and"]:
                return _change(finding, (Edit(start, end, new),))
    if patterns.is_guarded(finding):
        return None
    return _change(finding, (patterns.replace(source, call, new),))


def _change(finding: Finding, edits: tuple[Edit, ...]) -> Change:
    return Change(finding, "device-api", FixSafety.SAFE, TITLE, edits)


def _current(finding: Finding, source: Source) -> Any:
    """``torch.cuda.current_device()`` where a device is wanted."""
    call = source.at(finding, ast.Call)
    ways = (
        "get_device() of the project's seam where a device is wanted",
        "torch.get_device_module(device).current_device() where the number is wanted",
    )
    if call is None or patterns.is_guarded(finding):
        return None
    parent = source.parent(call)
    wanted = isinstance(parent, ast.keyword) and parent.arg in _DEVICE_WORDS
    if isinstance(parent, ast.Call) and parent.args[:1] == [call]:
        func = parent.func
        wanted = isinstance(func, ast.Attribute) and func.attr == "to"
    if not wanted or call.args or call.keywords or finding.confidence is Confidence.POSSIBLE:
        return Left(finding, "needs-a-person", "a number or a device may be wanted", ways)
    return _change(finding, (patterns.replace(source, call, patterns.get_device()),))


def _count(finding: Finding, source: Source) -> Any:
    call = source.at(finding, ast.Call)
    if call is None or patterns.is_guarded(finding):
        return None
    parent = source.parent(call)
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mod) and parent.right is call:
        return _change(finding, (patterns.replace(source, call.func, seam("device_count")),))
    return Left(
        finding,
        "needs-a-person",
        "a Neuron process counts its own cores, so a count above one does not call for DataParallel",
        (
            "one process per core under torchrun: LOCAL_WORLD_SIZE",
            "device_count() of torch.get_device_module(device)",
        ),
    )
