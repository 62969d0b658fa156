"""neuronx-cc, played; lowering as it was recorded."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from neuronport.compile import job as jobs
from neuronport.compile.here import Here
from neuronport.compile.result import Attempt, Result
from neuronport.compile.run import run
from neuronport.graph.record import Record
from neuronport.graph.run import Request
from neuronport.graph.run import run as capture
from neuronport.targets import resolve
from tests.compile.playing import SMALL, Tools


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Record, Path]:
    values = tmp_path_factory.mktemp("captured") / "values"
    return capture(Request(str(SMALL)), values), values


@pytest.fixture
def played(captured: tuple[Record, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    record, values = captured

    def again(request: Request, file: Path) -> Record:
        shutil.copyfile(values, file)
        return record

    monkeypatch.setattr(jobs.graph_run, "run", again)

    def play(name: str, target: str = "xla", seconds: int = 60, **options: Any) -> Result:
        tools = Tools(tmp_path).neuronx_cc(name).xla("small")
        for key, value in tools.variables.items():
            monkeypatch.setenv(key, value)
        here = Here(sys.executable, tools.xla_python, str(tools.bin / "neuronx-cc"))
        request = Request(str(SMALL), seconds=seconds, megabytes=2000)
        return run(request, resolve(target), here, **options)

    return play


def only(result: Result) -> Attempt:
    (attempt,) = result.attempts
    assert attempt.driver == "neuronx_cc"
    assert attempt.as_json()["xla_cpu_seconds"] is None
    return attempt


def test_one_that_compiles(played: Any, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    result = played("compiles", "xla:trn2", flags=("--optlevel", "1"), kept=tmp_path / "kept")
    found = only(result)
    assert (result.status, found.status) == (0, "compiled")
    assert found.seconds.compile is not None
    assert found.seconds.compile >= 0.7
    assert found.seconds.lowering is not None
    assert found.seconds.first_run is None
    neff, hlo = found.artifacts
    assert neff.neff is not None
    assert (neff.kind, neff.bytes, neff.neff.lnc, neff.neff.data_bytes) == ("neff", 1524, 2, 500)
    assert Path(neff.file).stat().st_size == 1524
    assert Path(hlo.file).read_bytes()
    assert found.flags[:6] == ("--framework", "XLA", "--target", "trn2", "--output", "model.neff")
    assert found.flags[-2:] == ("--optlevel", "1")
    assert found.peak is not None
    (tool,) = [t for t in result.tools if t.driver == "neuronx_cc"]
    assert tool.versions == {
        "neuronx-cc": "2.27.5334.0+f702b353",
        "torch": "2.9.0+cu128",
        "torch_xla": "2.9.0",
    }


def test_a_target_without_a_chip_says_which_was_taken(played: Any) -> None:
    result = played("compiles")
    assert result.chip == "inf2"
    assert any("inf2 was compiled for, trn1, trn2 not" in note for note in result.notes)


def test_for_the_native_path_it_says_less(played: Any) -> None:
    result = played("compiles", "native")
    assert result.chip == "trn2"
    assert any("the native path lowers in another way" in note for note in result.notes)


@pytest.mark.parametrize(
    ("name", "code", "known"),
    [
        ("integer-matmul", "NCC_EVRF035", True),
        ("out-of-memory-on-the-device", "NCC_EOOM001", True),
        ("unsupported-operator", "NCC_EVRF029", True),
        ("unknown-code", "NCC_IXYZ777", False),
        ("old-code", "TEN404", False),
        ("only-in-the-log", "too-many-instructions", True),
    ],
)
def test_one_that_is_refused(name: str, code: str, known: bool, played: Any) -> None:
    result = played(name)
    found = only(result)
    assert (result.status, found.status, found.ended_in) == (1, "failed", "compile")
    (problem,) = found.problems
    assert problem.code == code
    assert bool(problem.source) == known
    assert found.because == problem.said
    assert not [a for a in found.artifacts if a.kind == "neff"]


@pytest.mark.parametrize(
    ("name", "status", "because"),
    [
        ("no-neff", "failed", "ended with status 0 and wrote no NEFF"),
        ("hangs", "timed-out", "not finished after 4 s (--time-limit)"),
        ("floods", "crashed", "more than 256 MB were printed"),
        ("allocates", "over-memory", "more than 2000 MB were used"),
        ("killed", "crashed", "ended by SIGKILL, as happens over the memory limit"),
    ],
)
def test_one_that_misbehaves(name: str, status: str, because: str, played: Any) -> None:
    result = played(name, seconds=4 if name == "hangs" else 60)
    found = only(result)
    assert (result.status, found.status) == (1, status)
    assert because in found.because


def test_a_file_that_is_no_neff(played: Any) -> None:
    found = only(played("garbage-neff"))
    assert found.status == "compiled"
    assert found.artifacts[0].neff is None
    assert "no header of the documented form" in found.artifacts[0].note


def test_another_program_of_that_name(played: Any) -> None:
    result = played("not-the-compiler")
    (tool,) = [t for t in result.tools if t.driver == "neuronx_cc"]
    assert not tool.usable
    assert "not what neuronx-cc says" in tool.because
    assert result.neuron is False
    assert [a.driver for a in result.attempts] == ["xla_cpu"]
    assert result.status == 4
