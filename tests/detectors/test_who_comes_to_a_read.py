"""How sure a read is by who comes to it: by what is passed, by what handles data, the first time."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.findings import Finding
from tests.rules.judging import judge_files


def found(tmp_path: Path, code: str, rule: str = "host-read") -> list[Finding]:
    part = judge_files(tmp_path, {"case.py": code}, ("native",))
    return [f for f in part.findings if f.rule == rule]


ASKED = """\
import torch

def padded(lengths: torch.Tensor, size={default}, mode="fast"):
    if {test}:
        n = lengths.max().item()
        return torch.relu(lengths)[:n]
    return lengths

class Net(torch.nn.Module):
    def forward(self, x, n):
        lengths = torch.relu(x).sum(-1)
        try:
            return padded({passed})
        except RuntimeError:
            return padded(lengths, n, "slow")
"""


@pytest.mark.parametrize(
    ("default", "test", "passed", "sure"),
    [
        ("None", "size is None", "lengths", "certain"),
        ("None", "size is None", "lengths, x.size(1)", "possible"),
        ("None", "size is None", "lengths, size=n", "possible"),
        ("0", "size == 0", "lengths, x.size(1)", "possible"),
        ("0", "not size > 0", "lengths", "certain"),
        ("None", "mode == 'slow'", "lengths", "possible"),
        ("None", "mode == 'slow' and size", "lengths", "possible"),
        ("None", "mode == 'fast'", "lengths", "certain"),
        ("None", "mode != 'slow'", "lengths", "certain"),
        # What is not told apart.
        ("None", "mode == x", "lengths", "certain"),
    ],
)
def test_a_read_is_made_for_whoever_passes_what_it_is_for(
    tmp_path: Path, default: str, test: str, passed: str, sure: str
) -> None:
    (read,) = found(tmp_path, ASKED.format(default=default, test=test, passed=passed))
    assert read.confidence.value == sure


def test_who_comes_is_named(tmp_path: Path) -> None:
    code = ASKED.format(default="None", test="size is None", passed="lengths, n")
    code += (
        "\nclass Predictor(torch.nn.Module):\n    def forward(self, x):\n"
        "        return padded(torch.relu(x))\n"
    )
    (read,) = found(tmp_path, code)
    assert read.confidence.value == "certain"
    assert "called from Predictor.forward" in read.message


FIRST = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.scale = None

    def fit(self, x: torch.Tensor):
        return torch.relu(x).max().item()

    def forward(self, x):
        if {test}:
            self.scale = self.fit(x)
        return self.layer(x)
"""


@pytest.mark.parametrize(
    ("test", "sure"),
    [
        ("self.scale is None", "possible"),
        ("not self.initialized", "possible"),
        ("self.training", "certain"),
    ],
)
def test_what_is_called_the_first_time_only(tmp_path: Path, test: str, sure: str) -> None:
    (read,) = found(tmp_path, FIRST.format(test=test))
    assert read.confidence.value == sure


OFFSET = """\
import torch

class Positions(torch.nn.Module):
    def forward(self, x, offset=0):
        if isinstance(offset, {of}):
            assert offset < 5
        else:
            assert torch.max(offset) < 5
        return x
"""


@pytest.mark.parametrize(("of", "sure"), [("int", "possible"), ("list", "certain")])
def test_what_is_mostly_a_number(tmp_path: Path, of: str, sure: str) -> None:
    (test,) = found(tmp_path, OFFSET.format(of=of), "tensor-branch")
    assert test.confidence.value == sure


DATA = """\
import torch
from torch.utils.data import Dataset

class Crop(torch.nn.Module):
    def forward(self, x):
        return cropped(torch.relu(x))

def cropped(x: torch.Tensor):
    return int(torch.sum(x))

class {name}({base}):
    def {method}(self, i):
        return cropped(self.images[i])
"""


