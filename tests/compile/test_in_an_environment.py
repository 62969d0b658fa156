"""torch_neuronx.trace and torch.compile(backend="neuron"), played by modules of those names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compile.playing import SMALL, TOKENS, Tools

HOSTILE = "tests.compile.models.hostile:"
XLA = ("--target", "xla:trn1")


def test_trace_on_the_cpu_alone(tmp_path: Path) -> None:
    tools = Tools(tmp_path).module("torch_neuronx_xla").neuronx_cc("compiles")
    ran = tools.compile(
        SMALL, *XLA, "--and", "zeros((1,8),dtype=int64)", *TOKENS, "--flags", "-O 1"
    )
    assert ran.status == 0, ran.out + ran.err
    found = ran.json
    assert [row["inputs"][0]["shape"] for row in found["graphs"]] == [[1, 4], [1, 8]]
    for row in found["graphs"]:
        assert (row["driver"], row["status"]) == ("torch_neuronx_trace", "compiled")
        assert row["xla_cpu_seconds"] is None
        seconds = row["neuron_seconds"]
        # the time of model/graph.hlo tells one from the other
        assert seconds["lowering"] > 0.2
        assert seconds["compile"] > 0.6
        assert seconds["first_run"] is None
        assert row["flags"] == ["-O", "1", "--target", "trn1"]
        assert row["device"] == "none: cpu_backend=True, nothing was run"
        assert row["cache"]["word"] == "none"
        assert {a["kind"] for a in row["artifacts"]} == {"neff", "torchscript", "hlo"}
    (tool,) = [t for t in found["drivers"] if t["used"]]
    assert tool["versions"]["torch-neuronx"] == "2.9.0.2.15.32035"
    assert tool["versions"]["neuronx-cc"] == "2.27.5334.0+f702b353"
    assert found["neuron"]["compiled_by_neuron"] is True


def test_trace_with_a_compiler_that_is_not_on_path(tmp_path: Path) -> None:
    tools = Tools(tmp_path).module("torch_neuronx_xla").neuronx_cc("compiles")
    file = tools.off_path(tmp_path / "elsewhere")
    ran = tools.compile(SMALL, *XLA, "--neuronx-cc", file)
    assert ran.status == 0, ran.out


def test_trace_that_the_compiler_refuses(tmp_path: Path) -> None:
    tools = Tools(tmp_path).module("torch_neuronx_xla").neuronx_cc("integer-matmul")
    ran = tools.compile(SMALL, *XLA, form="text")
    assert ran.status == 1
    assert "forward: failed in compile: RuntimeError: neuronx-cc failed with 70" in ran.out
    assert "NCC_EVRF035" in ran.out
    assert "cause: integer dot" in ran.out
    assert "when: torch.matmul" in ran.out
    assert "documented: compiler/error-codes/EVRF035.rst" in ran.out
    assert "Neuron compile s" in ran.out
    assert "XLA:CPU compile s" not in ran.out


@pytest.mark.parametrize(
    ("how", "status", "because"),
    [
        ("exits", "failed", "SystemExit: 3"),
        ("crashes", "crashed", "ended by SIGSEGV"),
        ("not-lowered", "failed", "aten::something has no lowering"),
        ("without-cpu-backend", "failed", "has no cpu_backend"),
    ],
)
def test_a_tool_that_misbehaves(how: str, status: str, because: str, tmp_path: Path) -> None:
    tools = Tools(tmp_path).module("torch_neuronx_xla", REPLAY_TRACE=how).neuronx_cc("compiles")
    ran = tools.compile(SMALL, *XLA)
    assert ran.status == 1
    (row,) = ran.json["graphs"]
    assert (row["status"], row["ended_in"]) == (status, "lowering")
    assert because in row["because"]


@pytest.mark.parametrize(
    ("model", "because"),
    [
        ("hangs", "not finished after 12 s (--time-limit)"),
        ("allocates", "memory"),
        ("ends", "its process ended itself, with status 0 and without a result"),
        ("exits", "the model cannot be built: SystemExit: no model today"),
        ("crashes", "ended by SIGSEGV"),
        ("raises", "\\x1b[31mred\\x1b[0m \\u202e and more"),
    ],
)
def test_a_model_that_misbehaves(model: str, because: str, tmp_path: Path) -> None:
    tools = Tools(tmp_path).module("torch_neuronx_xla").neuronx_cc("compiles")
    limits = ("--time-limit", "12" if model == "hangs" else "60", "--memory-limit", "2500")
    ran = tools.compile(HOSTILE + model, *XLA, *TOKENS, *limits, form="text")
    assert ran.status == 3, ran.out
    (line,) = [x for x in ran.out.splitlines() if x.startswith("nothing was compiled")]
    assert because in line
    assert "\x1b" not in ran.out + ran.err


def test_a_model_that_prints_without_end(tmp_path: Path) -> None:
    tools = Tools(tmp_path).module("torch_neuronx_xla").neuronx_cc("compiles")
    ran = tools.compile(f"{HOSTILE}floods", *XLA, *TOKENS)
    assert ran.status == 1
    (row,) = ran.json["graphs"]
    assert (row["status"], row["because"][:29]) == ("crashed", "more than 256 MB were printed")


def test_native(tmp_path: Path) -> None:
    tools = Tools(tmp_path).module("torch_neuronx_native")
    ran = tools.compile(SMALL)
    assert ran.status == 0, ran.out + ran.err
    (row,) = ran.json["graphs"]
    assert (row["driver"], row["status"]) == ("torch_compile_neuron", "compiled")
    assert (row["programs"], row["programs_compiled_by_a_second_run"]) == (1, 0)
    assert row["cache"]["word"] == "miss"
    assert row["device"] == "neuron:0"
    assert row["artifacts"][0]["neff"]["lnc"] == 2
    seconds = row["neuron_seconds"]
    assert seconds["capture"] > 0
    assert seconds["compile"] is None
    assert seconds["not_separable"][0]["phases"] == ["lowering", "compile", "first_run"]
    assert seconds["not_separable"][0]["seconds"] > 0.2
    again = tools.compile(SMALL, form="text")
    assert " hit " in again.out


def test_native_training(tmp_path: Path) -> None:
    ran = Tools(tmp_path).module("torch_neuronx_native").compile(SMALL, "--mode", "training")
    assert ran.status == 0, ran.out + ran.err
    (row,) = ran.json["graphs"]
    assert row["mode"] == "training"
    assert any("the mean of the outputs" in note for note in row["notes"])


@pytest.mark.parametrize("how", ["fails", "falls-back", "no-device"])
def test_native_that_misbehaves(how: str, tmp_path: Path) -> None:
    ran = Tools(tmp_path).module("torch_neuronx_native", REPLAY_NATIVE=how).compile(SMALL)
    found = ran.json
    if how == "no-device":
        assert ran.status == 4
        assert "torch.neuron shows no device" in found["neuron"]["missing"][0]["because"]
        return
    (row,) = found["graphs"]
    if how == "falls-back":
        assert "ran on the CPU: aten::sort" in row["notes"]
        return
    assert (ran.status, row["status"], row["ended_in"]) == (1, "failed", "compile")
    assert [p["code"] for p in row["problems"]] == ["stablehlo-to-neff", "NCC_EVRF004"]


def test_an_empty_package_of_that_name(tmp_path: Path) -> None:
    ran = Tools(tmp_path).module("placeholder").neuronx_cc("compiles").compile(SMALL, *XLA)
    assert ran.status == 4
    because = {m["driver"]: m["because"] for m in ran.json["neuron"]["missing"]}
    assert "the empty package of that name on PyPI" in because["torch_neuronx_trace"]
    assert "nothing lowers to HLO" in because["neuronx_cc"]
