"""Arguments of frameworks that mean CUDA: chosen by device, the CUDA way kept.

transformers, accelerate, TRL, diffusers, Lightning, sentence-transformers and timm take words such
as ``attn_implementation="flash_attention_2"``, ``fp16=True``, ``optim="paged_adamw_8bit"`` or
``device_map="auto"``. Each becomes a choice: what was written where it worked, what Neuron has on
Neuron. CUDA sees no change; on the CPU only what raised is different. Under review: what makes
Neuron compute with another precision, optimizer or memory than the author chose.

By hand: what asks for another way of working (DeepSpeed, quantized checkpoints, a Lightning
accelerator for Neuron).
"""

from __future__ import annotations

import ast
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Edit, Left, seam
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "The framework's argument by device"
_SAFE, _REVIEW = FixSafety.SAFE, FixSafety.REVIEW


class Argument(NamedTuple):
    """What becomes of an argument; ``{old}`` is what is written, ``{device}`` the device's name."""

    name: str
    new: str
    safety: FixSafety = _SAFE
    note: str = ""
    with_: str = ""
    """Another argument that goes with it; not written where it is given."""
    its: str = ""
    places: bool = False
    """Whether the model has to be moved afterwards."""
    added: bool = False
    """Whether the argument is not there yet."""


_NOT_NEURON = '{old} if {device} != "neuron" else '
_IS_NEURON = '{device} == "neuron"'
_BF16 = "bfloat16 on Neuron, where float16 and a scaler were meant for CUDA"
_DENSE = "on Neuron the weights are not quantized: two to four times the memory"

_ARGUMENTS: dict[str, Argument] = {
    "*:attention": Argument("attn_implementation", '{old} if {device} == "cuda" else "sdpa"'),
    "*:use_flash_attention_2": Argument("use_flash_attention_2", '{device} == "cuda"'),
    "*.set_attn_implementation": Argument(
        "attn_implementation", '{old} if {device} == "cuda" else "sdpa"'
    ),
    "*:device_map": Argument(
        "device_map",
        _NOT_NEURON + "None",
        _REVIEW,
        "one core holds the whole model; what does not fit needs tensor parallelism",
        places=True,
    ),
    "*:load_in_[48]bit": Argument("load_in_*", '{device} != "neuron"', _REVIEW, _DENSE),
    "*accelerate.Accelerator:fp[18]*": Argument(
        "mixed_precision", _NOT_NEURON + '"bf16"', _REVIEW, _BF16
    ),
    "*accelerate.Accelerator:dynamo": Argument(
        "dynamo_backend",
        _NOT_NEURON + '"no"',
        _SAFE,
        'compile by hand on Neuron: torch.compile(model, backend="neuron")',
    ),
    "*:fp16": Argument("fp16", '{device} != "neuron"', _REVIEW, _BF16, "bf16", _IS_NEURON),
    "*:fp16_full_eval": Argument(
        "fp16_full_eval", '{device} != "neuron"', _REVIEW, _BF16, "bf16_full_eval", _IS_NEURON
    ),
    "*:ddp_backend": Argument("ddp_backend", '{old} if {device} == "cuda" else None'),
    "*:optim-apex": Argument("optim", _NOT_NEURON + '"adamw_torch"'),
    "*:optim-bnb": Argument(
        "optim",
        _NOT_NEURON + '"adamw_torch"',
        _REVIEW,
        "on Neuron the optimizer's state is not quantized: two to four times the memory",
    ),
    "*:tf32": Argument("tf32", 'True if {device} == "cuda" else None'),
    "*:torch_compile": Argument(
        "torch_compile",
        "{old}",
        with_="torch_compile_backend",
        its='"neuron" if {device} == "neuron" else None',
    ),
    "*:torch_compile_backend": Argument("torch_compile_backend", _NOT_NEURON + '"neuron"'),
    "*:use_liger_kernel": Argument("use_liger_kernel", '{device} != "neuron"'),
    "*:half_precision_backend": Argument("half_precision_backend", _NOT_NEURON + '"auto"'),
    "*:auto_find_batch_size": Argument(
        "auto_find_batch_size",
        '{device} != "neuron"',
        _SAFE,
        "on Neuron the batch size given is taken; each other one would be a compile",
    ),
    "*:group_by_length": Argument(
        "group_by_length",
        '{device} != "neuron"',
        _REVIEW,
        "and pad to a few fixed lengths, or every batch is another graph",
    ),
    "*Trainer:precision": Argument("precision", _NOT_NEURON + '"bf16-mixed"', _REVIEW, _BF16),
    "*Fabric:precision": Argument("precision", _NOT_NEURON + '"bf16-mixed"', _REVIEW, _BF16),
    "*.DDPStrategy:nccl": Argument("process_group_backend", f"{seam('distributed_backend')}()"),
    "*transformers.pipeline:index": Argument("device", f"{seam('get_device')}({{old}})"),
    "sentence_transformers.*:auto": Argument(
        "device", '"neuron" if {device} == "neuron" else None', added=True
    ),
    "timm.data.*:device": Argument("device", f"{seam('get_device')}()", added=True),
}
"""By the end of a rule's name; the first that fits."""
_WHOLE = ("*.BitsAndBytesConfig",)
"""Configurations that are not made at all on Neuron."""
_STATEMENTS = ("*.enable_xformers_memory_efficient_attention",)
"""Calls that stand alone and are skipped on Neuron."""
_BY_HAND: dict[str, tuple[str, ...]] = {
    "*:deepspeed": (
        'fsdp="full_shard auto_wrap" with fsdp_config',
        "FSDP2 (fully_shard) in a loop of your own",
        "DDP where the model fits one core",
    ),
    "*:use_cpu": ("leave it out: the accelerator is taken", "keep it where the CPU is meant"),
    "*:no_cuda": ("leave it out: the accelerator is taken", "keep it where the CPU is meant"),
    "*:cpu": ("leave it out: the accelerator is taken", "keep it where the CPU is meant"),
    "*:gpu": (
        'an Accelerator subclass for Neuron, registered as accelerator="neuron", devices= cores',
        "the training loop in plain PyTorch with torchrun, as Fabric or without",
        'the CUDA accelerator kept where there is CUDA: accelerator="gpu" if device_name() == '
        '"cuda" else the subclass',
    ),
    "*:auto": (
        "an Accelerator subclass for Neuron passed as accelerator=, with devices= cores",
        "the training loop in plain PyTorch with torchrun",
    ),
    "*:default": (
        "an Accelerator subclass for Neuron passed as accelerator=, with devices= cores",
        "the training loop in plain PyTorch with torchrun",
    ),
    "*:gpus": (
        "an Accelerator subclass for Neuron passed as accelerator=, with devices= cores",
        "the training loop in plain PyTorch with torchrun",
    ),
    "*:ddp": (
        "DDPStrategy(process_group_backend=distributed_backend())",
        "the process group started before the Trainer",
    ),
}


