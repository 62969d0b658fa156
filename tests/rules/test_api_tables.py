"""The form of the API tables under ``rules/api/``, checked on the data alone.

That a fixture really fires is the engine's test; here: every row can be read, every statement has
its evidence, every fixture is Python, every PyTorch name is one that PyTorch has or had.
"""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
import warnings
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from neuronport.data import data_folder
from neuronport.findings import Confidence, Effort, EvidenceKind, Verdict
from neuronport.targets import paths

TABLES = sorted((data_folder("rules") / "api").glob("*.toml"))
TABLE_KEYS = {
    "namespace",
    "title",
    "area",
    "effort",
    "evidence",
    "silent",
    "row",
    "ways",
    "whole",
}
ROW_KEYS = {
    *("name", "variant", "also", "removed", "native", "xla", "on", "when", "unknown", "kind"),
    "replacement",
    "ways",
    *(
        "guarded",
        "confidence",
        "distinctive",
        "said",
        "seldom",
        "area",
        "effort",
        "fix",
        "note",
        "answer",
        "evidence",
    ),
    *("fires", "silent"),
    "raises",
    "supersedes",
}
KINDS = {"same", "renamed", "composite", "context", "none"}
CONDITIONS = {"is", "not", "given", "matches", "absent", "only", "unless", "kinds"}
PATHS = ("native", "xla")


