"""``neuronport report`` on the command line, on the records that the other commands leave."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .running import neuronport

CODE = """import torch

model = torch.nn.Linear(2, 2).to("cuda")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(CODE, encoding="utf-8")
    return folder


def test_from_the_records_of_audit_and_port(project: Path) -> None:
    assert neuronport("audit", ".", "--record", "-q", cwd=project).returncode == 1
    assert neuronport("port", ".", "--record", "-q", cwd=project).returncode == 0
    done = neuronport("report", cwd=project)
    assert (done.returncode, done.stdout) == (0, "")
    assert "html report in" in done.stderr
    page = (project / ".neuronport" / "report.html").read_text(encoding="utf-8")
    assert "<h1><span data-quoted>project</span>" in page
    assert "holds: what it looked at is unchanged" in page
    assert "get_device" in page  # the proposed diff
    # the page beside the records is no record, and changes nothing
    again = neuronport("report", "--format", "json", cwd=project)
    data = json.loads(again.stdout)
    assert data["audit"]["sure_errors"] == 1
    assert data["waves"][0]["wave"] == "written"
    assert data["records"]["problems"] == []
    assert {r["state"] for r in data["records"]["rows"]} == {"current"}
    (project / "train.py").write_text(CODE + "x = 1\n", encoding="utf-8")
    data = json.loads(neuronport("report", "--format", "json", cwd=project).stdout)
    assert {r["state"] for r in data["records"]["rows"]} == {"stale"}


def test_the_same_records_give_the_same_bytes(project: Path) -> None:
    neuronport("audit", ".", "--record", "-q", cwd=project)
    for form in ("html", "markdown", "json"):
        first, second = (neuronport("report", "--format", form, cwd=project) for _ in range(2))
        assert first.returncode == 0
        assert first.stdout == second.stdout
        assert len(first.stdout) > 1000


def test_before_and_after_a_port(project: Path) -> None:
    neuronport("audit", ".", "--record", "-q", cwd=project)
    ported = project.parent / "ported"
    assert neuronport("port", ".", "--out", str(ported), "-q", cwd=project).returncode == 0
    assert neuronport("audit", ".", "--record", "-q", cwd=ported).returncode == 0
    done = neuronport("report", ".", "--against", str(project), "--format", "json", cwd=ported)
    found = json.loads(done.stdout)["comparison"]
    assert found["findings"]["before"]["error"] == 1
    assert found["findings"]["after"]["error"] == 0
    assert found["not_comparable"] == []


def test_without_records_it_says_how_to_make_one(tmp_path: Path) -> None:
    for arguments in (["report"], ["report", "nowhere"]):
        done = neuronport(*arguments, cwd=tmp_path)
        assert done.returncode == 3
        assert "there is no record" in done.stderr
        assert "--record" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_a_usage_error(project: Path) -> None:
    neuronport("audit", ".", "--record", "-q", cwd=project)
    for output in ("html=/dev/null/x.html", "pdf=x.pdf", "html="):
        done = neuronport("report", "--output", output, cwd=project)
        assert done.returncode == 2, output
        assert "Traceback" not in done.stderr
    done = neuronport("report", "--against", "nowhere", cwd=project)
    assert done.returncode == 3
