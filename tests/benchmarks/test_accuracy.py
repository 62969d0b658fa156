"""The score on a tiny set of cases whose right answer can be counted by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "accuracy.py"


def finding(rule: str, path: str, line: int, verdict: str, **more: Any) -> dict[str, Any]:
    return {
        "rule": rule,
        "area": rule.split("/")[0],
        "path": path,
        "line": line,
        "confidence": "likely",
        "verdict": {"native@2.33": verdict, "xla@2.31": "benign"},
        "suppressed": None,
        **more,
    }


def expect(line: int, severity: str = "error") -> dict[str, Any]:
    return {
        "line": line,
        "severity": severity,
        "category": "amp",
        "any_of": ["breaks"],
        "verdict": "it breaks",
    }


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    bugs = tmp_path / "cases" / "bugs"
    bugs.mkdir(parents=True)
    expected = {
        "01.py": {"path": "both", "expect": [expect(1), expect(2), expect(3, "info"), expect(4)]},
        "03.py": {"path": "xla", "expect": [expect(1)]},
    }
    (bugs / "expected.json").write_text(json.dumps(expected))
    (bugs / "01.py").write_text("one\ntwo\nthree\nfour\nfive\n")
    (bugs / "03.py").write_text("one\n")

    port = tmp_path / "cases" / "ports" / "p1"
    port.mkdir(parents=True)
    (port / "meta.json").write_text('{"cls": "xla"}')
    (port / "truth.tsv").write_text(
        "file\tline\tkind\tnote\n"
        "seg/a.py\t1\tamp\tg1 mod hunk=1\n"
        "seg/a.py\t2\tamp\tg2 mod hunk=1\n"  # found through line 1, which is of its hunk
        "seg/a.py\t4\tnccl\tg2 mod hunk=4\n"  # missed
        "seg/a.py\t5\tnccl\tg2 mod hunk=4 rename\n"  # does not find its hunk
        "seg/a.py\t6\tamp\tg3 mod hunk=6\n"
    )
    (port / "untouched.tsv").write_text("file\tline\nseg/a.py\t7\n")
    tree = tmp_path / "trees" / "p1" / "before" / "seg"
    tree.mkdir(parents=True)
    (tree / "a.py").write_text("\n".join(f"line {n}" for n in range(1, 10)))
    return tmp_path


def score(root: Path, audits: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    for name, rows in audits.items():
        file = root / "audits" / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"findings": rows}))
    subprocess.run(
        [
            *(sys.executable, str(SCRIPT), "--cases", str(root / "cases")),
            *("--trees", str(root / "trees"), "--audits", str(root / "audits")),
            *("--json", str(root / "score.json")),
        ],
        check=True,
        timeout=60,
        capture_output=True,
    )
    result: dict[str, Any] = json.loads((root / "score.json").read_text())
    return result


def test_programs(cases: Path) -> None:
    result = score(
        cases,
        {
            "bugs": [
                finding("amp/x", "01.py", 1, "breaks"),
                finding("amp/x", "01.py", 2, "slow"),  # not a right verdict
                finding("amp/x", "01.py", 3, "breaks", confidence="possible"),
                finding("amp/y", "01.py", 4, "breaks", suppressed="because"),
                finding("amp/y", "01.py", 5, "breaks"),  # nobody expects it
                finding("amp/y", "01.py", 5, "breaks", confidence="possible"),  # may be wrong
                finding("amp/y", "01.py", 5, "portable"),  # no finding at all
                finding("amp/x", "03.py", 1, "breaks"),  # right, but not on the case's path
            ],
            "p1/seg": [],
        },
    )["bugs"]
    assert (result["recall"]["hit"], result["recall"]["total"]) == (2, 5)
    assert (result["recall_above_possible"]["hit"], result["recall_above_possible"]["total"]) == (
        1,
        4,
    )
    assert [(m["path"], m["line"]) for m in result["misses"]] == [
        ("01.py", 2),
        ("01.py", 4),
        ("03.py", 1),
    ]
    assert [(f["rule"], f["line"]) for f in result["false"]] == [("amp/y", 5)]
    assert result["by_rule"]["amp/x"]["right"] == 1
    assert result["by_rule"]["amp/x"]["other_verdict"] == 2
    assert result["by_rule"]["amp/y"]["precision"] == 0


def test_ports(cases: Path) -> None:
    result = score(
        cases,
        {
            "bugs": [],
            "p1/seg": [
                finding("amp/x", "./a.py", 1, "breaks"),
                finding("amp/x", "a.py", 5, "breaks"),
                finding("amp/x", "a.py", 6, "breaks"),
                finding("amp/x", "a.py", 7, "breaks"),
                finding("amp/x", "a.py", 9, "breaks"),
                finding("amp/x", "unlisted.py", 9, "breaks"),
            ],
        },
    )["ports"]
    assert result["pooled"]["g1"] == {"hit": 1, "total": 1, "share": 1.0}
    assert result["pooled"]["g2"] == {"hit": 1, "total": 2, "share": 0.5}
    assert result["macro_neuron_xla_g2"] == 0.5
    assert result["by_kind"]["nccl"]["hit"] == 0
    assert [m["line"] for m in result["misses"]] == [4]
    tally = result["by_rule"]["amp/x"]
    assert (tally["right"], tally["left"], tally["stray"]) == (3, 1, 1)
    assert tally["precision"] == 0.75
    assert [s["text"] for s in result["stray"]] == ["line 9"]


def test_a_missing_audit_is_an_error_not_a_zero(cases: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--cases", str(cases / "cases"), "--audits", str(cases)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "no audit of bugs" in done.stderr
