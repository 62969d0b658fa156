"""``neuronport portability`` as a person runs it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from neuronport.records import load
from tests.cli.running import neuronport
from tests.portability.making import pickled, run_body, safetensors, zipped
from tests.records.making import check

SAMPLE = Path(__file__).parents[2] / "samples" / "gpt_trainer"
CONTRACT = """
[contract]
requires = ["source"]
workload = "chat"
throughput = { at_least = 900, unit = "tokens/s" }
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(SAMPLE, tmp_path / "project")
    return tmp_path / "project"


def test_the_arc_on_a_sample(project: Path) -> None:
    neuronport("audit", project, "-q", "--record")
    neuronport("port", project, "-q", "--record")
    done = neuronport("portability", project, "--format", "json", "--record")
    body = json.loads(done.stdout)
    check(body, "portability")
    assert done.returncode == 0
    assert body["levels"]["source"]["verdict"] == "holds with changes"
    assert body["levels"]["artifact"]["verdict"] == "not measured"
    assert body["levels"]["performance"]["verdict"] == "not measured"
    # Every figure is that of the records.
    found = load(str(project / ".neuronport"))
    assert found.audit is not None
    assert found.port is not None
    target = found.audit.body["targets"][0]["target"]
    figures = body["levels"]["source"]["figures"]
    errors = [
        f
        for f in found.audit.body["findings"]
        if f["level"] == "error"
        and f["context"]["role"] == "code"
        and f["by_target"][target]["confidence"] != "possible"
    ]
    assert figures["by_target"][target]["errors"] == len(errors)
    churn = found.port.body["churn"]
    assert figures["churn"]["references_converted"] == churn["references"]["converted"]
    assert figures["divergence"] == churn["divergence"]
    assert found.portability is not None
    assert found.portability.body == body
    assert found.portability.state == "current"
    neuronport("audit", project, "-q", "--record", "--target", "xla")
    after = load(str(project / ".neuronport")).portability
    assert after is not None
    assert [c.name for c in after.stale] == [".neuronport/audit.json"]


def test_text_and_markdown_say_the_same(project: Path, tmp_path: Path) -> None:
    neuronport("audit", project, "-q", "--record")
    page = tmp_path / "page.md"
    done = neuronport("portability", project, "-o", f"markdown={page}")
    text = page.read_text("utf-8")
    for level, verdict in (("source", "holds with changes"), ("artifact", "not measured")):
        assert f"{level}: {verdict}" in done.stdout
        assert f"| {level} | **{verdict}** |" in text
    assert "port: missing" in done.stdout


def test_a_required_level_that_is_not_shown_fails_the_check(project: Path) -> None:
    (project / "neuronport.toml").write_text(CONTRACT)
    assert neuronport("portability", project).returncode == 1
    assert neuronport("portability", project, "--no-config").returncode == 0
    neuronport("audit", project, "-q", "--record")
    assert neuronport("portability", project).returncode == 0
    done = neuronport("portability", project, "--roundtrip", hostile(project))
    assert done.returncode == 0  # not required
    done = neuronport("portability", project, "--no-config", "--roundtrip", hostile(project))
    assert done.returncode == 1


def hostile(folder: Path) -> Path:
    import fractions

    return zipped(folder / "hostile.pt", pickled(fractions.Fraction(1, 2)))


def test_a_checkpoint_is_refused_by_name(project: Path) -> None:
    done = neuronport("portability", project, "--roundtrip", hostile(project))
    assert "fractions.Fraction" in done.stdout
    assert "artifact     fails" in done.stdout


def test_what_cannot_be_read_is_3(project: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.pt"
    empty.write_bytes(b"")
    done = neuronport("portability", project, "--roundtrip", empty)
    assert done.returncode == 3
    assert "an empty file" in done.stderr
    bad = tmp_path / "run.json"
    for text in ("", "{}", json.dumps(run_body(batch="x")), '{"schema": "neuronport/graph/1"}'):
        bad.write_text(text)
        done = neuronport("portability", project, "--run", bad)
        assert done.returncode == 3
        assert "schemas/run.json" in done.stderr
        assert "Traceback" not in done.stderr
    assert neuronport("portability", tmp_path / "none").returncode == 3


def test_usage_errors(project: Path, tmp_path: Path) -> None:
    (project / "neuronport.toml").write_text("[contract]\nspeed = 3\n")
    done = neuronport("portability", project)
    assert done.returncode == 2
    assert "unknown key 'contract.speed'" in done.stderr
    assert neuronport("portability", project, "--no-config", "--format", "pdf").returncode == 2
    done = neuronport("portability", project, "--no-config", "--records", tmp_path / "none")
    assert done.returncode == 2


def test_runs_are_compared_or_it_says_what_differs(project: Path, tmp_path: Path) -> None:
    (project / "neuronport.toml").write_text(CONTRACT.replace('["source"]', '"performance"'))
    a, b, c = (tmp_path / f"{n}.json" for n in "abc")
    a.write_text(json.dumps(run_body()))
    b.write_text(json.dumps(run_body(device={"kind": "cuda", "name": "a GPU"})))
    c.write_text(json.dumps(run_body(precision="fp32")))
    check(json.loads(a.read_text()), "run")
    done = neuronport("portability", project, "--run", a, "--run", b, "--run", c)
    assert done.returncode == 0
    assert "performance  holds  (required)" in done.stdout
    assert "throughput: 1000 and 1000 tokens/s, ratio 1" in done.stdout
    assert "not compared: precision: bf16 and fp32" in done.stdout


def test_names_in_a_checkpoint_do_not_reach_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "a.safetensors"
    safetensors(file, {"\x1b[31mred": {"dtype": "F7", "shape": [], "data_offsets": [0, 0]}})
    done = neuronport("portability", tmp_path, "--roundtrip", file)
    assert "\x1b" not in done.stdout + done.stderr
