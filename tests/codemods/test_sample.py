"""The samples, ported: they train to the same losses, and their audit has only what was left by hand.

Losses are compared bit by bit, step by step: with the safe changes and with those under review. The
sample that needs a GPU and libraries runs with stand-ins for both, and says what it hands to them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from neuronport.cli import cli
from neuronport.codemods.engine.plan import Plan
from tests.codemods.porting import plan_for

pytest.importorskip("torch")
SAMPLES = Path(__file__).parents[2] / "samples"
STAND_INS = Path(__file__).parent / "stand_ins"

RECORDED = """
import os, runpy, sys, torch
backward = torch.Tensor.backward
def recorded(self, *args, **kwargs):
    print("LOSS", float(self.detach()).hex(), flush=True)
    return backward(self, *args, **kwargs)
torch.Tensor.backward = recorded
there, what, *sys.argv[1:] = sys.argv[1:]
if there:
    getattr(torch, there, torch).is_available = lambda: True
    if there == "neuron":
        import types
        torch.neuron = types.SimpleNamespace(is_available=lambda: True)
sys.path[0] = os.getcwd()
if what.endswith(".py"):
    sys.argv[0] = what
    runpy.run_path(what, run_name="__main__")
else:
    runpy.run_module(what, run_name="__main__", alter_sys=True)
"""
"""Runs a program and prints every loss that is propagated, to its last bit."""

_TIME = re.compile(r"(time |\| )?[\d.]+ ms\b|time [\d.]+|[\d.]+ ?s\b|tok/s [\d.]+|[\d,.]+ tok\w*/s")


class Sample(NamedTuple):
    command: list[str]
    losses: int
    converted: int
    """How many findings a port converts, at least: (safe, with review) is never nothing."""
    there: str = ""
    """The device that is pretended to be there."""
    library: str = ""


GPT = ["--device", "cpu", "--steps", "5", "--n-layer", "1", "--n-embd", "32", "--batch-size", "8"]
GPT += ["--warmup", "2", "--lr", "1e-2"]
RUNS = {
    "gpt_trainer": Sample(["train.py", *GPT], 5, 15),
    "detector": Sample(["train.py", "--steps", "8"], 8, 1),
    "image_classifier": Sample(["train.py", "--synthetic", "96", "--epochs", "1"], 3, 1),
    "cuda_extension": Sample(["examples.train", "--steps", "12"], 12, 1),
    "lora_finetune": Sample(["finetune.py", "--batch-size", "1"], 4, 3, "cuda", "stand_ins"),
}


def run(folder: Path, sample: Sample, there: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(STAND_INS)} if sample.library else {}
    there = sample.there if there is None else there
    return subprocess.run(
        [sys.executable, "-c", RECORDED, there, *sample.command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={**clean(), **environment},
    )


def clean() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "CUDA_VISIBLE_DEVICES")}


def said(folder: Path, sample: Sample) -> list[str]:
    """All that a run prints but times; the losses to the last bit."""
    done = run(folder, sample)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [" ".join(_TIME.sub("…", line).split()) for line in done.stdout.splitlines()]
    assert sum(line.startswith("LOSS ") for line in lines) == sample.losses, done.stdout
    return lines


def declared(plan: Plan) -> Counter[tuple[str, str]]:
    """The findings that a port says are left, by rule and file."""
    left = [(x.finding.rule, x.finding.location.path) for x in plan.left]
    return Counter([*left, *((c.finding.rule, c.file) for c in plan.held_back)])


def port(folder: Path, *options: str) -> None:
    done = CliRunner().invoke(cli, ["port", str(folder), "--write", "--no-config", *options])
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize("name", RUNS)
def test_trains_to_the_same_losses_and_only_what_was_declared_is_left(
    tmp_path: Path, name: str
) -> None:
    sample, copy = RUNS[name], tmp_path / name
    shutil.copytree(SAMPLES / name, copy, ignore=shutil.ignore_patterns("out", "__pycache__"))
    before = said(copy, sample)
    for options in ([], ["--review"]):
        _, plan = plan_for(copy, bool(options))
        assert not plan.failed
        assert options or len(plan.converted) >= sample.converted
        port(copy, *options)
        assert said(copy, sample) == before, f"with {options or 'safe changes'}"
        again, second = plan_for(copy, bool(options))
        assert second.rewritten == []
        # What the port has decided, and what it keeps for CUDA, may be seen and is left to nobody.
        settled = {x.finding.fingerprint for x in second.left if x.reason in ("done", "cuda-only")}
        remaining = Counter(
            (f.rule, f.location.path) for f in again.part.findings if f.fingerprint not in settled
        )
        assert remaining <= declared(plan), remaining - declared(plan)


def test_what_libraries_are_given_is_for_the_device_that_is_there(tmp_path: Path) -> None:
    sample, copy = RUNS["lora_finetune"], tmp_path / "sample"
    shutil.copytree(SAMPLES / "lora_finetune", copy)
    refused = run(copy, sample, there="")
    assert refused.returncode != 0
    assert "needs a GPU" in refused.stderr
    port(copy, "--review")
    again = run(copy, sample, there="")
    assert (again.returncode, again.stdout, again.stderr) == (
        refused.returncode,
        refused.stdout,
        refused.stderr,
    )
    # There is no such device: the run ends where the model is moved to it.
    neuron = run(copy, sample, there="neuron")
    assert "quantization_config=None" in neuron.stdout
    assert "device_map=None" in neuron.stdout
    assert "'neuron'" in neuron.stderr or "neuron" in neuron.stderr.splitlines()[-1]
    # What asked for a GPU without a question runs on a CPU now.
    sample = sample._replace(command=["generate.py", "--prompt", "x", "--max-new-tokens", "4"])
    assert run(copy, sample, there="").returncode == 0
