"""What is left for people comes with ways to do it."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.findings import FixSafety
from neuronport.rulebook.load import rulebook
from tests.codemods.porting import plan_for, plant

PROGRAMS = {
    "boxes": "import torch, torchvision\n\ndef f(b: torch.Tensor, s: torch.Tensor):\n"
    "    return torchvision.ops.nms(b, s, 0.5)\n",
    "half": "import torch\n\ndef f(n):\n    return torch.zeros(n, dtype=torch.float16, device='cuda')\n",
    "spectrum": "import torch\n\ndef f(x: torch.Tensor):\n    return torch.fft.fft(x)\n",
    "sparse": "import deepspeed\n\nengine = deepspeed.initialize(model=None)\n",
    "kernels": "import triton\n\n@triton.jit\ndef k(x):\n    pass\n",
    "lists": "import torch\n\ndef f(x: torch.Tensor):\n    return x[torch.where(x > 0)[0]]\n",
    "unique": "import torch\n\nclass A(torch.nn.Module):\n    def forward(self, x):\n"
    "        return torch.linalg.svd(x), x.unique()\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_at_least_two_ways(name: str, tmp_path: Path) -> None:
    plant(tmp_path, {"case.py": PROGRAMS[name]})
    _, plan = plan_for(tmp_path)
    assert plan.left
    for left in plan.left:
        assert len(left.ways) >= 2, (left.finding.rule, left.ways)
        assert len(set(left.ways)) == len(left.ways)


def test_what_an_operator_is_replaced_by_is_told(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {"case.py": "import torch\n\ndef f(x, t):\n    return torch.isin(x.cuda(), t)\n"},
    )
    _, plan = plan_for(tmp_path)
    ways = [w for left in plan.left if left.finding.rule == "operator-support" for w in left.ways]
    assert any("unsqueeze(-1) == t" in w for w in ways), ways


def test_every_rule_that_is_for_a_person_has_two_ways() -> None:
    """A rule without a codemod gives its replacements and its ways; one of them is not a choice."""
    lacking = [
        spec.id
        for spec in rulebook().rules.values()
        if (spec.fix is None or spec.fix.safety is FixSafety.MANUAL)
        and len(dict.fromkeys((*spec.replacement.values(), *spec.ways))) < 2
    ]
    assert lacking == []
