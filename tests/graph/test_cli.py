from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.graph.running import MODELS, ROOT, SAMPLE

pytest.importorskip("torch")


def neuronport(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "neuronport", "graph", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_says_before_that_it_runs_code_and_with_which_limits() -> None:
    done = neuronport(str(SAMPLE), "--no-audit", "--time-limit", "200", "--memory-limit", "5000")
    first = done.stderr.splitlines()[0]
    assert "runs the code of" in first
    assert "200 s" in first
    assert "5000 MB" in first
    assert done.returncode == 0


def test_writes_forms_and_exits_by_the_findings(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    model = str(MODELS / "selective.py")
    done = neuronport(model, "--format", "analyze", "-o", f"json={out}", "-t", "xla")
    assert done.returncode == 1
    assert json.loads(done.stdout)["support_percentage"]
    assert json.loads(out.read_text(encoding="utf-8"))["schema"] == "neuronport/graph/1"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["x.py", "-t", "nowhere"], 2),
        (["x.py", "--range", "a"], 2),
        (["x.py", "--format", "pdf"], 2),
        (["no_such_file.py"], 3),
    ],
)
def test_what_cannot_be_done(arguments: list[str], status: int) -> None:
    done = neuronport(*arguments)
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_no_torch_without_the_command() -> None:
    code = (
        "import sys, neuronport.cli as c; c.cli.get_command(None, 'graph');"
        "import neuronport.graph.result, neuronport.graph.reports.text;"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)
