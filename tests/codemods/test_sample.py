"""The sample, ported: it trains to the same losses, and its audit has only what was left by hand."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.codemods.porting import plan_for, port

pytest.importorskip("torch")
SAMPLE = Path(__file__).parents[2] / "samples" / "gpt_trainer"
SMALL = ["--n-layer", "1", "--n-embd", "32", "--batch-size", "8", "--warmup", "2", "--lr", "1e-2"]


def losses(folder: Path, out: Path) -> list[str]:
    done = subprocess.run(
        [
            sys.executable,
            "train.py",
            "--device",
            "cpu",
            "--out-dir",
            str(out),
            "--steps",
            "5",
            *SMALL,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    return re.findall(r"\| loss ([\d.]+)", done.stdout)


@pytest.mark.parametrize("review", [False, True], ids=["safe", "review"])
def test_trains_to_the_same_losses_and_only_what_was_declared_is_left(
    tmp_path: Path, review: bool
) -> None:
    copy = tmp_path / "sample"
    shutil.copytree(SAMPLE, copy, ignore=shutil.ignore_patterns("out", "__pycache__"))
    before = losses(copy, tmp_path / "a")
    _, plan = plan_for(copy, review)
    assert not plan.failed
    declared = {(x.finding.rule, x.finding.location.path) for x in plan.left}
    declared |= {(c.finding.rule, c.file) for c in plan.held_back}
    # Both the places that were converted and those that are left are many: the test is not empty.
    assert len(plan.converted) >= 15
    port(copy, review)
    assert losses(copy, tmp_path / "b") == before
    again, second = plan_for(copy, review)
    assert second.rewritten == []
    remaining = {(f.rule, f.location.path) for f in again.part.findings}
    assert remaining <= declared, json.dumps(sorted(remaining - declared), indent=1)
