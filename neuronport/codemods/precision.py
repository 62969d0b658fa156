"""Autocast and gradient scalers spelled for CUDA to the device that is there.

``torch.cuda.amp.autocast(…)`` is documented to be ``torch.autocast("cuda", …)``; without CUDA it
switches itself off, so ``enabled`` says so for the CPU, which would otherwise begin to compute in
half precision. The dtype is written: Neuron's default is float16. A scaler is for float16 on CUDA;
elsewhere it is off, as it was. float16 becomes bfloat16 on Neuron only, together with the scaler,
and under review: results differ there from what float16 would give.
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import TORCH, Change, Edit, Left, seam
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "Mixed precision of the device that is there"
_ADVICE = (
    "bfloat16 needs no loss scaling: torch.autocast(device.type, dtype=torch.bfloat16), "
    "loss.backward(), optimizer.step(), and the scaler's lines removed together"
)
_OLD = frozenset(["torch.cuda.amp.autocast", "torch.cuda.amp.autocast_mode.autocast"])
_NEW = frozenset(["torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast"])


_AUTOCAST_RULES = frozenset(["api/torch.cuda.amp.autocast", "api/torch.amp.autocast:cuda"])


def fix(finding: Finding, source: Source, project: Project) -> Any:
    if patterns.is_guarded(finding):
        return None
    call = source.at(finding, ast.Call)
    if finding.rule in ("float16-autocast", "autocast-without-dtype"):
        return _dtype(finding, source, call)
    if finding.rule.removesuffix("-off").removesuffix(":off") in _AUTOCAST_RULES:
        if call is None:
            return _decorator(finding, source)
        return _autocast(finding, source, call)
    if call is None:
        return None
    return _scaler(finding, source, call)


def _not_cpu() -> str:
    return f'{patterns.device_name()} != "cpu"'


def _decorator(finding: Finding, source: Source) -> Any:
    """``@autocast`` without a call."""
    return Left(
        finding,
        "needs-a-person",
        "handed on or used without a call",
        ("torch.autocast(device.type, dtype=…, enabled=device.type != 'cpu')",),
    )


def _autocast(finding: Finding, source: Source, call: ast.Call) -> Any:
    called = source.called(call)
    if patterns.has_star(call):
        return Left(finding, "unclear", "its arguments are not written out")
    positional: tuple[str, ...]
    if called in _OLD:
        positional = ("enabled", "dtype", "cache_enabled")
    elif called in _NEW:
        positional = ("device_type", "dtype", "enabled", "cache_enabled")
    else:
        return Left(finding, "unclear", f"called through {called or 'something not followed'}")
    given: dict[str, ast.expr] = dict(zip(positional, call.args, strict=False))
    given.update({k.arg: k.value for k in call.keywords if k.arg})
    device = given.get("device_type")
    if device is not None and patterns.cuda_text(source, device) is None:
        return Left(
            finding,
            "done" if "device" in source.text_of(device) else "needs-a-person",
            "the device comes from elsewhere; it has to be right there",
            ("device.type of the device in use", _ADVICE),
        )
    dtype = given.get("dtype")
    enabled = given.get("enabled")
    off = isinstance(enabled, ast.Constant) and enabled.value is False
    safety, note = FixSafety.SAFE, ""
    spelled = source.text_of(dtype) if dtype is not None else ""
    if not off and (dtype is None or source.dotted(dtype) in ("torch.float16", "torch.half")):
        spelled = f"{seam('half_dtype')}()"
        safety, note = FixSafety.REVIEW, _ADVICE
    on = _not_cpu()
    if enabled is not None and not isinstance(enabled, ast.Constant):
        on = f"{patterns.operand(source, enabled)} and {on}"
    if device is None:
        parts = [patterns.device_name()]
        parts += [f"dtype={spelled}"] if spelled else []
        parts.append("enabled=False" if off else f"enabled={on}")
        if "cache_enabled" in given:
            parts.append(f"cache_enabled={source.text_of(given['cache_enabled'])}")
        new = f"{TORCH}.autocast({', '.join(parts)})"
        edits = [patterns.replace(source, call, new)]
    else:
        edits = [patterns.replace(source, device, patterns.device_name())]
        added = ""
        if dtype is None and spelled:
            added += f", dtype={spelled}"
        elif dtype is not None and spelled != source.text_of(dtype):
            edits.append(patterns.replace(source, dtype, spelled))
        if enabled is None:
            added += f", enabled={on}"
        elif not off:
            edits.append(patterns.replace(source, enabled, on))
        if added:
            last = patterns.last_argument(source, call, "")
            edits.append(Edit(last.start, last.end, added))
    return Change(finding, "precision", safety, TITLE, _merged(edits), note=note)


def _merged(edits: list[Edit]) -> tuple[Edit, ...]:
    """An insertion behind what is replaced becomes part of the replacement."""
    result: list[Edit] = []
    for edit in sorted(edits):
        if result and edit.start == edit.end == result[-1].end:
            last = result.pop()
            edit = Edit(last.start, last.end, last.text + edit.text)
        result.append(edit)
    return tuple(result)


def _dtype(finding: Finding, source: Source, call: ast.Call | None) -> Any:
    """The dtype alone, where the device is right already."""
    if call is None or patterns.has_star(call):
        return Left(finding, "unclear", "its arguments are not written out", (_ADVICE,))
    if source.called(call) not in _NEW:
        return None
    words = {k.arg: k.value for k in call.keywords if k.arg}
    device = words.get("device_type") or (call.args[0] if call.args else None)
    if device is None or patterns.cuda_text(source, device) is not None:
        return None
    dtype = words.get("dtype") or (call.args[1] if len(call.args) > 1 else None)
    if dtype is not None and source.dotted(dtype) in ("torch.float16", "torch.half"):
        edit = patterns.replace(source, dtype, f"{seam('half_dtype')}()")
    elif dtype is None and len(call.args) < 2:
        spelled = f'{TORCH}.bfloat16 if {patterns.device_name()} == "neuron" else None'
        edit = patterns.after(source, device, f", dtype={spelled}")
    else:
        return Left(finding, "needs-a-person", "the dtype is chosen elsewhere", (_ADVICE,))
    return Change(finding, "precision", FixSafety.REVIEW, TITLE, (edit,), note=_ADVICE)


def _scaler(finding: Finding, source: Source, call: ast.Call) -> Any:
    called = source.called(call)
    if patterns.has_star(call):
        return Left(finding, "unclear", "its arguments are not written out", (_ADVICE,))
    old = called.startswith("torch.cuda.amp.")
    edits: list[Edit] = []
    names = ["init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled"]
    if not old:
        names = ["device", *names]
    enabled = patterns.keyword(call, "enabled")
    value = enabled.value if enabled is not None else None
    if value is None and len(call.args) >= len(names):
        value = call.args[len(names) - 1]
    if value is not None and _asks_for_cuda(value):
        return Left(finding, "done", "on for CUDA only", (_ADVICE,))
    if isinstance(value, ast.Constant) and value.value is False:
        return Left(finding, "done", "switched off", ())
    on = f'{patterns.device_name()} == "cuda"'
    # The class stays: torch.amp.GradScaler is the same since PyTorch 2.3 and not there before, and
    # with no device given it is CUDA's.
    if value is None:
        edits.append(patterns.last_argument(source, call, f"enabled={on}"))
    elif isinstance(value, ast.Constant):
        edits.append(patterns.replace(source, value, on))
    else:
        a, b = ("(", ")") if patterns.binds_loosely(value) else ("", "")
        edits.append(patterns.before(source, value, f"{on} and {a}"))
        if b:
            edits.append(patterns.after(source, value, b))
    return Change(
        finding,
        "precision",
        FixSafety.SAFE,
        "a gradient scaler for CUDA only",
        tuple(edits),
        note=_ADVICE,
    )


def _asks_for_cuda(value: ast.expr) -> bool:
    """Whether a condition holds on CUDA only: ``device.type == "cuda" and …``."""
    parts = (
        value.values if isinstance(value, ast.BoolOp) and isinstance(value.op, ast.And) else [value]
    )
    return any(
        isinstance(part, ast.Compare)
        and len(part.ops) == 1
        and isinstance(part.ops[0], ast.Eq)
        and any(
            isinstance(side, ast.Constant) and side.value == "cuda"
            for side in (part.left, *part.comparators)
        )
        for part in parts
    )
