"""The benchmark must not take the time of a crash for a time, nor different outputs for the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "speed.py"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs os.wait4")

GOOD = """print('{"findings": []}'); sys.exit(1)"""
CRASH = "sys.exit('no module named neuronport')"
CHANGING = """print('{"findings": [%d]}' % os.getpid())"""


def measure(tmp_path: Path, audit: str) -> tuple[int, str, dict[str, Any]]:
    """Exit code, output and JSON, with a stand-in for the interpreter that runs the audit."""
    stand_in = tmp_path / "python"
    stand_in.write_text(
        f"#!{sys.executable}\nimport os, sys\nif 'audit' in sys.argv:\n    {audit}\nprint('ok')\n"
    )
    stand_in.chmod(0o755)
    for name in ("accelerate", "accelerate-1.15.0.dist-info"):
        (tmp_path / name).mkdir()
    (tmp_path / "accelerate" / "a.py").write_text("x = 1\n")
    done = subprocess.run(
        [
            *(sys.executable, str(SCRIPT), "--sources", str(tmp_path), "--package", "accelerate"),
            *("--repeat", "2", "--python", str(stand_in), "--json", str(tmp_path / "out.json")),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"PATH": ""},
    )
    report = json.loads((tmp_path / "out.json").read_text())["packages"]["accelerate"]
    return done.returncode, done.stdout, report


def test_findings_are_not_a_failure(tmp_path: Path) -> None:
    code, text, report = measure(tmp_path, GOOD)
    assert code == 0
    assert "the same, byte for byte" in text
    assert report["identical"] is True
    assert report["files"] == 1
    tools = report["tools"]
    assert set(tools) >= {"ast.parse", "audit cold -j1", "audit warm -j2"}
    assert all(len(tools[name]["wall"]) == 2 for name in tools if name.startswith("audit"))


def test_a_crash_has_no_time(tmp_path: Path) -> None:
    code, _, report = measure(tmp_path, CRASH)
    assert code == 1
    assert report["identical"] is None
    assert "no module named neuronport" in report["tools"]["audit cold -j1"]["failed"]


def test_different_outputs_are_told(tmp_path: Path) -> None:
    code, text, report = measure(tmp_path, CHANGING)
    assert code == 1
    assert "DIFFERENT" in text
    assert report["identical"] is False


def test_another_version_is_not_measured(tmp_path: Path) -> None:
    (tmp_path / "accelerate").mkdir()
    (tmp_path / "accelerate-0.1.dist-info").mkdir()
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--sources", str(tmp_path), "--package", "accelerate"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "accelerate 1.15.0" in done.stderr