def fix(finding: Finding, source: Source, project: Project) -> Any:
    if patterns.is_skipped(finding):
        return None
    rule = finding.rule.removeprefix("api/")
    call = source.at(finding, ast.Call)
    for pattern, ways in _BY_HAND.items():
        if fnmatchcase(rule, pattern) and not rule.startswith("sentence_transformers"):
            return Left(finding, "by-hand", "another way of working is asked for", ways)
    if call is None or any(k.arg is None for k in call.keywords):
        return Left(finding, "unclear", "its arguments are not written out", _ways(finding))
    if any(fnmatchcase(rule, p) for p in _WHOLE):
        return _whole(finding, source, call)
    if any(fnmatchcase(rule, p) for p in _STATEMENTS):
        return _statement(finding, source, call)
    if rule.endswith((":cuda", ":device_map-cuda")):
        return _named(finding, source, project, call)
    for pattern, argument in _ARGUMENTS.items():
        if fnmatchcase(rule, pattern):
            return _argument(finding, source, project, call, argument)
    return None


def _argument(
    finding: Finding, source: Source, project: Project, call: ast.Call, how: Argument
) -> Any:
    device = patterns.device_name()
    safety, note = patterns.when_asked(source, project, call)
    if how.safety is _REVIEW:
        safety = _REVIEW
    note = "; ".join(n for n in (how.note, note) if n)
    word = next((k for k in call.keywords if fnmatchcase(k.arg or "", how.name)), None)
    if how.added:
        if word is not None:
            return Left(finding, "unclear", "the argument is given", _ways(finding))
        new = f"{how.name}={how.new.format(device=device)}"
        edit = patterns.last_argument(source, call, new)
        return Change(finding, "framework-arguments", safety, TITLE, (edit,), note=note)
    value = word.value if word is not None else _only(call)
    if value is None:
        return Left(finding, "unclear", "the argument is not written here", _ways(finding))
    if not isinstance(value, ast.Constant):
        reason = "done" if "device" in source.text_of(value) else "needs-a-person"
        return Left(finding, reason, "the argument is chosen elsewhere", _ways(finding))
    old = source.text_of(value)
    text = how.new.format(old=old, device=device)
    edits: list[Edit] = []
    if how.with_:
        other = patterns.keyword(call, how.with_)
        its = how.its.format(device=device)
        if other is None:
            text += f", {how.with_}={its}"
        elif isinstance(other.value, ast.Constant) and not other.value.value:
            edits.append(patterns.replace(source, other.value, its))
        else:
            return Left(finding, "needs-a-person", f"{how.with_} is given too", _ways(finding))
    if text != old:
        edits.append(patterns.replace(source, value, text))
    if how.places:
        if patterns.keyword(call, "output_loading_info") is not None:
            return Left(finding, "needs-a-person", "more than the model comes back", _ways(finding))
        edits.append(patterns.before(source, call, f"{seam('on_neuron')}("))
        edits.append(patterns.after(source, call, ")"))
    return Change(finding, "framework-arguments", safety, TITLE, tuple(edits), note=note)


