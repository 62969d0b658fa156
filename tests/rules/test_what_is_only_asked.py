"""What is only asked, pinned, or switched on to look for errors, is told from what places and runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.findings import Finding
from tests.rules.judging import judge_files


def found(folder: Path, code: str, rule: str) -> list[Finding]:
    part = judge_files(folder, {"case.py": code})
    return [f for f in part.findings if f.rule == rule]


def of(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(f.verdict.value, f.confidence.value) for f in findings]


TYPED = """\
import torch
def infer(spect):
    if spect.type() {test} 'torch.{type}':
        return torch.cuda.HalfTensor(2, 3)
    return spect
"""


@pytest.mark.parametrize(
    ("test", "type_", "verdict"),
    [
        ("==", "cuda.HalfTensor", "locks-in"),
        ("!=", "cuda.HalfTensor", "breaks"),
        ("==", "HalfTensor", "breaks"),
    ],
)
def test_what_is_for_a_cuda_type_alone_is_not_come_to(
    tmp_path: Path, test: str, type_: str, verdict: str
) -> None:
    code = TYPED.format(test=test, type=type_)
    assert of(found(tmp_path, code, "api/torch.cuda.HalfTensor")) == [(verdict, "certain")]


def test_a_cuda_type_that_is_compared_with_does_not_raise(tmp_path: Path) -> None:
    (asked,) = found(
        tmp_path, TYPED.format(test="==", type="cuda.HalfTensor"), "cuda-tensor-type-string"
    )
    assert asked.verdict.value == "locks-in"
    assert "spect.type() is compared with torch.cuda.HalfTensor" in asked.message
    (cast,) = found(tmp_path, "def f(x):\n    return x.type('torch.cuda.HalfTensor')\n", asked.rule)
    assert of([cast]) == [("breaks", "certain")]


def test_a_type_that_is_looked_for_is_asked_for_apart(tmp_path: Path) -> None:
    code = "import torch\ndef f(kinds):\n    if torch.cuda.HalfTensor in kinds:\n        print('half')\n"
    (finding,) = found(tmp_path, code, "api/torch.cuda.HalfTensor")
    assert finding.verdict.value == "locks-in"
    assert all("x.dtype" in j.replacement for j in finding.by_target.values())


PINS = """\
import torch
class Loader:
    def __init__(self, loader):
        self.{name} = loader.wanted and torch.cuda.is_available()
        if self.{name}:
            number = torch.cuda.current_device()
        else:
            number = None
        self.number = number
"""


@pytest.mark.parametrize(("name", "verdict"), [("pin_memory", "locks-in"), ("fast", "falls-back")])
def test_what_only_pins_memory_chooses_no_device(tmp_path: Path, name: str, verdict: str) -> None:
    code = PINS.format(name=name)
    for rule in ("api/torch.cuda.is_available", "cuda-availability-gate"):
        assert of(found(tmp_path, code, rule)) == [(verdict, "certain")]


THREAD = """\
import threading
import torch
def work(queue, pin, device):
    if pin:
        torch.cuda.set_device(device)
class Loader:
    def __init__(self, loader):
        self.pin = loader.wanted and {asked}
        self.thread = threading.{starter}(target=work, args=(self.queue, self.pin, 0))
"""


@pytest.mark.parametrize(
    ("asked", "starter", "verdict"),
    [
        ("torch.cuda.is_available()", "Thread", "locks-in"),
        ("loader.fast", "Thread", "breaks"),
        ("torch.cuda.is_available()", "Timer", "breaks"),
    ],
)
def test_what_a_thread_begins_with_is_called(
    tmp_path: Path, asked: str, starter: str, verdict: str
) -> None:
    code = THREAD.format(asked=asked, starter=starter)
    assert of(found(tmp_path, code, "api/torch.cuda.set_device")) == [(verdict, "certain")]


@pytest.mark.parametrize("more", ["args=rest", "args=(1, True), kwargs=rest"])
def test_what_a_thread_is_given_elsewhere_is_not_known(tmp_path: Path, more: str) -> None:
    code = (
        "import threading\nimport torch\nrest = read()\n"
        "def work(queue, pin=torch.cuda.is_available()):\n    if pin:\n        torch.cuda.synchronize()\n"
        f"threading.Thread(target=work, {more}).start()\n"
    )
    assert of(found(tmp_path, code, "api/torch.cuda.synchronize")) == [("breaks", "certain")]


WORKERS = """import torch
import torch.multiprocessing as mp
import unittest

