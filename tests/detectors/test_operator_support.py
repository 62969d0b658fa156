"""The rule over the operator table: what its messages, stages and confidence rest on."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from neuronport.detectors.operators import operator_support
from neuronport.findings import Confidence, Finding, Verdict
from neuronport.operators import shared
from tests.rules.judging import judge_files


def _found(code: str, *targets: str) -> list[Finding]:
    with TemporaryDirectory() as folder:
        part = judge_files(Path(folder), {"case.py": code}, targets)
    return [f for f in part.findings if f.rule == "operator-support"]


def test_the_methods_looked_for_are_those_the_table_has_something_to_say_of() -> None:
    notable = {
        name.removeprefix("torch.Tensor.")
        for name in shared().notable()
        if name.startswith("torch.Tensor.") and not name.startswith("torch.Tensor._")
    }
    wanted = notable - operator_support.OWNED
    listed = operator_support.METHODS
    # rules/understanding/operator-methods.txt is to be kept up with the table
    assert (sorted(wanted - listed), sorted(listed - wanted)) == ([], [])


def test_a_literal_argument_decides() -> None:
    code = "import torch\nclass N(torch.nn.Module):\n def forward(self, x, y):\n  return torch.addmm(x, y, y{})\n"
    assert not _found(code.format(""), "xla")
    assert _found(code.format(", beta=0.5"), "xla")


def test_infinity_is_a_literal_however_it_is_written() -> None:
    code = "import math\nimport torch\nclass N(torch.nn.Module):\n def forward(self, x: torch.Tensor, m):\n  return x.masked_fill_(m, {})\n"
    for written in ('float("-inf")', '-float("inf")', "-math.inf", "-torch.inf", "-1e9"):
        assert not _found(code.format(written), "native"), written
    assert _found(code.format("self.least"), "native")


def test_off_the_hot_path_a_fallback_is_only_possible() -> None:
    body = "return torch.multinomial(p, 1)"
    cold = f"import torch\ndef a(p):\n {body}\na(load())\n"
    hot = f"import torch\nclass N(torch.nn.Module):\n def forward(self, p):\n  {body}\n"
    assert [f.confidence for f in _found(cold, "native")] == [Confidence.POSSIBLE]
    assert [f.confidence for f in _found(hot, "native")] == [Confidence.LIKELY]


def test_a_fallback_that_the_compiler_has_a_lowering_for_is_only_possible() -> None:
    code = "import torch\nclass N(torch.nn.Module):\n def forward(self, x):\n  return torch.argmax(x)\n"
    (finding,) = _found(code, "native")
    (verdict,) = finding.by_target.values()
    assert verdict.confidence is Confidence.POSSIBLE
    assert verdict.stages["compiled"]["forward"] is Verdict.PORTABLE


def test_a_random_tensor_on_the_cpu_is_no_fallback() -> None:
    loop = "import torch\nclass N(torch.nn.Module):\n def forward(self, x):\n  return torch.randn(3{})\n"
    assert not _found(loop.format(""), "native")
    assert not _found(loop.format(', device="cpu"'), "native")
    assert _found(loop.format(", device=x.device"), "native")


def test_findings_of_one_operator_share_a_group() -> None:
    code = "import torch\nclass N(torch.nn.Module):\n def forward(self, x):\n  return x.sort(), torch.sort(x)\n"
    assert len({f.group for f in _found(code, "native")}) == 1
    assert len(_found(code, "native")) == 2


def test_what_only_complex_tensors_reach_is_only_possible() -> None:
    code = "import torch\ndef f(x):\n if torch.is_complex(x):\n  return torch.view_as_real(x)\n return x\n"
    assert [f.confidence for f in _found(code, "native")] == [Confidence.POSSIBLE]


def test_the_message_names_the_operator_that_the_arguments_choose() -> None:
    code = "import torch.nn.functional as F\ndef f(x):\n return F.interpolate(x, scale_factor=2, mode='bilinear')\n"
    (finding,) = _found(code, "native")
    assert "upsample_bilinear2d" in finding.message
