"""Reports of Neuron's tools become an overlay, and the overlay changes answers."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from neuronport.cli.operators import command
from neuronport.operators import Status, lookup, observed, open_index
from neuronport.operators.observed import Observation

# shapes as documented: api-torch-neuronx-analyze.rst, analyze_for_training.rst
INFERENCE = json.dumps(
    {
        "torch_neuronx_version": "2.9.0.2.11",
        "neuronx_cc_version": "2.22.1",
        "support_percentage": "66.67%",
        "supported_operators": {"aten::linear": 2, "aten::mul": 1},
        "unsupported_operators": [
            {
                "kind": "aten::fft_fft",
                "failureAt": "neuronx-cc",
                "call": "net.py(6): f\nx.py(1): g",
            },
            {"kind": "aten::mul", "failureAt": "Lowering to HLO", "call": "net.py(9): f"},
        ],
    }
)
TRAINING = json.dumps(
    {
        "neuronx_cc_version": "2.5.0",
        "supported_operators": {"aten": {"aten::add": 2}, "xla": ["f32[] add(f32[], f32[])"]},
        "unsupported_operators": {
            "aten": [{"kind": "aten::topk", "failureAt": "neuronx-cc", "call": "t.py 24"}]
        },
    }
)
METRICS = """Metric: CompileTime
  TotalSamples: 2
  Accumulator: 031ms
Counter: CachedCompile
  Value: 4
Counter: aten::nonzero
  Value: 3
Counter: xla::_to_cpu
  Value: 3
Counter: xla::expand_symint
  Value: 9
"""
PRINTED = """step 1
executed ops: ['aten::mm', 'aten::sort.values_stable', 'aten::cat']
get_fallback_ops() -> ['aten::floor.out',
 'aten::cat']
"""
TRACKED = json.dumps({"executed_ops": ["aten::mm"], "fallback_ops": ["aten::floor.out"]})
LOG = """error: failed to legalize operation 'torch.aten.grid_sampler' that was explicitly marked illegal
DEBUG No implementation could handle operation aten::round. Falling back on CPU
[Neuron] [ERROR] Compilation error occurred on Neuron for operation=aten::histc; error message="NCC_EVRF013"
The following HLO instructions are not supported by neuronx-cc:
==========
%dynamic-slice = f32[2,128]{1,0} dynamic-slice(f32[2,256] %concatenate.61, s64[] %constant.955)
"""
TABLE = """# API compatibility