@cache
def table(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def rows() -> list[Any]:
    return [
        pytest.param(path, row, id=f"{path.stem}:{rule_id(row)}")
        for path in TABLES
        for row in table(path)["row"]
    ]


def rule_id(row: dict[str, Any]) -> str:
    return row["name"] + (f":{row['variant']}" if "variant" in row else "")


each_row = pytest.mark.parametrize(("path", "row"), rows())


def test_there_are_tables() -> None:
    assert {"torch.cuda", "torch.backends", "torch.distributed"} <= {p.stem for p in TABLES}


@pytest.mark.parametrize("path", TABLES, ids=lambda p: p.stem)
def test_table_head(path: Path) -> None:
    data = table(path)
    assert set(data) <= TABLE_KEYS
    assert {"namespace", "title", "area", "effort", "row"} <= set(data)
    Effort(data["effort"])
    cited = {key for row in data["row"] for key in row["evidence"]}
    assert cited == set(data.get("evidence", {})), "evidence cited and evidence given differ"


@pytest.mark.parametrize("path", TABLES, ids=lambda p: p.stem)
def test_evidence_can_be_looked_up(path: Path) -> None:
    for key, evidence in table(path).get("evidence", {}).items():
        assert set(evidence) <= {"kind", "path", "sdk", "source", "says"}, key
        EvidenceKind(evidence["kind"])
        assert evidence.get("path", "native") in PATHS, key
        assert evidence["source"].strip(), key
        assert evidence["says"].strip(), key
        if evidence["source"].startswith("tools/measure_"):
            assert (data_folder("rules").parent / evidence["source"].split(":")[0]).exists(), key


def test_ids_are_unique() -> None:
    ids = Counter(rule_id(row) for path in TABLES for row in table(path)["row"])
    assert [name for name, count in ids.items() if count > 1] == []


def test_other_names_lead_to_one_row() -> None:
    """``also`` may repeat between the variants of one name, never between names."""
    owners: dict[str, set[str]] = {}
    for path in TABLES:
        for row in table(path)["row"]:
            for name in [row["name"], *row.get("also", [])]:
                owners.setdefault(name, set()).add(row["name"])
    assert {name: rows for name, rows in owners.items() if len(rows) > 1} == {}


@each_row
def test_words(path: Path, row: dict[str, Any]) -> None:
    assert set(row) <= ROW_KEYS
    assert row["kind"] in KINDS
    assert row.get("on", "use") in {"use", "call", "import", "method"}
    assert set(row.get("replacement", {})) <= set(PATHS)
    Effort(row.get("effort", "minutes"))
    Confidence(row.get("confidence", "certain"))
    assert any(path_name in row for path_name in PATHS), "no verdict at all"
    guarded = row.get("guarded", {})
    by_path = guarded.values() if isinstance(guarded, dict) else [guarded]
    for value in (*(row[key] for key in PATHS if key in row), *by_path):
        check_verdict(value)


def check_verdict(value: Any) -> None:
    if isinstance(value, str):
        Verdict(value)
        return
    known = {sdk for info in paths().values() for sdk in info.sdks}
    for window in value:
        assert set(window) <= {"since", "until", "chips", "verdict", "confidence"}
        Verdict(window["verdict"])
        assert {window[k] for k in ("since", "until") if k in window} <= known


@each_row
def test_every_verdict_has_evidence(path: Path, row: dict[str, Any]) -> None:
    given = table(path)["evidence"]
    for path_name in PATHS:
        if path_name in row:
            about = [given[key].get("path", path_name) for key in row["evidence"]]
            assert path_name in about, f"no evidence for {path_name}"
    assert len(row["evidence"]) == len(set(row["evidence"]))


@each_row
def test_conditions(path: Path, row: dict[str, Any]) -> None:
    for condition in row.get("when", []):
        assert set(condition) <= {"arg", "pos", "unknown", *CONDITIONS}
        assert len((CONDITIONS - {"absent"}) & set(condition)) == 1, (
            "one condition for each argument"
        )
        assert "arg" in condition or "pos" in condition


@each_row
def test_fires_is_python_about_the_name(path: Path, row: dict[str, Any]) -> None:
    assert row["fires"], "a row that never fires"
    names = [row["name"], *row.get("also", [])]
    parts = [part.rstrip("*") for name in names for part in re.split("[.:]", name)]
    words = set(parts) - {"", "torch", "env", "command"}
    for code in programs_of(row["fires"]):
        lines = code.splitlines()
        assert lines[-1].strip(), "the last line is the line of the finding"
        assert not lines[-1].lstrip().startswith("#")
        ast.parse(code)
        assert any(word in code for word in words), code


def programs_of(fixtures: list[Any]) -> list[str]:
    return [f if isinstance(f, str) else f["code"].strip("\n") for f in fixtures]


@each_row
def test_silent_is_python_and_enough(path: Path, row: dict[str, Any]) -> None:
    last = row["name"].rsplit(".", 1)[-1]
    shared = [
        code.replace("{name}", row["name"]).replace("{last}", last)
        for code in table(path).get("silent", [])
    ]
    programs = [*shared, *programs_of(row.get("silent", []))]
    assert len(programs) >= 2
    for code in programs:
        ast.parse(code)
    assert not set(programs) & set(programs_of(row["fires"]))


@each_row
def test_torch_names_exist_or_are_marked(path: Path, row: dict[str, Any]) -> None:
    if not row["name"].startswith("torch.") or "removed" in row:
        return
    for name in [row["name"], *row.get("also", [])]:
        if not exists(name.removesuffix(".*")):
            says = " ".join(table(path)["evidence"][key]["says"] for key in row["evidence"])
            last = name.removesuffix(".*").rsplit(".", 1)[-1]
            assert f"no attribute '{last}'" in says, (
                f"{name} is not in this PyTorch: mark the row `removed`, or cite its absence"
            )


def exists(name: str) -> bool:
    """Whether the dotted name is there, importing submodules on the way."""
    parts = name.split(".")
    value: Any = importlib.import_module(parts[0])
    for end in range(2, len(parts) + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                value = getattr(value, parts[end - 1])
            except AttributeError:
                try:
                    value = importlib.import_module(".".join(parts[:end]))
                except ImportError:
                    return False
            except AssertionError:  # a property that wants CUDA is there
                return True
    return True


_NATIVE_ONLY = re.compile(r"\"neuron\"|torch\.neuron\b|torch\.accelerator\b|nki_op")
_OWN_WORD = frozenset(("composer", "torch.accelerator"))
"""Tables of what has a device of that name on PyTorch/XLA, or is only renamed."""


@each_row
def test_what_is_advised_on_xla_is_there(path: Path, row: dict[str, Any]) -> None:
    """TorchNeuron's device and modules are not there on PyTorch/XLA."""
    if path.stem not in _OWN_WORD and "xla" in row:
        assert not _NATIVE_ONLY.search(row.get("replacement", {}).get("xla", ""))
