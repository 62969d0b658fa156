"""The command line starts fast: what a command does not need is not imported."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib

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


@pytest.mark.parametrize(
    "start", [["-m", "neuronport"], ["-c", "from neuronport.__main__ import main; main()"]]
)
def test_an_interrupt_while_it_starts_is_no_traceback(tmp_path, start):
    """In place of a signal that would have to come in time: an import that is interrupted."""
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n")
    done = subprocess.run(
        [sys.executable, *start, "audit"],
        capture_output=True,
        text=True,
        env=environment({"PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}),
        timeout=60,
        check=False,
    )
    assert done.returncode == 130
    assert done.stderr == "neuronport: interrupted\n"


def test_the_command_starts_where_an_interrupt_is_answered():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"neuronport": "neuronport.__main__:main"}
