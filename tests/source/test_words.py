"""A value in the words of a message reads as Python, and means what the source does."""

from __future__ import annotations

import ast

import pytest

from tests.source.viewing import view_of


def in_words(tmp_path, expression: str, whole: bool = False) -> str:
    names = ", ".join(
        sorted({n.id for n in ast.walk(ast.parse(expression)) if isinstance(n, ast.Name)})
    )
    view = view_of(tmp_path, f"import torch\ndef f({names}):\n    if {expression}:\n        pass\n")
    (test,) = (e for e in view.facts.events if e.kind == "test" and e.name == "if")
    return view.text(test.value, whole=whole)


@pytest.mark.parametrize(
    "expression",
    [
        "(x == y).all()",
        "x == y.all()",
        "(x > 0.5).cpu()",
        "(boxes[:, 2:] >= boxes[:, :2]).all()",
        "x[:, None, :2]",
        "x[..., 0]",
        "x[::2]",
        "x[y > 0]",
        "x[1:][0].sum()",
        "(a or b) and c",
        "a or b and c",
        "not (a or b)",
        "(not a).any()",
        "(a + b) * c",
        "a + b * c",
        "a - (b - c)",
        "(a - b - c).item()",
        "a ** -b",
        "(-a) ** b",
        "(a ** b) ** c",
        "a ** b ** c",
        "(~a).any()",
        "~a & (b | c)",
        "a & (b == c)",
        "(a == b) == c",
        "(a, b)[0]",
        "x.view(-1, a // 2)",
        "x.sum(dim=-1).item()",
        "a.clamp(b / c, min=1)",
        "x in [a, b]",
        "x in (a,)",
        "x in {a, b}",
    ],
)
def test_what_is_written_is_said(tmp_path, expression):
    assert in_words(tmp_path, expression) == expression


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("x == y", "(x == y)"),
        ("not x", "(not x)"),
        ("x + y", "(x + y)"),
        ("x.y", "x.y"),
        ("x[0]", "x[0]"),
    ],
)
def test_what_something_is_written_behind_holds_together(tmp_path, expression, said):
    assert in_words(tmp_path, expression, whole=True) == said


def test_what_is_too_long_is_cut(tmp_path):
    assert in_words(tmp_path, "f(a, b, c, d, e)") == "f(a, b, c, …)"
    assert in_words(tmp_path, "x[a, b, c, d, e, g]") == "x[a, b, c, d, e, …]"
