"""What stands beside a question decides what it means: another vendor's, nothing, an error, a text."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.findings import Finding
from tests.rules.judging import judge_files

HEAD = (
    "import torch\nfrom lib import is_neuron_available\n"
    "from transformers.utils import is_torch_xla_available\n"
)


def said(tmp_path: Path, code: str, rule: str) -> list[Finding]:
    part = judge_files(tmp_path, {"case.py": HEAD + code}, ("native", "xla"))
    return [f for f in part.findings if f.rule == rule]


def paths(finding: Finding) -> set[str]:
    return {name.partition("@")[0] for name in finding.by_target}


@pytest.mark.parametrize(
    ("test", "spoken_of"),
    [
        ("torch.cuda.is_available() or is_torch_xla_available()", {"native"}),
        ("is_torch_xla_available() or torch.cuda.is_available()", {"native"}),
        ("torch.cuda.is_available() or here() or is_torch_xla_available()", {"native"}),
        ("torch.cuda.is_available() and is_torch_xla_available()", {"native", "xla"}),
        ("torch.cuda.is_available() or here()", {"native", "xla"}),
    ],
)
def test_what_is_true_for_xla_anyway_is_not_said_of_it(
    tmp_path: Path, test: str, spoken_of: set[str]
) -> None:
    code = f"def f(x):\n    if {test}:\n        x = x + 1\n    return x\n"
    other = "def g(x):\n    if torch.cuda.is_available():\n        x = x + 1\n    return x\n"
    first, second = said(tmp_path, code + other, "api/torch.cuda.is_available")
    assert paths(first) == spoken_of
    assert paths(second) == {"native", "xla"}


def test_nor_that_the_program_stops(tmp_path: Path) -> None:
    code = (
        "def f():\n    if not (torch.cuda.is_available() or is_torch_xla_available()):\n"
        "        raise ValueError('no')\n"
    )
    assert [paths(f) for f in said(tmp_path, code, "cuda-required")] == [{"native"}]
    assert said(tmp_path, code, "api/torch.cuda.is_available") == []


def test_where_neuron_is_asked_for_nothing_is_said(tmp_path: Path) -> None:
    code = "def f(x):\n    return torch.cuda.is_available() or is_neuron_available()\n"
    assert said(tmp_path, code, "api/torch.cuda.is_available") == []


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("        pass\n", "locks-in"),
        ("        # nothing yet\n        pass\n", "locks-in"),
        ("        pass\n    else:\n        x = x + 1\n", "diverges"),
        ("        x = x + 1\n", "diverges"),
    ],
)
def test_a_branch_that_does_nothing_changes_nothing(
    tmp_path: Path, body: str, verdict: str
) -> None:
    code = f"def f(x: torch.Tensor):\n    if x.is_cuda:\n{body}    return x\n"
    (asked,) = said(tmp_path, code, "api/torch.Tensor.is_cuda")
    assert {t.verdict.value for t in asked.by_target.values()} == {verdict}


@pytest.mark.parametrize(
    ("after", "stops"),
    [
        ("raise RuntimeError('no device')", True),
        ("return torch.device('cpu')", False),
        ("if here():\n        return 1\n    raise RuntimeError('no device')", False),
    ],
)
def test_what_is_left_to_an_error_stops(tmp_path: Path, after: str, stops: bool) -> None:
    code = (
        "def f():\n    if torch.cuda.device_count() > 0:\n        return torch.device('cuda')\n"
        f"    {after}\n"
    )
    (asked,) = said(tmp_path, code, "api/torch.cuda.device_count")
    assert asked.message.endswith("stops here with an error") is stops


@pytest.mark.parametrize(
    ("code", "sure"),
    [
        ("torch.cuda.FloatTensor(3)", "certain"),
        ("x.type(torch.cuda.FloatTensor)", "certain"),
        ("print(torch.cuda.FloatTensor)", "likely"),
        ("{'f': torch.cuda.FloatTensor}", "likely"),
    ],
)
def test_a_type_that_is_only_named_makes_nothing_yet(tmp_path: Path, code: str, sure: str) -> None:
    program = f"def f(x: torch.Tensor):\n    return {code}\n"
    (named,) = said(tmp_path, program, "api/torch.cuda.FloatTensor")
    assert named.confidence.value == sure


@pytest.mark.parametrize(
    ("code", "written"),
    [
        ("print('CUDA', torch.version.cuda)", True),
        ("text = f'CUDA {torch.version.cuda}'", True),
        ("log.info(torch.version.cuda)", True),
        ("info['cuda'] = torch.version.cuda", False),
        ("same = torch.version.cuda == '12.8'", False),
    ],
)
def test_a_version_that_is_only_written_down(tmp_path: Path, code: str, written: bool) -> None:
    (asked,) = said(tmp_path, f"def f(log, info):\n    {code}\n", "api/torch.version.cuda")
    (native,) = (t for n, t in asked.by_target.items() if n.startswith("native"))
    assert native.replacement.startswith("nothing") is written


@pytest.mark.parametrize(
    ("test", "there"),
    [
        ("x.device.type == 'cuda'", False),
        ("not x.device.type == 'cuda'", True),
        ("x.device.type != 'cuda'", True),
        ("all(not x.device.type == 'cuda' for x in xs)", True),
    ],
)
def test_a_negated_test_is_advised_the_other_way(tmp_path: Path, test: str, there: bool) -> None:
    code = f"def f(x: torch.Tensor, xs):\n    if {test}:\n        return 1\n    return 2\n"
    (gate,) = said(tmp_path, code, "cuda-device-gate")
    (native,) = (t for n, t in gate.by_target.items() if n.startswith("native"))
    assert native.replacement.startswith('device.type == "cpu"') is there


@pytest.mark.parametrize(
    ("written", "mask"), [("y[:, ::2]", True), ("y[:, 1::2]", False), ("y", False)]
)
def test_a_slice_that_is_taken_over_joins_nothing(tmp_path: Path, written: str, mask: bool) -> None:
    code = f"def f(x: torch.Tensor, y: torch.Tensor):\n    x[:, ::2] = {written}\n    return x\n"
    (slice_,) = said(tmp_path, code, "strided-slice-assignment")
    (native,) = slice_.by_target.values()
    assert native.replacement.startswith("torch.where(mask, new, old)") is mask
    assert "repeat_interleave" not in native.replacement or not mask


@pytest.mark.parametrize(("head", "leave"), [("import horovod.torch as hvd\n", True), ("", False)])
def test_a_device_that_is_set_for_horovod_is_left_to_it(
    tmp_path: Path, head: str, leave: bool
) -> None:
    code = f"{head}torch.cuda.set_device(0)\n"
    (set_,) = said(tmp_path, code, "api/torch.cuda.set_device")
    native = set_.by_target["native@2.33"].replacement
    assert native.startswith("leave it to Horovod") is leave
    assert ("init_process_group" in native) is not leave
