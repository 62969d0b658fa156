"""`neuronport operators`: what people see."""

from __future__ import annotations

import csv
import io
import json

import pytest
from click.testing import CliRunner, Result

from neuronport.cli.operators import command


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def test_show_tells_status_evidence_and_what_to_write_instead() -> None:
    result = _run("show", "F.grid_sample", "-t", "native")
    assert result.exit_code == 0
    assert "eager forward: cpu-fallback → falls-back (likely)" in result.output
    assert "TorchNeuron source snapshot 98154b8 (0.1.0, 2026-02)" in result.output
    assert "instead: Bilinear sampling as four gathers" in result.output


def test_show_with_arguments() -> None:
    free = _run("show", "torch.addmm", "-t", "xla", "--stage", "eager")
    assert "cpu-fallback if beta != 1 or alpha != 1" in free.output
    known = _run("show", "torch.addmm", "-t", "xla", "--stage", "eager", "--arg", "beta=0.5")
    assert "because beta != 1 or alpha != 1" in known.output
    typed = _run("show", "torch.mm", "-t", "xla", "--arg", "dtype(self)=int64")
    assert "→ breaks" in typed.output


def test_show_json() -> None:
    rows = json.loads(_run("show", "torch.sort", "-t", "xla", "--format", "json").output)
    assert {(r["stage"], r["direction"]) for r in rows} == {
        (s, d) for s in ("eager", "compiled") for d in ("forward", "backward")
    }
    assert all(r["evidence"] for r in rows)


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "torch.sortt"),
        ("show", "torch.sort", "-t", "cuda"),
        ("show", "torch.sort", "--arg", "beta"),
        ("diff", "--from", "1.0", "--to", "2.33"),
        ("coverage", "--model", "nobody"),
    ],
)
def test_usage_errors(arguments: tuple[str, ...]) -> None:
    assert _run(*arguments).exit_code == 2


def test_list_filters() -> None:
    output = _run(
        "list", "-t", "xla", "--stage", "eager", "--status", "cpu-fallback", "--core",
        "--format", "csv",
    ).output  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(output)))
    assert rows
    assert all("cpu-fallback" in (r["forward"], r["backward"]) for r in rows)
    assert "aten::nonzero" in [r["operator"] for r in rows]


def test_diff_says_what_is_not_known() -> None:
    result = _run("diff", "--from", "2.31", "--to", "2.33", "--format", "csv")
    assert "aten::view_as_complex,compiled,forward,unsupported,decomposes" in result.output
    assert "is not known" in result.stderr
    assert "do not itemise operators" in result.stderr


def test_coverage_shows_both_paths() -> None:
    output = _run("coverage", "-t", "native", "-t", "xla", "--format", "markdown").output
    assert "| core aten | native@2.33 | eager" in output
    assert "| core aten | xla@2.31" in output
    assert "unknown %" in output


def test_pages_are_up_to_date() -> None:
    from pathlib import Path

    folder = Path(__file__).parents[2] / "docs" / "operators"
    result = _run("pages", str(folder), "--check")
    assert result.exit_code == 0, f"{result.stderr}: run `neuronport operators pages {folder}`"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["F.interpolate", "--arg", "mode=bilinear", "--arg", "antialias=False"], "bilinear2d"),
        (["F.interpolate", "--arg", "mode=bilnear"], "fits none of its forms"),
        (["torch.sort", "--stage", "compiled", "--arg", "stable=True"], "unsupported"),
    ],
)
def test_what_is_said_of_arguments_decides(arguments: list[str], says: str) -> None:
    result = CliRunner().invoke(command, ["show", *arguments])
    assert result.exit_code == 0
    assert says in result.output
    assert "_aa" not in result.output.partition("compiled")[0]


def test_an_argument_that_it_has_not_is_refused() -> None:
    result = CliRunner().invoke(command, ["show", "F.interpolate", "--arg", "modee=bilinear"])
    assert result.exit_code == 2
    assert "has no argument modee; it has" in result.stderr
