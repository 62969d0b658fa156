"""flash-attn's and xFormers' attention to PyTorch's own ``scaled_dot_product_attention``.

The call stays as it is written; what is called becomes a function of the seam that has the library's
layouts, masks and dropout and is ``scaled_dot_product_attention`` inside. On CUDA that has the same
kernels (FlashAttention 2 and the memory-efficient one); results differ by rounding, so that a person
looks at it. Packed inputs are taken apart by ``unbind``.

By hand: sequences of several lengths packed into one (a padded batch and a mask instead), caches
that the kernel updates, and what SDPA has not (soft capping, probabilities).
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Edit, Left, seam
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "Attention by PyTorch's scaled_dot_product_attention"
_FLASH = ("flash_attn", "flash_attn_interface", "flash_attn_3", "vllm_flash_attn")
_PACKED = {"flash_attn_func": 0, "flash_attn_qkvpacked_func": 1, "flash_attn_kvpacked_func": 2}
"""How many of the first arguments come before and with the packed one; 0: none is packed."""
_TAKEN = ("dropout_p", "softmax_scale", "causal", "window_size", "alibi_slopes", "deterministic")
_NOTHING = {"softcap": (0, 0.0, None), "return_attn_probs": (False, None)}
"""Arguments that SDPA has not, and the values that ask for nothing."""
_CAUSAL = ("LowerTriangularMask",)
_VARLEN = (
    "a padded batch and scaled_dot_product_attention with a boolean mask, in a few length buckets",
    "batches of one length (group by length, pad to a multiple)",
    "an NKI attention kernel for packed sequences, behind the project's seam",
)
_CACHE = (
    "a cache of fixed length written by index_copy_ at the position, a mask of the full length, SDPA",
    "transformers' StaticCache",
)
_PLAIN = ("scaled_dot_product_attention on (B,H,S,D), with an explicit mask",)


def fix(finding: Finding, source: Source, project: Project) -> Any:
    if patterns.is_skipped(finding) or finding.rule.endswith("#import"):
        # An import goes when the last call is rewritten.
        return None
    package = finding.rule.removeprefix("api/").partition(".")[0]
    name = finding.rule.rpartition(".")[2]
    call = source.at(finding, ast.Call)
    if "varlen" in name or "unpadded" in name or "unpad_input" in name or "pad_input" in name:
        return Left(finding, "by-hand", "sequences of several lengths in one tensor", _VARLEN)
    if "kvcache" in name:
        return Left(finding, "by-hand", "the kernel updates a cache in place", _CACHE)
    if package == "xformers":
        if name in _CAUSAL:
            return None
        return _xformers(finding, source, project, call)
    if name not in _PACKED or package not in _FLASH:
        return None
    return _flash(finding, source, call, name)


def _flash(finding: Finding, source: Source, call: ast.Call | None, name: str) -> Any:
    if call is None:
        return Left(finding, "unclear", "the function is handed on, not called", _PLAIN)
    own = {0: 3, 1: 1, 2: 2}[_PACKED[name]]
    if patterns.has_star(call) or len(call.args) < own:
        return Left(finding, "unclear", "its arguments are not written out in order", _PLAIN)
    # dropout_p, softmax_scale, causal, window_size are in the same order; what follows is not.
    if len(call.args) > own + 4:
        return Left(finding, "unclear", "more arguments by position than are certain", _PLAIN)
    edits = [patterns.replace(source, call.func, seam("dense_attention"))]
    if _PACKED[name]:
        packed = call.args[own - 1]
        if isinstance(packed, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
            edits.append(patterns.before(source, packed, "*"))
            edits.append(patterns.after(source, packed, ".unbind(dim=2)"))
        else:
            edits.append(patterns.before(source, packed, "*("))
            edits.append(patterns.after(source, packed, ").unbind(dim=2)"))
    for word in call.keywords:
        if word.arg in _TAKEN:
            continue
        asks = _NOTHING.get(word.arg or "")
        if asks is None or not isinstance(word.value, ast.Constant) or word.value.value not in asks:
            return Left(finding, "by-hand", f"SDPA has no {word.arg}", _PLAIN)
        edits.append(_without(source, call, word))
    return _change(finding, tuple(edits), source, call, frozenset(_FLASH))


def _has_biases(project: Project) -> bool:
    """Whether the project makes masks of xFormers that are no tensors; any may be handed on."""
    return any(
        f.rule.startswith("api/xformers.ops") and not f.rule.endswith(".LowerTriangularMask")
        for findings in project.findings.values()
        for f in findings
        if "Mask" in f.rule or "AttentionBias" in f.rule
    )


def _xformers(finding: Finding, source: Source, project: Project, call: ast.Call | None) -> Any:
    if not finding.rule.endswith(".memory_efficient_attention"):
        return None
    if call is None:
        return Left(finding, "unclear", "the function is handed on, not called", _PLAIN)
    if patterns.has_star(call) or len(call.args) > 6:
        return Left(finding, "unclear", "its arguments are not written out in order", _PLAIN)
    edits = [patterns.replace(source, call.func, seam("biased_attention"))]
    word = patterns.keyword(call, "attn_bias")
    bias = word.value if word is not None else call.args[3] if len(call.args) > 3 else None
    if isinstance(bias, ast.Call):
        made = source.called(bias).rpartition(".")[2]
        if made in _CAUSAL and not bias.args and not bias.keywords:
            if word is not None:
                start, end = source.span(word)
                edits.append(Edit(start, end, "causal=True"))
            elif len(call.args) == 4:
                edits.append(patterns.replace(source, bias, "causal=True"))
            else:
                edits.append(patterns.replace(source, bias, "None"))
                edits.append(patterns.last_argument(source, call, "causal=True"))
        elif source.called(bias).startswith("xformers."):
            return Left(finding, "by-hand", f"{made} has no counterpart in SDPA", _VARLEN)
    elif (
        bias is not None
        and not (isinstance(bias, ast.Constant) and bias.value is None)
        and _has_biases(project)
    ):
        return Left(finding, "needs-a-person", "the bias may be an object of xFormers", _PLAIN)
    for given in call.keywords:
        if given.arg == "op":
            edits.append(_without(source, call, given))
        elif given.arg not in ("query", "key", "value", "attn_bias", "p", "scale"):
            return Left(finding, "by-hand", f"SDPA has no {given.arg}", _PLAIN)
    return _change(finding, tuple(edits), source, call, frozenset(["xformers"]))


def _without(source: Source, call: ast.Call, word: ast.keyword) -> Edit:
    """Take a keyword argument out; there are arguments before it."""
    start, end = source.span(word)
    before = [source.span(a)[1] for a in (*call.args, *(k.value for k in call.keywords))]
    return Edit(max(e for e in before if e <= start), end, "")


def _change(
    finding: Finding,
    edits: tuple[Edit, ...],
    source: Source,
    call: ast.Call,
    packages: frozenset[str],
) -> Change:
    return Change(
        finding,
        "attention",
        FixSafety.REVIEW,
        TITLE,
        edits,
        covers=(source.span(call),),
        note="the same up to rounding; the NKI kernel wants no dropout, lengths of multiples of 512",
        drops=packages,
    )
