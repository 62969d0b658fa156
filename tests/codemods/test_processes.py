"""A port in several processes is the port in one, and survives the death of any."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from neuronport import pool
from neuronport.codemods.engine import processes
from neuronport.codemods.engine.plan import Options, make_plan
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.write import diff
from neuronport.targets import default_target
from neuronport.workspace import open_workspace
from tests.codemods.porting import REVIEW, plant

SAMPLES = Path(__file__).parents[2] / "samples"
FIXTURES = Path(__file__).parent
copied = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only")


def said(root: Path, jobs: int) -> dict[str, Any]:
    """All that a plan says, as plain data."""
    project = Project(open_workspace([str(root)]), [default_target()], lambda _: None, jobs)
    told: list[str] = []
    options = Options(safeties=REVIEW, annotate=True, progress=told.append, jobs=jobs)
    plan = make_plan(project, options)
    return {
        "diffs": [diff(item) for item in plan.rewritten],
        "changes": [(c.file, c.edits, c.group, str(c.safety), c.note) for c in plan.changes],
        "converted": [f.fingerprint for f in plan.converted],
        "held": [(c.file, c.edits) for c in plan.held_back],
        "left": [x.as_json() for x in plan.left],
        "failed": [f.as_json() for f in plan.failed],
        "told": sorted(told),
    }


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Samples, fixtures of the codemods, and files that are not rewritten."""
    for name in ("gpt_trainer", "lora_finetune"):
        shutil.copytree(SAMPLES / name, tmp_path / name)
    for folder in ("cuda_guard", "distributed", "device_seam", "mask_reduction"):
        for file in sorted((FIXTURES / folder).glob("*.in.py")):
            plant(tmp_path, {f"{folder}/{file.name.partition('.')[0]}.py": file.read_bytes()})
    plant(
        tmp_path,
        {
            "old.py": "print 'x'\n",
            "taken.py": "import torch\nget_device = port_get_device = 1\nx = torch.ones(1).cuda()\n",
        },
    )
    return tmp_path


@copied
def test_the_same_with_one_process_and_with_three(
    whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = said(whole, 1)
    monkeypatch.setattr(processes, "WORTH_IT", 0)
    monkeypatch.setattr(pool, "_WORTH_IT", 0)
    begun: list[object] = []
    start = processes._Processes._start
    monkeypatch.setattr(
        processes._Processes, "_start", lambda self: (begun.append(self), start(self))[1]
    )
    together = said(whole, 3)
    assert len(begun) >= 6  # to plan and to rewrite
    assert together == alone
    assert len(alone["changes"]) > 40
    assert alone["failed"]


@copied
def test_files_that_are_let_go_of_and_read_again(
    whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = said(whole, 1)
    monkeypatch.setattr("neuronport.codemods.engine.project._KEPT", 1)
    assert said(whole, 1) == kept


@copied
def test_a_process_that_dies_costs_what_it_was_at() -> None:
    done: list[int] = []

    def work(number: int) -> int:
        if number in (3, 11):
            os._exit(9)
        return number * number

    answers = processes.each(range(20), work, 2, lambda: done.append(1))
    assert len(done) == 20
    for number, answer in enumerate(answers):
        if number in (3, 11):
            assert isinstance(answer, processes.Died)
        else:
            assert answer == number * number


@copied
def test_every_process_may_die() -> None:
    answers = processes.each(range(6), lambda _: os._exit(9), 2, lambda: None)
    assert all(isinstance(a, processes.Died) for a in answers)


@copied
def test_a_fault_is_raised_where_it_was_asked_for() -> None:
    def work(number: int) -> int:
        return 1 // (number - 7)

    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        processes.each(range(20), work, 2, lambda: None)


@copied
def test_what_a_dead_process_was_at_is_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = 'import torch\nx = torch.zeros(3, device="cuda")\n'
    plant(tmp_path, {f"m{i}.py": code for i in range(8)})
    monkeypatch.setattr(processes, "WORTH_IT", 0)
    from neuronport.codemods.engine import plan

    rewritten = plan.rewritten_text

    def dies(source: Any, *rest: Any) -> str:
        if source.path == "m5.py":
            os._exit(9)
        return rewritten(source, *rest)

    monkeypatch.setattr(plan, "rewritten_text", dies)
    found = said(tmp_path, 2)
    assert [f["path"] for f in found["failed"]] == ["m5.py"]
    assert len(found["diffs"]) == 8  # the seam and the others
    assert [x["path"] for x in found["left"]] == ["m5.py"]
