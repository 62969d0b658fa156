"""What rows cite as measured is what ``tools/measure_cuda_api`` wrote down."""

from __future__ import annotations

import csv
import re
import tomllib
from functools import cache
from typing import Any

import pytest

from neuronport.data import data_folder

ROOT = data_folder("rules").parent
TABLES = sorted((ROOT / "rules" / "api").glob("torch.*.toml"))
SOURCE = "tools/measure_cuda_api/results/"


@cache
def results(source: str) -> list[dict[str, str]]:
    with (ROOT / source).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def what_it_says(entry: dict[str, str]) -> str:
    """The outcome in words, without a warning."""
    detail = re.sub(r" \[\w+Warning: .*$", "", entry["detail"])
    if entry["outcome"] == "returns":
        nothing = detail in {"no value", "NoneType: None"}
        return "does nothing visible" if nothing else answer(detail, entry["expression"])
    return f"raises {detail}"


PLAIN = frozenset(
    ["bool", "int", "str", "tuple", "list", "dict", "set", "OrderedDict", "Size", "device", "dtype"]
)


def answer(detail: str, expression: str) -> str:
    """What came back, as somebody would say it who knows the API and not the measuring."""
    kind, _, value = detail.partition(": ")
    thing = re.fullmatch(r"<(class|module|function) '?([\w.<>]+?)'?>", value)
    if thing is not None and expression.startswith("type("):
        return f"runs and returns an object of type {thing[2]}"
    if thing is not None:
        return "returns a function" if "lambda" in expression else f"has the {thing[1]} {thing[2]}"
    member = re.fullmatch(r"<(\w+\.\w+): \d+>", value)
    if member is not None:
        return f"answers {member[1]}"
    return (
        f"answers {value}"
        if kind in PLAIN or value.startswith(f"{kind}('")
        else f"returns an object of type {kind}"
    )


def cited() -> list[Any]:
    found = []
    for path in TABLES:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        for row in data["row"]:
            for key in row["evidence"]:
                evidence = data["evidence"][key]
                if evidence["kind"] == "measured" and evidence["source"].startswith(SOURCE):
                    others = [
                        data["evidence"][k]
                        for k in row["evidence"]
                        if k != key
                        and data["evidence"][k].get("path", evidence["path"]) == evidence["path"]
                    ]
                    name = f"{path.stem}:{row['name']}:{row.get('variant', '')}:{evidence['path']}"
                    found.append(pytest.param(row, evidence, bool(others), id=name))
    return found


@pytest.mark.parametrize(("row", "evidence", "has_other"), cited())
def test_measured_evidence(row: dict[str, Any], evidence: dict[str, str], has_other: bool) -> None:
    last = row["name"].removesuffix(".*").rsplit(".", 1)[-1]
    entries = [
        entry
        for entry in results(evidence["source"])
        if entry["name"].startswith(row["name"].removesuffix(".*")) or last in entry["expression"]
    ]
    says = evidence["says"]
    agreeing = [
        e for e in entries if re.search(f"{re.escape(what_it_says(e))}($| and warns)", says)
    ]
    assert agreeing, f"not in the results: {evidence['says']}"
    verdict = row.get(evidence["path"])
    if has_other or not isinstance(verdict, str):
        return
    raised = any(entry["outcome"] != "returns" for entry in agreeing)
    assert raised == (verdict == "breaks"), "the verdict is not what was measured"
