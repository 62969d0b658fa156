"""Process groups, the device of a process and DistributedDataParallel's ``device_ids`` by device.

With CUDA the backend stays ``nccl`` and each process its GPU. On Neuron the backend is ``neuron``
and a process has one core, chosen from LOCAL_RANK before any tensor is placed. ``device_ids`` is for
CUDA: the module already lies where it belongs.
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Edit, Left, seam
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Confidence, Finding, FixSafety, Verdict

TITLE = "Choose the process group by device"


def fix(finding: Finding, source: Source, project: Project) -> Any:
    rule = finding.rule
    if rule == "api/torch.cuda.set_device":
        return _set_device(finding, source)
    if rule == "ddp-device-ids":
        return _device_ids(finding, source)
    if rule == "nccl-backend-name":
        return _name(finding, source, project)
    if rule == "api/torch.distributed.init_process_group:nccl":
        return _backend(finding, source, project)
    return None


def _set_device(finding: Finding, source: Source) -> Any:
    call = source.at(finding, ast.Call)
    if call is None or patterns.is_guarded(finding):
        return None
    return Change(
        finding,
        "distributed",
        FixSafety.SAFE,
        "choose the process's CUDA device where there is CUDA",
        (patterns.replace(source, call.func, seam("set_device")),),
    )


def _is_nccl(node: ast.AST | None) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.lower() == "nccl"
    )


def _backend(finding: Finding, source: Source, project: Project) -> Any:
    call = source.at(finding, ast.Call)
    if call is None or patterns.is_guarded(finding):
        return None
    word = patterns.keyword(call, "backend")
    given = word.value if word is not None else call.args[0] if call.args else None
    new = f"{seam('distributed_backend')}()"
    if _is_nccl(given):
        assert given is not None
        edits = [patterns.replace(source, given, new)]
        bound = patterns.keyword(call, "device_id")
        if bound is not None and isinstance(bound.value, ast.Name | ast.Attribute | ast.Call):
            # A device with an index is asked for, which only CUDA's has.
            only = f' if {patterns.device_name()} == "cuda" else None'
            edits.append(patterns.after(source, bound.value, only))
        return _change(finding, tuple(edits))
    # The name comes from elsewhere: the last step the audit followed is where it is written.
    places = []
    for origin, node in _origins(finding, source, project, given):
        places.append((origin, node))
    if len(places) != 1:
        return Left(
            finding,
            "needs-a-person",
            "where the backend's name is written is not clear",
            ("distributed_backend() of the project's seam as the default",),
        )
    origin, node = places[0]
    safety, _ = patterns.when_asked(origin, project, node)
    return Change(
        finding,
        "distributed",
        safety,
        TITLE,
        (patterns.replace(origin, node, new),),
        path=origin.path,
        note=f"the backend that {finding.location.path}:{finding.location.line} uses",
    )


def _name(finding: Finding, source: Source, project: Project) -> Any:
    """``"nccl"`` kept somewhere for later."""
    new = f"{seam('distributed_backend')}()"
    choice = source.at(finding, ast.IfExp)
    if choice is not None:
        plain = _is_nccl(choice.body) and _is_gloo(choice.orelse)
        if plain and patterns.is_available(source, choice.test):
            return _change(finding, (patterns.replace(source, choice, new),))
        return Left(finding, "needs-a-person", "the choice rests on more than CUDA", _WAYS)
    node = source.at(finding, ast.Constant)
    parent = source.parent(node) if node is not None else None
    if node is None or not _is_nccl(node) or finding.verdict is Verdict.LOCKS_IN:
        return Left(finding, "needs-a-person", "what is done with the name is not followed", _WAYS)
    if isinstance(parent, ast.Assign | ast.AnnAssign | ast.arguments) or (
        isinstance(parent, ast.keyword) and parent.arg in ("backend", "default", "dist_backend")
    ):
        if finding.confidence is Confidence.POSSIBLE:
            return Left(finding, "unclear", "it is not certain that a backend is meant", _WAYS)
        safety, note = patterns.when_asked(source, project, node)
        edit = patterns.replace(source, node, new)
        return Change(finding, "distributed", safety, TITLE, (edit,), note=note)
    return Left(finding, "needs-a-person", "what is done with the name is not followed", _WAYS)


_WAYS = ("distributed_backend() of the project's seam",)


def _is_gloo(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == "gloo"


def _origins(
    finding: Finding, source: Source, project: Project, given: ast.expr | None
) -> list[tuple[Source, ast.Constant]]:
    """Where ``"nccl"`` is written that comes to the call: an assignment or a default."""
    name = ""
    if isinstance(given, ast.Name):
        name = given.id
    elif isinstance(given, ast.Attribute):
        name = given.attr
    if not name:
        return []
    found: list[tuple[Source, ast.Constant]] = []
    for path in project.python:
        other = source if path == source.path else None
        if other is None:
            if isinstance(given, ast.Name) or path not in project.findings:
                continue
            other = project.source(path)
        if other is None or "nccl" not in other.text.lower() or not project.rewritable(path):
            continue
        for node in other.each(ast.Constant):
            if _is_nccl(node) and _gives(other, node, name):
                assert isinstance(node, ast.Constant)
                found.append((other, node))
    return found


def _gives(source: Source, node: ast.AST, name: str) -> bool:
    """Whether a text is what a variable, a field or an option of this name is given."""
    parent = source.parent(node)
    if isinstance(parent, ast.Assign) and parent.value is node:
        return any(_last(t) == name for t in parent.targets)
    if isinstance(parent, ast.AnnAssign) and parent.value is node:
        return _last(parent.target) == name
    if isinstance(parent, ast.keyword) and parent.arg == "default":
        call = source.parent(parent)
        if isinstance(call, ast.Call):
            options = [
                a.value.lstrip("-").replace("-", "_")
                for a in call.args
                if isinstance(a, ast.Constant) and isinstance(a.value, str)
            ]
            dest = patterns.keyword(call, "dest")
            if dest is not None and isinstance(dest.value, ast.Constant):
                options = [str(dest.value.value)]
            return name in options
    return False


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _change(finding: Finding, edits: tuple[Edit, ...]) -> Change:
    return Change(finding, "distributed", FixSafety.SAFE, TITLE, edits)


def _assigned(source: Source, name: ast.Name) -> ast.expr:
    """The condition that a variable is chosen by, where nothing else in the file sets it; else the
    variable."""
    stored = [
        n
        for n in source.nodes
        if isinstance(n, ast.Name) and n.id == name.id and isinstance(n.ctx, ast.Store)
    ]
    if len(stored) == 1:
        parent = source.parent(stored[0])
        if (
            isinstance(parent, ast.Assign)
            and parent.targets == stored
            and isinstance(parent.value, ast.IfExp)
        ):
            return parent.value
    return name


def _device_ids(finding: Finding, source: Source) -> Any:
    call = source.at(finding, ast.Call)
    if call is None:
        return None
    if patterns.is_guarded(finding):
        return None
    edits = []
    for i, name in ((1, "device_ids"), (2, "output_device")):
        word = patterns.keyword(call, name)
        value = word.value if word is not None else call.args[i] if len(call.args) > i else None
        if value is None or (isinstance(value, ast.Constant) and value.value is None):
            continue
        if isinstance(value, ast.Name):
            value = _assigned(source, value)
        if not isinstance(value, ast.List | ast.Name | ast.Attribute | ast.Subscript | ast.Call):
            # Already conditional: somebody has thought about it.
            return Left(
                finding,
                "cuda-only",
                "device_ids is chosen by a condition already",
                ("move the module first and leave device_ids out",),
            )
        if isinstance(value, ast.Name | ast.Attribute) and name == "device_ids":
            return Left(
                finding,
                "needs-a-person",
                "what device_ids is outside of CUDA is not followed",
                ("None for every device that is not CUDA; the module is moved first",),
            )
        edits.append(
            patterns.after(source, value, f' if {patterns.device_name()} == "cuda" else None')
        )
    if not edits:
        return None
    return _change(finding, tuple(edits))
