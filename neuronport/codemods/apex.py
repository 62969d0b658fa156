"""NVIDIA Apex: its optimizers, norms and parallel wrappers to PyTorch's own.

Written where PyTorch has the same computation: arguments that only steer kernels go, defaults that
differ are spelled out (``FusedAdam`` decays decoupled and by nothing, ``FusedRMSNorm`` has an epsilon
of 1e-5). Under review: PyTorch's kernels round differently from Apex's.

By hand: ``apex.amp`` (its three calls are one decision), LAMB and NovoGrad (PyTorch has none), what
keeps half-precision master copies.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, NamedTuple

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import TORCH, Change, Left
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "What Apex does, by PyTorch"


class Counterpart(NamedTuple):
    """What PyTorch has for a callable of Apex."""

    new: str
    """Its dotted name below ``torch``."""
    order: tuple[str, ...]
    """Apex's arguments by position."""
    keeps: tuple[str, ...]
    """Those PyTorch has under the same name, in PyTorch's order by position."""
    defaults: Mapping[str, str] = {}
    """Apex's defaults that are not PyTorch's."""
    ignores: Mapping[str, tuple[Any, ...]] = {}
    """Arguments that go, and the values they may have; ``()``: any."""


_ADAM_WORDS: dict[str, tuple[Any, ...]] = {
    "bias_correction": (True,),
    "set_grad_none": (),
    "capturable": (False,),
    "master_weights": (False,),
    "adam_w_mode": (),
}
_ADAM = (
    "params",
    "lr",
    "bias_correction",
    "betas",
    "eps",
    "adam_w_mode",
    "weight_decay",
    "amsgrad",
    "set_grad_none",
    "capturable",
    "master_weights",
)
_NORM = ("normalized_shape", "eps", "elementwise_affine")
_LAYER_NORM = Counterpart(
    "nn.LayerNorm", (*_NORM, "memory_efficient"), _NORM, ignores={"memory_efficient": ()}
)
_RMS_NORM = _LAYER_NORM._replace(new="nn.RMSNorm", defaults={"eps": "1e-5"})
_COUNTERPARTS: dict[str, Counterpart] = {
    "optimizers.FusedAdam": Counterpart(
        "optim.AdamW",
        _ADAM,
        ("params", "lr", "betas", "eps", "weight_decay", "amsgrad"),
        {"weight_decay": "0.0"},
        _ADAM_WORDS,
    ),
    "optimizers.FusedSGD": Counterpart(
        "optim.SGD",
        ("params", "lr", "momentum", "dampening", "weight_decay", "nesterov"),
        ("params", "lr", "momentum", "dampening", "weight_decay", "nesterov"),
        ignores={
            "wd_after_momentum": (False,),
            "materialize_master_grads": (),
            "set_grad_none": (),
        },
    ),
    "optimizers.FusedAdagrad": Counterpart(
        "optim.Adagrad",
        ("params", "lr", "eps", "weight_decay", "set_grad_none", "adagrad_w_mode"),
        ("params", "lr"),
        ignores={"set_grad_none": (), "adagrad_w_mode": (False,)},
    ),
    "normalization.FusedLayerNorm": _LAYER_NORM,
    "normalization.fused_layer_norm.FusedLayerNorm": _LAYER_NORM,
    "normalization.FusedRMSNorm": _RMS_NORM,
    "normalization.fused_layer_norm.FusedRMSNorm": _RMS_NORM,
    "contrib.layer_norm.FastLayerNorm": Counterpart(
        "nn.LayerNorm", ("hidden_size", "eps", "memory_efficient"), (), ignores={}
    ),
    "normalization.fused_layer_norm.fused_layer_norm": Counterpart(
        "nn.functional.layer_norm",
        ("input", "normalized_shape", "eps", "memory_efficient"),
        ("input", "normalized_shape"),
        {"eps": "1e-6"},
        {"memory_efficient": ()},
    ),
    "normalization.fused_layer_norm.fused_layer_norm_affine": Counterpart(
        "nn.functional.layer_norm",
        ("input", "weight", "bias", "normalized_shape", "eps", "memory_efficient"),
        ("input", "normalized_shape", "weight", "bias", "eps"),
        {"eps": "1e-6"},
        {"memory_efficient": ()},
    ),
    "normalization.fused_layer_norm.fused_rms_norm": Counterpart(
        "nn.functional.rms_norm",
        ("input", "normalized_shape", "eps", "memory_efficient"),
        ("input", "normalized_shape"),
        {"eps": "1e-6"},
        {"memory_efficient": ()},
    ),
    "normalization.fused_layer_norm.fused_rms_norm_affine": Counterpart(
        "nn.functional.rms_norm",
        ("input", "weight", "normalized_shape", "eps", "memory_efficient"),
        ("input", "normalized_shape", "weight", "eps"),
        {"eps": "1e-6"},
        {"memory_efficient": ()},
    ),
    "parallel.DistributedDataParallel": Counterpart(
        "nn.parallel.DistributedDataParallel",
        ("module",),
        ("module",),
        ignores={"delay_allreduce": (), "message_size": (), "allreduce_always_fp32": ()},
    ),
    "parallel.convert_syncbn_model": Counterpart(
        "nn.SyncBatchNorm.convert_sync_batchnorm",
        ("module", "process_group"),
        ("module", "process_group"),
        ignores={"channel_last": (False,)},
    ),
    "parallel.SyncBatchNorm": Counterpart(
        "nn.SyncBatchNorm",
        ("num_features", "eps", "momentum", "affine", "track_running_stats", "process_group"),
        ("num_features", "eps", "momentum", "affine", "track_running_stats", "process_group"),
        ignores={"channel_last": (False,), "fuse_relu": (False,)},
    ),
    "contrib.clip_grad.clip_grad_norm_": Counterpart(
        "nn.utils.clip_grad_norm_",
        ("parameters", "max_norm", "norm_type", "error_if_nonfinite"),
        ("parameters", "max_norm", "norm_type", "error_if_nonfinite"),
    ),
}
_AMP = (
    "torch.autocast(device.type, dtype=torch.bfloat16) around forward and loss, loss.backward() in "
    "place of the scaled block, model.parameters() in place of master_params, all of them together",
    "torch.amp with a GradScaler on CUDA alone, where float16 has to stay there",
)
_OPTIMIZER = (
    "the optimizer written in plain PyTorch (a step of a few lines over the parameters)",
    "torch.optim.AdamW, with its learning rate found anew",
)


