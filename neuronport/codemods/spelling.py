"""Functions whose spelling decides how Neuron runs them; CUDA and the CPU keep theirs.

The exact GELU goes through the error function: on Neuron the tanh form is taken, which differs by
about 1e-3. The gradient of ``F.mse_loss`` failed in compiled graphs: the same, written out. Both
under review.
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Left
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.shapes import in_text
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "The spelling that Neuron runs well"
_GELU = (
    'approximate="tanh" where the model was trained with it, or 1e-3 does not matter',
    "SiLU, in a model that is trained anew",
)
_MSE = ("((a - b) ** 2).mean(), which is the same",)


def fix(finding: Finding, source: Source, project: Project) -> Any:
    call = source.at(finding, ast.Call)
    if patterns.is_skipped(finding):
        return None
    if finding.rule == "exact-gelu":
        return _gelu(finding, source, call)
    return _mse(finding, source, call)


def _gelu(finding: Finding, source: Source, call: ast.Call | None) -> Any:
    if call is None or patterns.has_star(call) or in_text(source, call):
        return Left(finding, "needs-a-person", "a decision about numbers", _GELU)
    called = source.called(call)
    if called not in ("torch.nn.GELU", "torch.nn.functional.gelu"):
        return Left(finding, "needs-a-person", "a decision about numbers", _GELU)
    if call.args[1 if called.endswith("gelu") else 0 :] or patterns.keyword(call, "approximate"):
        return Left(finding, "needs-a-person", "the form is chosen elsewhere", _GELU)
    choice = f'approximate="tanh" if {patterns.device_name()} == "neuron" else "none"'
    edit = patterns.last_argument(source, call, choice)
    return Change(
        finding,
        "spelling",
        FixSafety.REVIEW,
        "GELU by tanh on Neuron",
        (edit,),
        note="differs from the exact form by about 1e-3",
    )


def _mse(finding: Finding, source: Source, call: ast.Call | None) -> Any:
    if (
        call is None
        or source.called(call) != "torch.nn.functional.mse_loss"
        or len(call.args) != 2
        or call.keywords
        or patterns.has_star(call)
        or in_text(source, call)
        or source.has_comment(*source.span(call))
    ):
        return Left(finding, "by-hand", "the loss is called in another place", _MSE)
    a, b = (_operand(source, n) for n in call.args)
    edit = patterns.replace(source, call, f"(({a} - {b}) ** 2).mean()")
    return Change(finding, "spelling", FixSafety.REVIEW, "the squares written out", (edit,))


def _operand(source: Source, node: ast.expr) -> str:
    text = source.text_of(node)
    plain = ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.Constant
    return text if isinstance(node, plain) else f"({text})"