@pytest.mark.parametrize(
    ("name", "base", "method", "sure"),
    [
        ("Images", "Dataset", "__getitem__", "possible"),
        ("Images", "Dataset", "load", "possible"),
        ("Net", "torch.nn.Module", "forward", "likely"),
    ],
)
def test_what_handles_data_works_on_the_host(
    tmp_path: Path, name: str, base: str, method: str, sure: str
) -> None:
    code = DATA.format(name=name, base=base, method=method)
    if "Dataset" in base:
        code = code.replace("cropped(torch.relu(x))", "x")
        # What a loop trains with is still only called by the data set.
        code += (
            "\ndef train(model, optimizer, images: Images):\n    for i in range(3):\n"
            "        model(images[i]).backward()\n        optimizer.step()\n"
        )
    for read in found(tmp_path, code):
        assert read.confidence.value == sure


HELD = """\
import torch

class Masked(torch.nn.Module):
    def forward(self, x, lengths):
        for i, n in enumerate(lengths):
            x[i, n.item():] = 0
        return x

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.masked = Masked()

    def forward(self, x, lengths):
        return self.masked(x, {passed})
"""


@pytest.mark.parametrize(("passed", "reads"), [("lengths.cpu()", False), ("lengths", True)])
def test_what_a_model_is_run_with_may_lie_on_the_host(
    tmp_path: Path, passed: str, reads: bool
) -> None:
    said = found(tmp_path, HELD.format(passed=passed))
    assert any(".item()" in f.message for f in said) is reads


MOVED = """\
import torch

def evaluate(loader):
    device = torch.device("{device}")
    model = torch.nn.Linear(3, 3).to(device)
    for x in loader:
        y = model(x)
        print(y.sum().item())
"""


@pytest.mark.parametrize(("device", "reads"), [("cpu", False), ("cuda", True)])
def test_what_a_model_of_the_host_gives_is_there(tmp_path: Path, device: str, reads: bool) -> None:
    assert bool(found(tmp_path, MOVED.format(device=device))) is reads


PADS = """\
import torch

class Net(torch.nn.Module):
    def forward(self, x, mask):
        pads = {pads}
        {then}
        return x
"""


@pytest.mark.parametrize(
    ("pads", "then", "lines"),
    [
        ("x.device.type == 'neuron' or mask.any()", "x = x + 1", []),
        ("self.training and mask.any()", "x = x + 1", []),
        ("mask.any() and self.training", "x = x + 1", [5]),
        ("self.training and mask.any()", "x = x if pads else -x", [6]),
        ("self.training", "x = -x if pads or mask.any() else x", [6]),
    ],
)
def test_the_last_operand_that_is_bound_is_not_read_there(
    tmp_path: Path, pads: str, then: str, lines: list[int]
) -> None:
    tested = found(tmp_path, PADS.format(pads=pads, then=then), "tensor-branch")
    assert [f.location.line for f in tested] == lines


def test_the_first_operand_lets_the_accelerator_by(tmp_path: Path) -> None:
    code = PADS.format(
        pads="x", then="if x.device.type == 'xla' or mask.any():\n            x = -x"
    )
    part = judge_files(tmp_path, {"case.py": code}, ("native", "xla"))
    (tested,) = (f for f in part.findings if f.rule == "tensor-branch")
    assert [t.partition("@")[0] for t in tested.by_target] == ["native"]


TRANSLATE = """\
import torch

class Text:
    def _predict(self, x):
        return self.model(x)

    def {name}(self, x):
        while True:
            x = self.{run}(x)
            if x.sum().item() > 3:
                break
        return x
"""


@pytest.mark.parametrize(
    ("name", "run", "hot"),
    [
        ("translate", "_predict", True),
        ("transcribe", "model", True),
        ("transpose", "model", False),
        ("translate", "_shift", False),
    ],
)
def test_what_translates_generates(tmp_path: Path, name: str, run: str, hot: bool) -> None:
    assert bool(found(tmp_path, TRANSLATE.format(name=name, run=run))) is hot