class TestWorkers:
    @unittest.skipUnless({asked}, "")
    def test_all(self):
        mp.spawn({worker}, {given}nprocs=2)

    @staticmethod
    def _worker(rank, size):
        torch.cuda.set_device(rank)
        print(size)
"""


@pytest.mark.parametrize("given", ["(2,), ", "args=(2,), ", "args=rest, "])
@pytest.mark.parametrize(
    ("asked", "worker", "verdict"),
    [
        ("torch.cuda.is_available()", "self._worker", "locks-in"),
        ("ready()", "self._worker", "breaks"),
        ("torch.cuda.is_available()", "other", "breaks"),
    ],
)
def test_what_is_spawned_is_called_where_that_is_said(
    tmp_path: Path, given: str, asked: str, worker: str, verdict: str
) -> None:
    code = WORKERS.format(asked=asked, worker=worker, given=given)
    assert of(found(tmp_path, code, "api/torch.cuda.set_device")) == [(verdict, "certain")]


TARGET = "import {library}\ndef f(module):\n    {name} = 'cuda'\n    return {library}.build(module, {name})\n"


@pytest.mark.parametrize(("name", "confidence"), [("target", "possible"), ("device", "certain")])
def test_a_target_of_a_compiler_may_be_no_device(
    tmp_path: Path, name: str, confidence: str
) -> None:
    code = TARGET.format(library="tvm", name=name)
    assert of(found(tmp_path, code, "hardcoded-cuda-device")) == [("breaks", confidence)]


@pytest.mark.parametrize(
    ("asked", "confidence"),
    [("target", "possible"), ("device", "certain"), ("str(model.device)", "certain")],
)
def test_what_begins_with_cuda_may_be_no_device(
    tmp_path: Path, asked: str, confidence: str
) -> None:
    code = f"def f(target, device, model):\n    return {asked}.startswith('cuda')\n"
    assert of(found(tmp_path, code, "cuda-device-gate")) == [("locks-in", confidence)]


@pytest.mark.parametrize(
    ("option", "confidence"),
    [("--target", "possible"), ("--device", "likely"), ("--where", "likely")],
)
def test_an_option_may_choose_what_a_compiler_builds_for(
    tmp_path: Path, option: str, confidence: str
) -> None:
    code = (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        f"parser.add_argument('{option}', default='cuda')\n"
    )
    assert of(found(tmp_path, code, "cuda-default-device")) == [("breaks", confidence)]


DEBUG = """\
import torch
class Net(torch.nn.Module):
    def __init__(self, debug, level):
        super().__init__()
        self.debug = debug
        self.level = level
    def forward(self, x: torch.Tensor, debug_value=None):
        if debug_value is not None:
            debug_value = float(debug_value)
        {test}
            x = torch.exp2(x)
        return x
"""


@pytest.mark.parametrize(
    ("test", "sure"),
    [
        ("if self.debug:", False),
        ("if debug_value is not None:", False),
        ("if self.training and self.debug:", False),
        ("if not self.debug:", True),
        ("if self.training or self.debug:", True),
        ("if debug_value is None:", True),
        ("if self.level:", True),
    ],
)
def test_what_looks_for_errors_does_not_run_every_step(
    tmp_path: Path, test: str, sure: bool
) -> None:
    (finding,) = found(tmp_path, DEBUG.format(test=test), "operator-support")
    assert (finding.confidence.value != "possible") is sure
    assert ("look for errors" in finding.message) is not sure


CHECKS = """\
import torch
class Net(torch.nn.Module):
    def forward(self, x):
        return x
def check(model: torch.nn.Module, x: torch.Tensor, optimizer):
    for i in range(10):
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        {inside}
model = Net().cuda()
x = torch.rand(2).cuda()
if __name__ == "__main__":
    for i in range(10):
        y = model(x).sum()
        y.backward()
        {outside}
"""


@pytest.mark.parametrize(
    ("inside", "outside", "sure"),
    [
        ("pass", "assert y.item() < 1", False),
        ("pass", "print(y.item())", True),
        ("assert loss.item() < 1", "pass", True),
    ],
)
def test_what_a_script_asserts_of_itself_is_read_once(
    tmp_path: Path, inside: str, outside: str, sure: bool
) -> None:
    code = CHECKS.format(inside=inside, outside=outside)
    findings = found(tmp_path, code, "host-read")
    assert [f.confidence.value != "possible" for f in findings] == [sure]
