"""``--record`` of the commands."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from neuronport import records
from tests.cli.running import neuronport
from tests.records.making import check

SAMPLE = Path(__file__).parents[2] / "samples" / "gpt_trainer"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(SAMPLE, tmp_path / "project")
    return tmp_path / "project"


def test_an_audit_leaves_exactly_what_it_prints(project: Path) -> None:
    done = neuronport("audit", project, "--format", "json", "--record")
    folder = project / ".neuronport"
    assert "recorded in" in done.stderr
    document = json.loads((folder / "audit.json").read_text("utf-8"))
    check(document)
    assert document["body"] == json.loads(done.stdout)
    assert document["tool"]["rules"] == document["body"]["tool"]["rules"]
    assert "train.py" in document["inputs"]
    record = records.load(str(folder)).audit
    assert record is not None
    assert record.state == "current"
    assert record.tree["name"] == "project"


def test_records_do_not_change_what_is_found(project: Path) -> None:
    first = neuronport("audit", project, "--format", "json", "--record").stdout
    assert neuronport("audit", project, "--format", "json", "--record").stdout == first


def test_the_time_can_be_given(project: Path) -> None:
    file = project / ".neuronport" / "audit.json"
    seen = set()
    for _ in range(2):
        neuronport("audit", project, "-q", "--record", env={"SOURCE_DATE_EPOCH": "86400"})
        seen.add(file.read_bytes())
    (data,) = seen
    assert json.loads(data)["made"] == "1970-01-02T00:00:00Z"


def test_a_path_is_not_taken_for_the_folder(project: Path) -> None:
    before = sorted(p.name for p in project.iterdir())
    done = neuronport("audit", "--record", project)
    assert done.returncode == 2
    assert "holds other things than records" in done.stderr
    assert sorted(p.name for p in project.iterdir()) == before
    assert neuronport("audit", "-", "--record", stdin=b"").returncode == 2


def test_a_folder_that_cannot_be_written(project: Path) -> None:
    (project.parent / "file").write_text("")
    done = neuronport("audit", project, "-q", "--record", project.parent / "file" / "below")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_settings_and_a_baseline_are_inputs(project: Path) -> None:
    (project / "neuronport.toml").write_text(
        'baseline = "known.json"\nextend-exclude = ["tests/"]\n'
    )
    neuronport("audit", project, "-q", "--write-baseline", project / "known.json", "--no-config")
    neuronport("audit", project, "-q", "--record")
    record = records.load(str(project / ".neuronport")).audit
    assert record is not None
    assert {"neuronport.toml", "known.json"} <= record.inputs.keys()
    assert record.stale == ()
    (project / "tests" / "new.py").write_text("")
    assert records.load(str(project / ".neuronport")).audit.stale == ()  # type: ignore[union-attr]


def test_rules_that_were_not_asked_are_told(project: Path) -> None:
    neuronport("audit", project, "-q", "--record", "--select", "device", "--ignore", "slow")
    record = records.load(str(project / ".neuronport")).audit
    assert record is not None
    assert {"reason": "not-selected", "detail": "only device; not slow"}.items() <= (
        record.not_looked_at[0].items()
    )
    check(json.loads((project / ".neuronport" / "audit.json").read_text("utf-8")))


def test_a_port_is_about_what_it_left(project: Path) -> None:
    neuronport("audit", project, "-q", "--record")
    done = neuronport("port", project, "--write", "--allow-dirty", "--format", "json", "--record")
    found = records.load(str(project / ".neuronport"))
    assert found.port is not None
    assert found.port.body == json.loads(done.stdout)
    assert found.port.state == "current"
    check(json.loads((project / ".neuronport" / "port.json").read_text("utf-8")))
    assert found.audit is not None
    assert {c.what for c in found.audit.stale} == {"changed", "new"}


def test_a_port_that_is_written_is_counted_as_it_was_shown(project: Path) -> None:
    shown = json.loads(neuronport("port", project, "--format", "json", "-q").stdout)
    done = neuronport("port", project, "--write", "--allow-dirty", "--format", "json", "-q")
    assert json.loads(done.stdout)["churn"] == shown["churn"]
    assert shown["churn"]["lines"]["changed"] > 0


def test_a_port_that_is_only_shown_is_about_what_is_there(project: Path) -> None:
    neuronport("port", project, "-q", "--record")
    found = records.load(str(project / ".neuronport"))
    assert found.port is not None
    assert found.port.state == "current"
    assert not any(f["written"] for f in found.port.body["files"])


def test_churn_between_two_folders(project: Path) -> None:
    shutil.copytree(project, project.parent / "after")
    (project.parent / "after" / "train.py").write_text("x = 1\n")
    words = f"{project}..{project.parent / 'after'}"
    neuronport("port", project, "--churn", words, "--record")
    record = records.load(str(project / ".neuronport")).churn
    assert record is not None
    assert record.body["schema"] == "neuronport/churn/1"
    check(json.loads((project / ".neuronport" / "churn.json").read_text("utf-8")))


def test_graphs_go_beside_the_audit_of_the_tree(project: Path) -> None:
    pytest.importorskip("torch")
    (project / "nets").mkdir()
    (project / "nets" / "small.py").write_text(
        "import torch\n"
        "def model():\n    return torch.nn.Linear(2, 2)\n"
        "def inputs():\n    return (torch.zeros(1, 2),)\n"
    )
    neuronport("audit", project, "-q", "--record")
    done = neuronport("graph", project / "nets" / "small.py", "--format", "json", "--record")
    found = records.load(str(project / ".neuronport"))
    (record,) = found.graphs
    assert record.body == json.loads(done.stdout)
    assert "nets/small.py" in record.inputs
    assert record.state == "current"
    check(json.loads(Path(record.file).read_text("utf-8")))
