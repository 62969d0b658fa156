"""Nesting is bounded by a number of its own, the same under every interpreter."""

from __future__ import annotations

import pytest

from neuronport.audit import audit_serially
from neuronport.targets import resolve
from neuronport.workspace import open_workspace

NESTED = {
    "attributes": lambda n: "x = a" + ".b" * n,
    "calls": lambda n: "x = a" + "()" * n,
    "methods": lambda n: "x = a" + ".b()" * n,
    "elif": lambda n: "if a: pass\n" + "elif a: pass\n" * n,
    "not": lambda n: "x = " + "not " * n + "a",
    "conditions": lambda n: "x = " + "1 if a else " * n + "2",
    "subscripts": lambda n: "x = a" + "[0]" * n,
    "powers": lambda n: "x = " + "1**" * n + "1",
    "lambdas": lambda n: "x = " + "lambda: " * n + "a",
    "annotations": lambda n: "x: a" + ".b" * n,
}


@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize("deep", [800, 1000, 2900])
def test_what_is_nested_deeply_is_followed_or_said(tmp_path, kind, deep):
    text = f"import torch\n{NESTED[kind](deep)}\ntorch.cuda.synchronize()\n"
    (tmp_path / "m.py").write_text(text)
    part = audit_serially(
        open_workspace([str(tmp_path)]).files, [resolve("native")], lambda _: None
    )
    if deep == 800:
        assert [f.rule for f in part.findings] == ["api/torch.cuda.synchronize"]
    else:
        assert [missed.reason for missed in part.not_looked_at] == ["too-deeply-nested"]
