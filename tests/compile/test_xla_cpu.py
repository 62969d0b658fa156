"""Lowering and XLA's compiler for the CPU: as recorded, and again where torch_xla is."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from neuronport.compile.drivers import _lowering
from neuronport.compile.job import Job
from neuronport.compile.run import _wholes
from neuronport.graph.run import Request
from neuronport.records import load
from neuronport.targets import resolve
from neuronport.xla_environment import XlaPython
from tests.compile.playing import REPLAYS, SMALL, Tools
from tests.graph.running import MODELS as GRAPH_MODELS
from tests.graph.running import recorded

MODELS = {
    "small": (str(SMALL), ()),
    "cut": ("tests.compile.models.small:cut", ("randn(4,4)",)),
}
XLA_PYTHON = os.environ.get("NEURONPORT_XLA_PYTHON", "")


def test_a_model_that_is_lowered_as_a_whole(tmp_path: Path) -> None:
    ran = Tools(tmp_path).xla("small").compile(SMALL)
    assert ran.status == 4, ran.err
    found = ran.json
    (row,) = found["graphs"]
    assert (row["driver"], row["compiler"], row["status"]) == ("xla_cpu", "xla-cpu", "compiled")
    assert row["neuron_seconds"] is None
    assert all(
        row["xla_cpu_seconds"][p] > 0 for p in ("capture", "lowering", "compile", "first_run")
    )
    assert row["inputs"] == [{"name": "tokens", "dtype": "int64", "shape": [1, 4]}]
    assert (row["programs"], row["programs_compiled_by_a_second_run"]) == (1, 0)
    assert row["cache"]["word"] == "miss"
    assert row["hlo_instructions"]["tanh:f32"] == 1
    assert row["artifacts"][0]["kind"] == "hlo"
    assert row["peak_memory"]["bytes"] > 50 << 20
    assert found["neuron"]["compiler_here"] is False
    assert found["neuron"]["compiled_by_neuron"] is False


def test_asked_for_it_is_no_failure(tmp_path: Path) -> None:
    ran = Tools(tmp_path).xla("small").compile(SMALL, "--driver", "xla_cpu")
    assert ran.status == 0, ran.err


def test_one_that_is_cut(tmp_path: Path) -> None:
    model, inputs = MODELS["cut"]
    ran = Tools(tmp_path).xla("cut").compile(model, "--input", *inputs, "--driver", "xla_cpu")
    assert ran.status == 1
    (row,) = ran.json["graphs"]
    assert row["status"] == "cut"
    assert "addmm runs on the host" in row["because"]
    assert row["cuts"][0]["file"].endswith("small.py")
    assert row["programs"] == 2
    # what was pending ran while the rest was still to be lowered
    assert row["xla_cpu_seconds"]["lowering"] is None
    assert row["xla_cpu_seconds"]["not_separable"][0]["phases"] == ["lowering", "first_run"]
    assert row["hlo_instructions"] == {}


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_seconds_have_the_compilers_name(form: str, tmp_path: Path) -> None:
    out = Tools(tmp_path).xla("small").compile(SMALL, form=form).out
    first = next(line for line in out.splitlines() if line and not line.startswith("#"))
    assert "no Neuron compiler here" in first
    heads = next(line for line in out.splitlines() if "lowering s" in line)
    for phase in ("lowering", "compile", "1st run"):
        assert f"XLA:CPU {phase} s" in heads
    assert "Neuron compile s" not in out
    assert "its seconds say nothing of Neuron's" in out


@pytest.mark.skipif(not XLA_PYTHON, reason="NEURONPORT_XLA_PYTHON names no interpreter")
@pytest.mark.parametrize("name", list(MODELS))
def test_the_recording_is_what_torch_xla_says(name: str, tmp_path: Path) -> None:
    python = XlaPython(XLA_PYTHON)
    model, inputs = MODELS[name]
    job = Job(Request(model, [list(inputs)] if inputs else []), resolve("xla"), tmp_path)
    ((_, graph, data, values, _record),) = _lowering.graphs(job)
    hlo = tmp_path / "hlo.pb"
    lowered = _lowering.lower(job, python, graph, data, values, hlo, and_run=True)
    assert not lowered.done.why, lowered.done.tail
    found = {
        "source": f"recorded: {name} of tests/compile/models/small.py",
        "versions": dict(python.versions()),
        "nodes": [n["name"] for n in data["nodes"]],
        "rows": list(lowered.done.rows),
        "hlo": base64.b64encode(hlo.read_bytes()).decode() if hlo.is_file() else "",
    }
    file = REPLAYS / "torch_xla" / f"{name}.json"
    if os.environ.get("UPDATE_REPLAYS"):
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    known = json.loads(file.read_text(encoding="utf-8"))
    assert _without_measures(found["rows"]) == _without_measures(known["rows"])
    assert bool(found["hlo"]) == bool(known["hlo"])


_MEASURES = ("seconds", "peak", "compile", "run")


def _without_measures(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_measures(v) for v in value]
    if isinstance(value, dict):
        return {k: _without_measures(v) for k, v in value.items() if k not in _MEASURES}
    return value


def test_a_record(tmp_path: Path) -> None:
    folder = tmp_path / "records"
    ran = Tools(tmp_path).xla("small").compile(SMALL, f"--record={folder}")
    assert ran.status == 4, ran.err
    found = load(str(folder))
    assert found.problems == ()
    (record,) = found.of("compile")
    assert record.body == ran.json
    assert record.stale == ()
    assert [Path(name).name for name in record.inputs] == ["small.py"]


def test_what_is_captured_in_parts_is_not_compiled(tmp_path: Path) -> None:
    record = recorded(str(GRAPH_MODELS / "raising_block.py"))
    job = Job(Request("raising_block"), resolve("xla"), tmp_path)
    job._captured = record, tmp_path / "values"
    (whole,) = _wholes("xla_cpu", "xla-cpu", job)
    assert (whole.graph, whole.status, whole.ended_in) == ("forward", "not-tried", "capture")
    assert whole.because.startswith("as a whole it cannot be captured, only its parts: ")
