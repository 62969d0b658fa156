"""The command line starts fast: what a command does not need is not imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.running import ROOT, environment, neuronport

HEAVY = ("jinja2", "libcst", "tabulate", "pathspec", "torch", "numpy", "multiprocessing")
OWN = ("neuronport.rulebook", "neuronport.reporting", "neuronport.audit", "neuronport.detectors")


def imported_by(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "neuronport", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment(),
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    return {
        line.rpartition("|")[2].strip()
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    }


@pytest.mark.parametrize("arguments", [("--version",), ("explain", "--help"), ("rules", "--help")])
def test_nothing_heavy_is_imported(arguments):
    modules = imported_by(*arguments)
    assert "click" in modules
    assert not [m for m in modules if m.startswith((*HEAVY, *OWN))]


def test_help_lists_every_command_and_imports_no_library():
    # The list shows one line of each command, so their modules are imported, and only they.
    modules = imported_by("--help")
    assert not [m for m in modules if m.startswith((*HEAVY, *OWN))]
    shown = neuronport("--help").stdout
    for command in ("audit", "explain", "rules", "api"):
        assert f"\n  {command} " in shown


def test_an_audit_needs_no_torch_and_no_libcst(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    modules = imported_by("audit", str(tmp_path))
    assert not modules & {"torch", "libcst", "jinja2", "numpy"}
