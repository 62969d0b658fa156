"""Options that are only read, slices that only move, questions about devices and packages, and what
sets a model up are told from what they look like."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.findings import Finding
from tests.rules.judging import judge_files

XFORMERS = "api/diffusers.DiffusionPipeline.enable_xformers_memory_efficient_attention"


def found(folder: Path, code: str, rule: str) -> list[Finding]:
    part = judge_files(folder, {"case.py": code})
    return [f for f in part.findings if f.rule == rule]


def of(findings: list[Finding]) -> list[tuple[int, str, str]]:
    return [(f.location.line, f.verdict.value, f.confidence.value) for f in findings]


def test_an_option_of_a_methods_name_is_only_read(tmp_path: Path) -> None:
    code = """\
import diffusers
def setup(args, unet):
    if args.enable_xformers_memory_efficient_attention:
        unet.enable_xformers_memory_efficient_attention()
"""
    assert [f.location.line for f in found(tmp_path, code, XFORMERS)] == [4]
    assert found(tmp_path, code, XFORMERS)[0].verdict.value == "breaks"
    kept = "import diffusers\ndef f(unet):\n    return unet.enable_xformers_memory_efficient_attention\n"
    assert [f.location.line for f in found(tmp_path, kept, XFORMERS)] == [3]


SLICED = """\
import torch
from torch import nn
class Find(nn.Module):
    def forward(self, ids: torch.Tensor, n: int):
        first = (ids == 3).nonzero()[0]
        at = first.item()
        return ids[{bounds}]
"""


@pytest.mark.parametrize(
    ("bounds", "confidence", "says"),
    [
        ("at : at + n", "possible", "moves with"),
        ("at - n : at + n", "possible", "moves with"),
        (": at + n", "likely", "ends at"),
        ("at : at + at", "likely", "ends at"),
        ("n : at", "likely", "ends at"),
        ("at :", "likely", "begins at"),
    ],
)
def test_a_slice_of_one_length_only_moves(
    tmp_path: Path, bounds: str, confidence: str, says: str
) -> None:
    (finding,) = found(tmp_path, SLICED.format(bounds=bounds), "data-dependent-size")
    assert finding.confidence.value == confidence
    assert says in finding.message


SEEDS = """\
import torch
def seed_all(seed, model):
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
    elif torch.xpu.is_available():
        {}
"""


@pytest.mark.parametrize(
    ("done", "confidence"),
    [
        ("torch.xpu.manual_seed_all(seed)", "possible"),
        ("torch.xpu.empty_cache()", "possible"),
        ("model.to('xpu')", "certain"),
    ],
)
def test_a_seed_of_another_device_needs_no_branch(
    tmp_path: Path, done: str, confidence: str
) -> None:
    (finding,) = found(tmp_path, SEEDS.format(done), "accelerator-branch")
    assert finding.confidence.value == confidence


ASKED = """\
import importlib.util
def is_it_available():
    return importlib.util.find_spec("{}") is not None
"""
ASKS = """\
from tree.asked import is_it_available
if is_it_available():
    print("there")
"""


@pytest.mark.parametrize(
    ("package", "confidence"), [("aqlm", "possible"), ("flash_attn", "likely")]
)
def test_what_can_be_installed_may_be_there(tmp_path: Path, package: str, confidence: str) -> None:
    asked = ASKED.format(package)
    files = {"tree/__init__.py": "", "tree/asked.py": asked, "tree/case.py": ASKS}
    findings = judge_files(tmp_path, files).findings
    assert of([f for f in findings if f.rule == "library-availability-gate"]) == [
        (2, "locks-in", confidence)
    ]


def test_a_function_that_asks_for_a_device_is_no_question_about_a_library(tmp_path: Path) -> None:
    asked = """\
import torch
def is_xpu_available():
    return hasattr(torch, "xpu") and torch.xpu.is_available()
def is_npu_ready():
    return True
"""
    code = """\
from tree.asked import is_npu_ready, is_xpu_available
def device():
    return "xpu" if is_xpu_available() else "cuda"
if is_npu_ready():
    pass
"""
    files = {"tree/__init__.py": "", "tree/asked.py": asked, "tree/case.py": code}
    findings = judge_files(tmp_path, files).findings
    assert not [f for f in findings if f.rule == "library-availability-gate"]
    branches = [f for f in findings if f.rule == "accelerator-branch"]
    assert [(f.location.path.rpartition("/")[2], f.location.line) for f in branches] == [
        ("asked.py", 3),
        ("case.py", 3),
    ]
    assert "xpu" in branches[1].message


def test_what_sets_a_model_up_selects_seldom(tmp_path: Path) -> None:
    code = """\
import torch
def {}(mask: torch.Tensor):
    return torch.where(mask == 1.0)
"""
    rule = "data-dependent-selection"
    assert [f.confidence.value for f in found(tmp_path, code.format("update_layer"), rule)] == [
        "possible"
    ]
    assert [f.confidence.value for f in found(tmp_path, code.format("kept"), rule)] == ["likely"]


MIXED = """\
import torch
from torch import nn
class Mix(nn.Module):
    def forward(self, x, w):
        f = torch.fft.fft(x)
        return {}
"""


@pytest.mark.parametrize(
    ("used", "confidence"), [("f.real", "certain"), ("f.abs()", "certain"), ("f * w", "likely")]
)
def test_complex_numbers_that_go_on_are_less_sure(
    tmp_path: Path, used: str, confidence: str
) -> None:
    (finding,) = found(tmp_path, MIXED.format(used), "fourier-transform")
    assert finding.confidence.value == confidence