| Operator | Status | Dtypes |
|---|---|---|
| `aten::floor` | ✅ Supported | fp32, bf16 |
| `sort.stable` | CPU fallback | |
| `aten::grid_sampler_2d` | Not supported | |
| `aten::cos` | planned | |
"""


def _seen(text: str) -> tuple[str, set[tuple[str, str, str, str]]]:
    found = observed.read(text)
    assert found is not None
    name, report = found
    return name, {(o.operator, o.path, o.stage, str(o.status)) for o in report.observations}


@pytest.mark.parametrize(
    ("text", "name", "some"),
    [
        (INFERENCE, "analyze", ("aten::fft_fft", "xla", "compiled", "unsupported")),
        (INFERENCE, "analyze", ("aten::linear", "xla", "compiled", "device")),
        (TRAINING, "analyze", ("aten::topk", "xla", "compiled", "unsupported")),
        (METRICS, "xla_metrics", ("aten::nonzero", "xla", "eager", "cpu-fallback")),
        (METRICS, "xla_metrics", ("aten::expand", "xla", "eager", "device")),
        (PRINTED, "native_tracking", ("aten::floor.out", "native", "eager", "cpu-fallback")),
        (PRINTED, "native_tracking", ("aten::sort.values_stable", "native", "eager", "device")),
        (TRACKED, "native_tracking", ("aten::floor.out", "native", "eager", "cpu-fallback")),
        (LOG, "logs", ("aten::grid_sampler", "native", "compiled", "unsupported")),
        (LOG, "logs", ("aten::round", "native", "eager", "cpu-fallback")),
        (LOG, "logs", ("aten::histc", "native", "eager", "unsupported")),
        (LOG, "logs", ("hlo::dynamic-slice", "xla", "compiled", "unsupported")),
        (TABLE, "compatibility_table", ("aten::floor", "native", "eager", "device")),
        (TABLE, "compatibility_table", ("aten::sort.stable", "native", "eager", "cpu-fallback")),
    ],
)
def test_formats(text: str, name: str, some: tuple[str, str, str, str]) -> None:
    assert _seen(text)[0] == name
    assert some in _seen(text)[1]


@pytest.mark.parametrize("text", ["", "hello", "{}", "[1, 2]", "| a | b |\n|---|---|\n| c | d |\n"])
def test_what_is_no_report(text: str) -> None:
    assert observed.read(text) is None


def test_transfers_are_no_operators() -> None:
    assert all("_to_cpu" not in operator for operator, *_ in _seen(METRICS)[1])


def test_both_lists_mean_some_forms() -> None:
    found = observed.read(INFERENCE)
    assert found is not None
    assert (
        Observation(
            "aten::mul",
            "xla",
            "compiled",
            Status.UNSUPPORTED,
            "?",
            "failed at Lowering to HLO at net.py(9): f",
        )
        in found[1].observations
    )
    assert ("aten::cat", "native", "eager", "device") not in _seen(PRINTED)[1]


def test_words_that_are_not_understood_are_said() -> None:
    found = observed.read(TABLE)
    assert found is not None
    assert found[1].not_understood == ("`aten::cos`: 'planned'",)


def test_an_overlay_outranks_the_table(tmp_path: Path) -> None:
    report = tmp_path / "ops.md"
    report.write_text(TABLE, encoding="utf-8")
    text, problems = observed.overlay([report])
    assert len(problems) == 1
    overlay = tmp_path / "overlay.toml"
    overlay.write_text(text, encoding="utf-8")
    index = open_index(folder=tmp_path / "cache", overlays=[overlay])
    floor = lookup("aten::floor", "native", index=index)
    assert floor.status is Status.DEVICE
    assert floor.evidence[0].kind == "documented"
    assert "ops.md" in floor.evidence[0].source
    # what is computed from it follows
    assert lookup("aten::floor", "native").status is Status.CPU_FALLBACK
    sampler = lookup("F.grid_sample", "native", index=index)
    assert sampler.status is Status.UNSUPPORTED


def test_contradictions_are_said(tmp_path: Path) -> None:
    report = tmp_path / "ops.md"
    report.write_text(TABLE, encoding="utf-8")
    text, _ = observed.overlay([report])
    lines = observed.contradictions(text)
    assert any(
        line.startswith("aten::floor (native, eager): observed device, the table says cpu-fallback")
        for line in lines
    )


def test_same_files_same_overlay(tmp_path: Path) -> None:
    texts = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        file = tmp_path / folder / "result.json"
        file.write_text(INFERENCE, encoding="utf-8")
        texts.append(observed.overlay([file])[0])
    assert texts[0] == texts[1]


def test_observe_and_use(tmp_path: Path) -> None:
    report = tmp_path / "fallback.json"
    report.write_text(json.dumps({"executed": ["aten::floor.out"], "fallback": []}), "utf-8")
    overlay = tmp_path / "overlay.toml"
    result = CliRunner().invoke(command, ["observe", str(report), "-o", str(overlay)])
    assert result.exit_code == 0
    assert "aten::floor.out (native, eager): observed device" in result.stderr
    shown = CliRunner().invoke(command, ["show", "aten::floor.out", "--overlay", str(overlay)])
    assert "eager forward: device → portable (likely)" in shown.output
    assert "but cpu-fallback [source]" in shown.output


def test_observe_says_what_it_cannot_read(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("nothing here", encoding="utf-8")
    result = CliRunner().invoke(command, ["observe", str(file)])
    assert result.exit_code == 3
    assert "no report that neuronport knows" in result.stderr


def test_a_wrong_overlay_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "overlay.toml"
    file.write_text(
        '[[row]]\noperator = "aten::abs"\npath = "native"\nstage = "eager"\nstatus = "good"\n'
        'evidence = ["nobody"]\n',
        encoding="utf-8",
    )
    result = CliRunner().invoke(command, ["show", "aten::abs", "--overlay", str(file)])
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[" * 100_000, "no report that neuronport knows; it reads: "),
        (bytes(range(256)) * 8, "no report that neuronport knows"),
        (b'{"supported_operators": 3, "unsupported_operators": {"aten": 1}}', "not of its form"),
        (b"\x1b[31mERROR: [NCC_EVRF004] complex\n", "(a log (NCC_EVRF004)), names no operator"),
    ],
)
def test_broken_reports_are_told(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "report"
    file.write_bytes(content)
    result = CliRunner().invoke(command, ["observe", str(file)])
    assert result.exit_code == 3
    assert says in result.stderr
    assert "\x1b" not in result.output


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    result = CliRunner().invoke(command, ["observe", str(tmp_path / "pipe")])
    assert result.exit_code == 3
    assert "is not a regular file" in result.stderr


def test_a_status_that_is_none_is_refused() -> None:
    result = CliRunner().invoke(command, ["list", "--status", "bogus"])
    assert result.exit_code == 2
    assert "cpu-fallback" in result.stderr


def test_names_in_a_report_cannot_write_rows(tmp_path: Path) -> None:
    evil = 'aten::x"\n[[row]]\noperator = "aten::add'
    file = tmp_path / "report.json"
    file.write_text(
        json.dumps({"supported_operators": [evil], "unsupported_operators": [{"kind": evil}]})
    )
    text, _ = observed.overlay([file])
    assert all("aten::x" in row["operator"] for row in tomllib.loads(text)["row"])


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 100_000,
        "row = 3",
        "row = [3]",
        '[[row]]\noperator = 3\npath = "native"\nstage = "*"\nstatus = "x"\nevidence = ["a"]\n',
        '[[row]]\noperator = "a"\npath = "native"\nstage = "*"\nstatus = "x"\nevidence = 3\n',
        "[source]\na = 3\n",
    ],
)
def test_an_overlay_of_another_form_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "o.toml").write_text(text)
    arguments = ["show", "torch.sort", "--overlay", str(tmp_path / "o.toml")]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 2
    assert "o.toml: " in done.stderr
