"""Batches of one shape on Neuron: ragged last batches left out, texts padded to few lengths.

CUDA and the CPU keep every batch and every length. ``drop_last`` becomes true on Neuron for loaders
that train; where a tokenizer is given ``max_length``, padding goes up to it on Neuron; collators pad
to a multiple there. Under review: an epoch is up to one batch shorter, and padding costs time.

By hand: loaders that evaluate (each sample counts), lengths nobody has written down.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Left
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.shapes import in_text
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "Batches of one shape on Neuron"
_EVALUATES = re.compile(r"test|eval|(?<![a-z])val(?![a-z])|valid|infer|predict", re.I)
_LAST = (
    "drop_last=True where the loader trains",
    "the last batch padded to the full size, and a weight of zero for what was added",
    "a batch size that divides the number of samples",
)
_PADDING = (
    'padding="max_length", max_length=N and a fixed batch',
    "one graph per bucket: pad_to_multiple_of=N, and every bucket compiled beforehand",
    "samples of like length packed together",
)
_MULTIPLE = 128
"""A partition of the chip's on-chip memory has 128 rows, and few lengths are left."""


def fix(finding: Finding, source: Source, project: Project) -> Any:
    call = source.at(finding, ast.Call)
    ways = _LAST if finding.rule == "ragged-last-batch" else _PADDING
    if patterns.is_skipped(finding):
        return None
    if call is None or in_text(source, call):
        return Left(finding, "unclear", "handed on, not called", ways)
    if any(k.arg is None for k in call.keywords):
        return Left(finding, "unclear", "its arguments are not written out", ways)
    if finding.rule == "ragged-last-batch":
        return _last(finding, source, call)
    return _padding(finding, source, call)


def _last(finding: Finding, source: Source, call: ast.Call) -> Any:
    stmt = source.statement(call)
    names = (
        " ".join(source.text_of(t) for t in stmt.targets) if isinstance(stmt, ast.Assign) else ""
    )
    scope = finding.context.scope.rpartition(".")[2]
    if _EVALUATES.search(names) or (not names and _EVALUATES.search(scope)):
        return Left(finding, "needs-a-person", "a loader that evaluates needs every sample", _LAST)
    edit = patterns.last_argument(source, call, f'drop_last={patterns.device_name()} == "neuron"')
    return Change(
        finding,
        "loaders",
        FixSafety.REVIEW,
        "leave a ragged last batch out on Neuron",
        (edit,),
        note="on Neuron an epoch is up to one batch shorter; no batch at all of fewer samples",
    )


def _padding(finding: Finding, source: Source, call: ast.Call) -> Any:
    word = patterns.keyword(call, "padding")
    if any(n.startswith("torch_neuronx") for n in source.imports.values()):
        return Left(
            finding, "by-hand", "a traced graph takes one shape: the length is yours", _PADDING
        )
    longest = patterns.keyword(call, "max_length")
    neuron = f'{patterns.device_name()} == "neuron"'
    if word is not None and longest is not None and not _is_none(longest.value):
        text = f'"max_length" if {neuron} else {source.text_of(word.value)}'
        edit = patterns.replace(source, word.value, text)
    elif _takes_multiple(source, call):
        edit = patterns.last_argument(
            source, call, f"pad_to_multiple_of={_MULTIPLE} if {neuron} else None"
        )
    else:
        return Left(finding, "needs-a-person", "no length is written here", _PADDING)
    return Change(
        finding,
        "loaders",
        FixSafety.REVIEW,
        "few lengths on Neuron",
        (edit,),
        note="on Neuron padding goes further; every length that is left is one graph",
    )


def _takes_multiple(source: Source, call: ast.Call) -> bool:
    """A collator or tokenizer of transformers, which can pad to a multiple."""
    called = source.called(call)
    if called.startswith("transformers.") and "Collator" in called:
        return True
    if source.called(call):
        return False
    name = source.text_of(call.func).rpartition(".")[2].lower()
    return "tokenizer" in name or patterns.keyword(call, "return_tensors") is not None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
