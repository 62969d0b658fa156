"""Questions to a tensor or a host, and what is done, or built, by their answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.findings import Finding
from tests.rules.judging import judge_files


def of_rule(folder: Path, code: str, rule: str, name: str = "case.py") -> list[Finding]:
    part = judge_files(folder, {name: code})
    return [f for f in part.findings if f.rule == rule]


def said(found: list[Finding]) -> list[tuple[int, str, str]]:
    return [
        (f.location.line, f.by_target["native@2.33"].verdict.value, f.confidence.value)
        for f in found
    ]


@pytest.mark.parametrize(
    ("test", "verdict", "sure"),
    [
        ("x.is_cuda", "locks-in", "likely"),
        ('x.device.type == "cuda"', "locks-in", "likely"),
        ("torch.cuda.is_available()", "falls-back", "certain"),
    ],
)
def test_what_a_tensor_decides_that_came_in_is_not_the_way_of_the_program(
    tmp_path: Path, test: str, verdict: str, sure: str
) -> None:
    code = (
        "import torch\n\n\ndef f(x: torch.Tensor):\n    y = torch.relu(x)\n"
        f"    if {test}:\n        y = y.cuda()\n    return y\n"
    )
    assert said(of_rule(tmp_path, code, "api/torch.Tensor.cuda")) == [(7, verdict, sure)]


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("assert isinstance(x, torch.cuda.FloatTensor)", "breaks"),
        ("assert x is not None and isinstance(x, torch.cuda.FloatTensor)", "breaks"),
        ("assert not isinstance(x, torch.cuda.FloatTensor)", "diverges"),
        ("return isinstance(x, torch.cuda.FloatTensor)", "diverges"),
        ("y: torch.cuda.FloatTensor = x", None),
        ("assert isinstance(x, torch.FloatTensor)", None),
    ],
)
def test_no_tensor_is_of_a_type_of_cuda(tmp_path: Path, line: str, verdict: str | None) -> None:
    code = f"import torch\n\n\ndef f(x):\n    {line}\n"
    found = [v for _, v, _ in said(of_rule(tmp_path, code, "api/torch.cuda.FloatTensor"))]
    assert found == ([verdict] if verdict else [])


def test_two_numbers_of_devices_are_alike(tmp_path: Path) -> None:
    code = (
        "import torch\na = torch.zeros(2)\nb = torch.zeros(3)\n"
        "assert a.get_device() == b.get_device()\nd = a.get_device()\n"
    )
    found = [(n, s) for n, _, s in said(of_rule(tmp_path, code, "api/torch.Tensor.get_device"))]
    assert found == [(4, "possible"), (4, "possible"), (5, "certain")]


@pytest.mark.parametrize(
    ("done", "builds"),
    [
        ('sources += ["k_cuda.c"]\n    with_cuda = True', True),
        ('sources += ["k_cuda.c"]\n    model = model.cuda()', False),
    ],
)
def test_what_is_built_is_no_choice_of_a_device(tmp_path: Path, done: str, builds: bool) -> None:
    code = (
        "import torch\nfrom torch.utils.cpp_extension import CppExtension\n"
        f'sources = ["k.c"]\nif torch.cuda.is_available():\n    {done}\n'
        'extension = CppExtension("k", sources)\n'
    )
    (found,) = of_rule(tmp_path, code, "api/torch.cuda.is_available")
    advice = found.by_target["native@2.33"].replacement
    assert ("NKI" in advice) is builds
    assert ("torch.accelerator" in advice) is not builds


@pytest.mark.parametrize(
    ("head", "builds"),
    [("from torch.utils.cpp_extension import CUDAExtension", True), ("import torchvision", False)],
)
def test_a_build_that_ends_without_cuda(tmp_path: Path, head: str, builds: bool) -> None:
    code = f"import torch\n{head}\nif not torch.cuda.is_available():\n    raise RuntimeError()\n"
    (found,) = of_rule(tmp_path, code, "cuda-required")
    assert ("sources for CUDA" in found.by_target["native@2.33"].replacement) is builds


@pytest.mark.parametrize(
    ("line", "sure"),
    [
        ('c = {"device": "cuda"}', "possible"),
        ('c.device = "cuda"', "possible"),
        ('c = {"device": "cuda"}\n    x = torch.zeros(2)', "likely"),
    ],
)
def test_a_device_that_a_test_writes_down(tmp_path: Path, line: str, sure: str) -> None:
    code = f"import torch\n\n\ndef test_it(c):\n    {line}\n"
    found = of_rule(tmp_path, code, "hardcoded-cuda-device", "tests/test_case.py")
    assert [s for _, _, s in said(found)] == [sure]


@pytest.mark.parametrize(
    ("name", "more", "sure"),
    [
        ("tests/test_case.py", "", "possible"),
        ("tests/test_case.py", "    x = torch.zeros(2).to(c.device)\n", "certain"),
        ("case.py", "", "certain"),
    ],
)
def test_a_device_that_a_test_keeps_in_a_configuration(
    tmp_path: Path, name: str, more: str, sure: str
) -> None:
    code = (
        "import torch\nfrom argparse import Namespace\n\n\ndef test_it():\n"
        f'    c = Namespace(device="cuda")\n{more}    assert c.device == "cuda"\n'
    )
    found = of_rule(tmp_path, code, "hardcoded-cuda-device", name)
    assert [s for _, _, s in said(found)] == [sure]
    asked = of_rule(tmp_path, code, "cuda-device-gate", name)
    assert [s for _, _, s in said(asked)] == ["certain" if name == "case.py" else "possible"]


def test_a_class_built_on_what_breaks(tmp_path: Path) -> None:
    code = (
        "import torch\n\n\nclass Parallel(torch.nn.DataParallel):\n    pass\n\n\n"
        "class Loader(torch.utils.data.DataLoader):\n    pass\n\n\n"
        "ok = isinstance(model, torch.nn.DataParallel)\n"
    )
    part = judge_files(tmp_path, {"case.py": code})
    assert [(f.rule, f.location.line) for f in part.findings] == [("api/torch.nn.DataParallel", 4)]


@pytest.mark.parametrize(
    ("device", "number"),
    [
        ("torch.device(i % num_gpus)", True),
        ("torch.device(i % torch.cuda.device_count())", True),
        ("torch.device(fmt % i)", False),
        ('torch.device("cpu:%d" % n_gpu)', False),
        ("torch.device(names % (i,))", False),
    ],
)
def test_a_remainder_is_the_number_of_a_device(tmp_path: Path, device: str, number: bool) -> None:
    code = f"import torch\n\n\ndef f(i, n_gpu, num_gpus, fmt, names):\n    return {device}\n"
    assert bool(of_rule(tmp_path, code, "integer-device")) is number


def test_a_function_of_what_is_built_into_ext(tmp_path: Path) -> None:
    part = judge_files(
        tmp_path,
        {
            "ops/__init__.py": "",
            "ops/_ext/__init__.py": "",
            "ops/_ext/align/__init__.py": "__all__ = []\n",
            "ops/_ext/plain/__init__.py": "def run_cuda(x):\n    return x\n",
            "ops/use.py": (
                "import torch\nfrom ._ext import align, plain\n\n\ndef f(x):\n"
                "    align.forward_cuda(x)\n    align.forward(x)\n    return plain.run_cuda(x)\n"
            ),
        },
    )
    found = [f for f in part.findings if f.rule == "compiled-cuda-module"]
    assert [f.location.line for f in found] == [6]