def _named(finding: Finding, source: Source, project: Project, call: ast.Call) -> Any:
    """``device="cuda"``: what ``device-seam`` writes for the text itself."""
    for word in call.keywords:
        text = patterns.cuda_text(source, word.value)
        if text is not None and word.arg in ("device", "device_map"):
            safety, note = patterns.when_asked(source, project, call)
            edit = patterns.replace(source, text.node, patterns.device_name(text.number))
            return Change(finding, "framework-arguments", safety, TITLE, (edit,), note=note)
    return Left(finding, "needs-a-person", "the device is chosen elsewhere", _ways(finding))


def _only(call: ast.Call) -> ast.expr | None:
    return call.args[0] if len(call.args) == 1 and not call.keywords else None


def _whole(finding: Finding, source: Source, call: ast.Call) -> Any:
    """A configuration that is None on Neuron: the model is loaded without it."""
    parent = source.parent(call)
    bare = isinstance(parent, ast.Assign | ast.AnnAssign | ast.keyword | ast.Return)
    chosen = f' if {patterns.device_name()} != "neuron" else None'
    edits = [patterns.after(source, call, chosen if bare else f"{chosen})")]
    if not bare:
        if not isinstance(parent, ast.Call) or call is parent.func:
            return Left(finding, "unclear", "what is done with it is not followed", _ways(finding))
        edits.append(patterns.before(source, call, "("))
    if isinstance(parent, ast.IfExp):
        return Left(finding, "done", "chosen by a condition already", _ways(finding))
    return Change(
        finding,
        "framework-arguments",
        _REVIEW,
        "no quantization on Neuron",
        tuple(edits),
        covers=(source.span(call),),
        note=_DENSE,
    )


def _statement(finding: Finding, source: Source, call: ast.Call) -> Any:
    """A switch that stands alone: pulled where there is CUDA."""
    stmt = source.parent(call)
    if not isinstance(stmt, ast.Expr) or not _alone(source, stmt):
        return Left(finding, "unclear", "it does not stand alone", _ways(finding))
    if any(
        isinstance(n, ast.If) and any(patterns.is_seam(source, t) for t in ast.walk(n.test))
        for n in source.above(stmt)
    ):
        return Left(finding, "done", "asked for by device already", ())
    start, _ = source.span(stmt)
    indent = source.text[source.line_start(stmt.lineno) : start]
    step = "\t" if "\t" in indent else "    "
    head = f'if {patterns.device_name()} == "cuda":{source.newline}{indent}{step}'
    return Change(
        finding,
        "framework-arguments",
        _SAFE,
        "only where there is CUDA",
        (Edit(start, start, head),),
    )


def _alone(source: Source, stmt: ast.stmt) -> bool:
    start, end = source.span(stmt)
    line = source.line_start(stmt.lineno)
    after = source.text[end : source.line_start((stmt.end_lineno or 0) + 1)].strip()
    return (
        not source.text[line:start].strip()
        and stmt.lineno == stmt.end_lineno
        and (not after or after.startswith("#"))
    )


def _ways(finding: Finding) -> tuple[str, ...]:
    return tuple(dict.fromkeys(t.replacement for t in finding.by_target.values() if t.replacement))
