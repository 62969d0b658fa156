"""The computed table against an experiment: OpInfo's example calls run on torch_xla.

The experiment ran Python functions and read counters; the table computes the same from registered
lowerings and from what composites call. Where they disagree one of them is wrong.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from neuronport.operators import Status, lookup, tables
from neuronport.operators.conditions import Argument, CallFacts
from tools.measure_xla import writing

FILE = Path(__file__).parent / "data" / "measured_xla.tsv"
BAD = (Status.CPU_FALLBACK, Status.UNSUPPORTED)

# the compiler behind the lowering has limits that a run of XLA on the CPU does not show
COMPILER = {
    "cholesky", "complex", "conj_physical", "linalg.eigh", "linalg.eigvalsh", "polar",
    "triangular_solve", "view_as_complex",
}  # fmt: skip


def _computed(operators: list[str], direction: str) -> str:
    words = set()
    for name in operators:
        answer = lookup(
            f"aten::{name}" + ("" if "." in name else ".default"),
            "xla",
            stage="eager",
            direction=direction,
        )
        if not answer.exists:
            continue
        if answer.status in BAD:
            words.add("bad")
        elif answer.status is Status.UNKNOWN:
            words.add("unknown")
        if any(p.status in BAD for p in answer.conditions_unknown):
            words.add("maybe")
    return next((word for word in ("bad", "unknown", "maybe") if word in words), "good")


@pytest.fixture(scope="module")
def rows() -> list[tuple[str, str, str, str]]:
    with FILE.open(encoding="utf-8") as file:
        table = csv.DictReader((x for x in file if not x.startswith("#")), delimiter="\t")
        return [
            (
                r["opinfo"],
                r["direction"],
                r["measured"],
                _computed(r["operators"].split(), r["direction"]),
            )
            for r in table
        ]


def test_what_was_lowered_is_not_called_bad(rows: list[tuple[str, str, str, str]]) -> None:
    lowered = [r for r in rows if r[2] == "lowered"]
    wrong = [r for r in lowered if r[3] == "bad" and r[0] not in COMPILER]
    assert len(lowered) > 800
    assert len(wrong) <= 0.005 * len(lowered), wrong


def test_what_fell_back_is_not_called_good(rows: list[tuple[str, str, str, str]]) -> None:
    fell = [r for r in rows if r[2] == "falls-back"]
    wrong = [r for r in fell if r[3] == "good"]
    assert len(fell) > 200
    assert len(wrong) <= 0.02 * len(fell), wrong


def test_what_fell_back_at_times_is_at_least_possible(
    rows: list[tuple[str, str, str, str]],
) -> None:
    sometimes = [r for r in rows if r[2] == "sometimes"]
    missed = [r for r in sometimes if r[3] == "good"]
    assert len(missed) <= 0.15 * len(sometimes), missed


def test_little_is_unknown(rows: list[tuple[str, str, str, str]]) -> None:
    assert sum(r[3] == "unknown" for r in rows) <= 0.02 * len(rows)


def test_rows_that_cite_the_sweep_are_in_it() -> None:
    """What tools/measure_xla wrote down has an outcome of the kind that the row speaks of."""
    results = Path(writing.__file__).parent / "results"
    measured: dict[tuple[str, str], set[str]] = {}
    for row in writing.read(results / "torch_xla-2.9.0.tsv"):
        measured.setdefault((row["operator"], row["direction"]), set()).add(row["status"])
    learned = {r["operator"] for r in writing.read(results / "conditions-2.9.0.tsv")}
    wanted = {"cpu-fallback": "falls-back", "unsupported": "raises"}
    cited = 0
    for (path, name), rows in tables.load().rows.items():
        for row in rows:
            if path != "xla" or "xla-measured" not in row.evidence:
                continue
            cited += 1
            operator = name.removeprefix("aten::")
            statuses = measured[operator, row.direction]
            assert wanted.get(row.status, "lowered") in statuses, row.place
            # a condition needs calls on both sides of it
            assert row.when is None or (operator in learned and "lowered" in statuses), row.place
    assert cited >= 10


def test_the_default_dtype_of_randperm_is_no_fallback() -> None:
    plain = CallFacts({"n": Argument(value=5)}, complete=True)
    other = CallFacts({"n": Argument(value=5), "dtype": Argument(value="int32")}, complete=True)
    assert lookup("torch.randperm", "xla", stage="eager", call=plain).status is Status.DEVICE
    assert lookup("torch.randperm", "xla", stage="eager", call=other).status is Status.CPU_FALLBACK
