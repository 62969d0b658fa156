"""Optimizers with CUDA kernels: bitsandbytes' and PyTorch's fused ones, kept where they work.

``fused=True`` becomes a choice: on Neuron the default (``None``) is taken, which is the same
computation by ordinary operators. bitsandbytes' classes stay where they were and are PyTorch's own on
Neuron, with the same arguments; under review, since the state is not quantized there.
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import TORCH, Change, Left
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "An optimizer by ordinary operators on Neuron"
_ADAM = ("lr", "betas", "eps", "weight_decay", "amsgrad")
_SAME: dict[str, tuple[str, tuple[str, ...]]] = {
    "AdamW": ("AdamW", _ADAM),
    "Adam": ("Adam", _ADAM),
    "Adagrad": ("Adagrad", ("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps")),
    "RMSprop": ("RMSprop", ("lr", "alpha", "eps", "weight_decay", "momentum", "centered")),
    "SGD": ("SGD", ("lr", "momentum", "dampening", "weight_decay", "nesterov")),
}
"""bitsandbytes' optimizers by their plain names: torch.optim's and the arguments both have, in the
order both have, with the same defaults."""
_MEMORY = "on Neuron the optimizer's state is not quantized: two to four times the memory"
_OTHERS = (
    "torch.optim.AdamW on Neuron, with its learning rate found anew",
    "the optimizer written in plain PyTorch",
    "the state sharded over cores (fully_shard, ZeroRedundancyOptimizer)",
)


def fix(finding: Finding, source: Source, project: Project) -> Any:
    if patterns.is_skipped(finding) or finding.rule.endswith("#import"):
        return None
    if finding.rule.endswith(":fused"):
        return _fused(finding, source)
    name = finding.rule.rpartition(".")[2]
    plain = name.removeprefix("Paged").removesuffix("8bit").removesuffix("32bit")
    same = _SAME.get(plain)
    if same is None:
        return Left(finding, "by-hand", "PyTorch has no such optimizer", _OTHERS)
    return _bitsandbytes(finding, source, *same)


def _fused(finding: Finding, source: Source) -> Any:
    call = source.at(finding, ast.Call)
    word = patterns.keyword(call, "fused") if call is not None else None
    ways = ("leave fused out on Neuron",)
    if word is None or not isinstance(word.value, ast.Constant):
        return Left(finding, "needs-a-person", "the choice is made elsewhere", ways)
    text = f'True if {patterns.device_name()} != "neuron" else None'
    edit = patterns.replace(source, word.value, text)
    return Change(finding, "optimizers", FixSafety.SAFE, TITLE, (edit,))


def _bitsandbytes(finding: Finding, source: Source, to: str, words: tuple[str, ...]) -> Any:
    choice = f' if {patterns.device_name()} != "neuron" else {TORCH}.optim.{to}'
    call = source.at(finding, ast.Call)
    if call is None:
        node = source.at(finding, ast.Attribute) or source.at(finding, ast.Name)
        parent = source.parent(node) if node is not None else None
        if node is None or not isinstance(parent, ast.Assign | ast.Return) or parent.value != node:
            if isinstance(parent, ast.IfExp):
                return Left(finding, "done", "chosen by a condition already", _OTHERS)
            return Left(finding, "unclear", "handed on, not called", _OTHERS)
        edits = [patterns.after(source, node, choice)]
    else:
        if patterns.has_star(call):
            return Left(finding, "unclear", "its arguments are not written out", _OTHERS)
        if (
            any(k.arg not in (*words, "params") for k in call.keywords if k.arg)
            or len(call.args) > len(words) + 1
        ):
            return Left(finding, "by-hand", "an argument that PyTorch's has not", _OTHERS)
        if isinstance(call.func, ast.IfExp):
            return Left(finding, "done", "chosen by a condition already", _OTHERS)
        edits = [
            patterns.before(source, call.func, "("),
            patterns.after(source, call.func, f"{choice})"),
        ]
    return Change(finding, "optimizers", FixSafety.REVIEW, TITLE, tuple(edits), note=_MEMORY)