def fix(finding: Finding, source: Source, project: Project) -> Any:
    if patterns.is_skipped(finding) or finding.rule.endswith("#import"):
        return None
    name = finding.rule.removeprefix("api/apex.")
    if name.startswith("amp."):
        return Left(finding, "by-hand", "Apex's mixed precision is one decision", _AMP)
    if name.rpartition(".")[2].lower() in ("fusedlamb", "fusednovograd"):
        return Left(finding, "by-hand", "PyTorch has no such optimizer", _OPTIMIZER)
    to = _COUNTERPARTS.get(name)
    ways = tuple(dict.fromkeys(t.replacement for t in finding.by_target.values() if t.replacement))
    if to is None:
        return None
    call = source.at(finding, ast.Call)
    if call is None:
        return _class(finding, source, to, ways)
    if patterns.has_star(call) or len(call.args) > len(to.order):
        return Left(finding, "unclear", "its arguments are not written out", ways)
    given: dict[str, ast.expr] = dict(zip(to.order, call.args, strict=False))
    given.update({k.arg: k.value for k in call.keywords if k.arg})
    for word, values in to.ignores.items():
        value = given.get(word)
        if value is None or not values:
            continue
        if not isinstance(value, ast.Constant) or value.value not in values:
            return Left(finding, "by-hand", f"PyTorch's has no {word}", ways)
    new = to.new
    if name == "optimizers.FusedAdam" and "adam_w_mode" in given:
        mode = given["adam_w_mode"]
        if not isinstance(mode, ast.Constant):
            return Left(finding, "by-hand", "adam_w_mode is chosen elsewhere", ways)
        new = "optim.AdamW" if mode.value else "optim.Adam"
    parts = _arguments(source, call, to, given)
    if parts is None:
        return Left(finding, "by-hand", "an argument that PyTorch's has not", ways)
    if source.has_comment(*source.span(call)):
        return Left(finding, "comment-inside", "a comment stands between the arguments", ways)
    text = f"{TORCH}.{new}({', '.join(parts)})"
    return Change(
        finding,
        "apex",
        FixSafety.REVIEW,
        TITLE,
        (patterns.replace(source, call, text),),
        note="the same computation, rounded by other kernels",
        drops=frozenset(["apex"]),
    )


def _arguments(
    source: Source, call: ast.Call, to: Counterpart, given: Mapping[str, ast.expr]
) -> list[str] | None:
    """The arguments for PyTorch's, by position as long as they were."""
    words = {**{w: source.text_of(v) for w, v in given.items() if w not in to.ignores}}
    for word, value in to.defaults.items():
        words.setdefault(word, value)
    if to.order[0] == "hidden_size":
        words = {"normalized_shape" if w == "hidden_size" else w: v for w, v in words.items()}
    known = {*to.order, *to.keeps, *to.defaults, "normalized_shape"}
    if set(words) - known:
        return None
    by_position = to.order[: len(call.args)]
    parts: list[str] = []
    ordered = list(to.keeps) or ["normalized_shape", "eps"]
    place = 0
    while place < len(ordered) and ordered[place] in words:
        word = ordered[place]
        if word not in by_position and word != "normalized_shape":
            break
        parts.append(words.pop(word))
        place += 1
    # What was by name stays by name and in its order; what is new stands last.
    rest = [*given, *to.defaults]
    for word in dict.fromkeys("normalized_shape" if w == "hidden_size" else w for w in rest):
        if word in words:
            parts.append(f"{word}={words.pop(word)}")
    return parts


def _class(finding: Finding, source: Source, to: Counterpart, ways: tuple[str, ...]) -> Any:
    """The class itself, handed on: only where every default is the same."""
    node = source.at(finding, ast.Attribute) or source.at(finding, ast.Name)
    if node is None or to.defaults or not isinstance(getattr(node, "ctx", None), ast.Load):
        return Left(finding, "unclear", "handed on, not called", ways)
    return Change(
        finding,
        "apex",
        FixSafety.REVIEW,
        TITLE,
        (patterns.replace(source, node, f"{TORCH}.{to.new}"),),
        note="the same computation, rounded by other kernels",
        drops=frozenset(["apex"]),
    )
