"""The scaffold for the xla path: written, completed as a person would, and run with a stand-in for
torch-neuronx that traces on the CPU."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from neuronport.cli import cli
from neuronport.codemods.engine.scaffold import scaffolds
from tests.codemods.porting import plant

pytest.importorskip("torch")
STAND_IN = """
import torch

def trace(func, example_inputs, compiler_args=None, cpu_backend=False):
    assert compiler_args is None or isinstance(compiler_args, list)
    return torch.jit.trace(func, example_inputs)
"""
MODEL = """
import torch
from torch import nn


class Mixer(nn.Module):
    def forward(self, x):
        return x * 2


class Tagger(nn.Module):
    def __init__(self, words=50, size=8):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(words, size)
        self.mix = Mixer()
        self.out = nn.Linear(size, 3)

    def forward(self, ids, mask):
        return self.out(self.mix(self.embed(ids)) * mask.unsqueeze(-1))
"""
EXAMPLE = """
def example(bucket):
    return torch.arange(bucket)[None] % 50, torch.ones(1, bucket, dtype=torch.long)
"""


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder.parent / "stand_in")},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    plant(tmp_path, {"tree/app/__init__.py": "", "tree/app/net.py": MODEL})
    plant(tmp_path, {"tree/stand_in/torch_neuronx.py": STAND_IN})
    done = CliRunner().invoke(
        cli,
        ["port", str(tmp_path / "tree"), "--scaffold", "xla", "--write", "--exclude", "stand_in"],
    )
    assert done.exit_code == 0, done.output
    folder = tmp_path / "tree" / "neuron_xla"
    model = folder / "neuron_model.py"
    text = model.read_text("utf-8")
    assert "return Tagger().eval()" in text, "the one module that no other is made of"
    head, _, rest = text.partition("def example(bucket):")
    tail = rest.partition("\ndef length(")[2]
    model.write_text(f"{head}{EXAMPLE}\n\ndef length({tail}", "utf-8")
    return folder


def test_compiles_checks_and_runs(project: Path) -> None:
    done = python(
        project,
        "compile_model.py",
        "--bucket",
        "16",
        "--bucket",
        "8",
        "--cpu-backend",
        "--compiler-args",
        "--target inf2",
    )
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in (project / "compiled").iterdir()) == [
        "buckets.json",
        "model_16.pt",
        "model_8.pt",
    ]
    done = python(project, "check_model.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok") == 4
    assert "bucket 16, length 12" in done.stdout
    done = python(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_smoke.py")
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout


def test_the_check_finds_another_model(project: Path) -> None:
    assert python(project, "compile_model.py", "--bucket", "8").returncode == 0
    net = project.parent / "app" / "net.py"
    net.write_text(MODEL.replace("manual_seed(0)", "manual_seed(1)"), "utf-8")
    done = python(project, "check_model.py")
    assert done.returncode == 1
    assert "TOO FAR" in done.stdout


def test_the_smallest_bucket_that_holds_the_inputs_is_run(project: Path) -> None:
    assert python(project, "compile_model.py", "--bucket", "4", "--bucket", "8").returncode == 0
    done = python(
        project,
        "-c",
        "import torch; from run_model import Compiled; c = Compiled()\n"
        "x = torch.ones(1, 5, dtype=torch.long)\n"
        "print(c(x, x).shape, sorted(c._graphs))\n"
        "x = torch.ones(1, 9, dtype=torch.long)\nc(x, x)",
    )
    assert "torch.Size([1, 5, 3]) [8]" in done.stdout
    assert "longer than the largest bucket" in done.stderr


def test_nothing_is_written_twice(project: Path) -> None:
    before = {p.name: p.read_bytes() for p in project.iterdir() if p.is_file()}
    done = CliRunner().invoke(
        cli, ["port", str(project.parent), "--scaffold", "xla", "--write", "--allow-dirty"]
    )
    assert done.exit_code == 0
    assert "stays" in done.stderr
    assert {p.name: p.read_bytes() for p in project.iterdir() if p.is_file()} == before


def test_what_cannot_be_known_is_asked_for(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "a.py": "import torch\nclass A(torch.nn.Module):\n    def __init__(self, n): ..."
            "\n    def forward(self, x): return x\n"
        },
    )
    done = CliRunner().invoke(cli, ["port", str(tmp_path), "--scaffold", "xla", "--write"])
    assert done.exit_code == 0
    text = (tmp_path / "neuron_xla" / "neuron_model.py").read_text("utf-8")
    assert "from a import A    # A(n)" in text
    run = python(tmp_path / "neuron_xla", "-c", "import neuron_model; neuron_model.load()")
    assert run.returncode == 1
    assert "say how the model is made" in run.stderr
    shutil.rmtree(tmp_path / "neuron_xla")
    assert CliRunner().invoke(cli, ["port", str(tmp_path), "--scaffold", "tpu"]).exit_code == 2
    assert scaffolds() == ("xla",)


def test_the_audit_leaves_the_scaffold_alone(project: Path) -> None:
    done = CliRunner().invoke(cli, ["audit", str(project), "--target", "native", "--no-config"])
    assert "nothing found" in done.stdout
    assert "without effect" not in done.stdout
