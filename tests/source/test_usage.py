"""Parameters that can only be tensors, from what the body does with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.judging import judge_files
from tests.source.viewing import view_of


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("import torch\ndef f(p):\n    return torch.sigmoid(p)\n", "tensor"),
        ("import torch\ndef f(p):\n    return p.unsqueeze(0).masked_fill(p, 0)\n", "tensor"),
        ("import torch\ndef f(p):\n    return p[:, None]\n", "tensor"),
        ("import numpy as np\ndef f(p):\n    return p[:, None]\n", "unknown"),
        ("import torch\ndef f(p):\n    return torch.zeros(p)\n", "unknown"),
        ("import torch\ndef f(p):\n    return p.sort()\n", "unknown"),
        ("def f(p):\n    return p[0]\n", "unknown"),
        ("import torch\ndef f(p, q):\n    r = p[q]\n    return r[q].flip(-1)\n", "tensor"),
        ("import torch\ndef f(p, q):\n    return (p == q).nonzero()\n", "tensor"),
        ("import numpy\ndef f(p, q):\n    return (p == q).nonzero()\n", "unknown"),
    ],
)
def test_parameters(tmp_path: Path, code: str, kind: str) -> None:
    view = view_of(tmp_path, code)
    assert view.kind(("param", f"{view.facts.module}.f", "p")).kind == kind


def test_a_generator_of_numpys_is_no_tensor(tmp_path):
    code = "import numpy as np\n\ndef draw(state, out):\n    out[...] = state.multinomial(10, np.ones(6))\n"
    part = judge_files(tmp_path, {"case.py": code})
    assert not part.findings


@pytest.mark.parametrize(
    ("signature", "lines"),
    [
        ("*tensors", [9]),
        ("*tensors: torch.Tensor", [9]),
        ("**tensors", [9]),
        ("tensors", [9]),
    ],
)
def test_several_tensors_are_no_tensor(tmp_path, signature, lines):
    code = (
        "import torch\nfrom torch import nn\n\nclass Net(nn.Module):\n"
        f"    def forward(self, {signature}):\n        n = 1\n"
        "        if not tensors:\n            return n\n        if tensors[0].sum() > 0:\n"
        "            n = tensors[0].abs()\n        return n\n"
    )
    part = judge_files(tmp_path, {"net.py": code})
    assert [f.location.line for f in part.findings if f.rule == "tensor-branch"] == lines
