"""A condition on a parameter is known where every call in the tree passes what is known."""

from __future__ import annotations

import pytest

from tests.rules.judging import judge_files

CALLEE = """
import torch

def step(model, use_cuda=False):
    if use_cuda:
        torch.cuda.synchronize()
"""
COMPUTED = """
import torch
from callee import step

gpu = torch.cuda.is_available()
step(None, gpu)
"""
PASSED_ON = """
import torch
from callee import step

def run(model, on):
    step(model, use_cuda=on and model is not None)

run(None, torch.cuda.is_available())
"""


def verdict(tmp_path, *callers):
    files = {"callee.py": CALLEE, **{f"caller{i}.py": c for i, c in enumerate(callers)}}
    part = judge_files(tmp_path, files)
    assert not part.not_looked_at
    (found,) = [f for f in part.findings if f.rule == "api/torch.cuda.synchronize"]
    return str(found.verdict)


@pytest.mark.parametrize("callers", [[COMPUTED], [PASSED_ON], [COMPUTED, PASSED_ON]])
def test_guarded_when_every_call_passes_whether_cuda_is_there(tmp_path, callers):
    assert verdict(tmp_path, *callers) == "locks-in"


@pytest.mark.parametrize(
    "other",
    [
        "from callee import step\nstep(None, True)\n",
        "from callee import step\nstep(None)\n",
        "from callee import step\nstep(None, False)\n",
        "from callee import step\ndef run(args):\n    step(None, args.gpu)\n",
        "from callee import step\ndef run(all):\n    step(*all)\n",
    ],
    ids=["true", "default", "false", "unknown", "star"],
)
def test_not_guarded_when_one_call_may_pass_something_else(tmp_path, other):
    assert verdict(tmp_path, COMPUTED, other) == "breaks"
    assert verdict(tmp_path, other) == "breaks"
