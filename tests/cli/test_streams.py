"""Streams that are full or closed, files that never end, settings of a hostile project."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from neuronport.reporting import escape
from neuronport.reporting.screen import place
from tests.cli.running import environment, neuronport

COMMANDS = [
    ["audit", "."],
    ["audit", ".", "--format", "json"],
    ["explain", "device-seam"],
    ["api", "torch.cuda.Event"],
    ["rules"],
    ["operators", "show", "torch.sort"],
    ["--help"],
]
needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")


@pytest.fixture
def project(tmp_path):
    (tmp_path / "a.py").write_text("import flash_attn\n")
    return tmp_path


def shell(line: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m neuronport {line}'],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )


@needs_full
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_full_disk_is_one_line_and_not_the_status_of_findings(project, command):
    done = shell(f"{' '.join(command)} > /dev/full", project)
    assert done.returncode == 2
    assert done.stderr.decode() == "neuronport: standard output: No space left on device\n"


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell")
@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("audit . >&-", 2, "standard output: Bad file descriptor"),
        ("audit . --quiet >&-", 1, ""),
        ("audit . --output json=out.json --quiet <&- >&- 2>&-", 1, ""),
        ("audit - <&-", 3, "standard input is closed"),
    ],
)
def test_closed_streams(project, line, status, said):
    done = shell(line, project)
    assert done.returncode == status
    assert said in done.stderr.decode()
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_baseline_that_would_never_end(project):
    os.mkfifo(project / "pipe")
    for option in ("--baseline", "--write-baseline"):
        done = neuronport("audit", ".", option, "pipe", cwd=project, timeout=30)
        assert done.returncode == 2
        assert "not a regular file" in done.stderr
    (project / "neuronport.toml").write_text('baseline = "pipe"\n')
    assert neuronport("audit", ".", cwd=project, timeout=30).returncode == 2


def test_what_is_audited_is_not_written_over(project):
    for path in ("a.py", "./a.py", os.path.join("..", project.name, "a.py")):
        done = neuronport("audit", ".", "--output", f"json={path}", cwd=project)
        assert done.returncode == 2
        assert "never changed" in done.stderr
    assert (project / "a.py").read_text() == "import flash_attn\n"
    two = neuronport("audit", ".", "-o", "json=x", "-o", "sarif=x", cwd=project)
    assert (two.returncode, "two formats" in two.stderr) == (2, True)
    assert not (project / "x").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("jobs = 0", "jobs is to be 1 or more"),
        ("jobs = -1", "jobs is to be 1 or more"),
        ('fail-on = ""', "fail-on: '' is none of error, warning, note, none"),
        ("fail-roles = []", "fail-roles is empty"),
        ("x = " + "[" * 100_000, "not valid TOML"),
        ('"\\u001b[31m" = 1', "unknown key '\\x1b[31m'"),
    ],
)
def test_settings_that_are_wrong(project, text, said):
    (project / "neuronport.toml").write_text(text + "\n")
    done = neuronport("audit", ".", cwd=project)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_on_a_screen_is_a_command_to_a_build_server():
    assert "##[" not in escape.terminal("##[error]x")
    assert place("::error::x.py", 3) == "./::error::x.py:3"


@pytest.mark.skipif(sys.platform == "win32", reason="names that Windows does not have")
@pytest.mark.parametrize("form", ["text", "full"])
def test_no_line_of_a_screen_is_a_command(tmp_path, form):
    for name in ("::error::a.py", "##[error]b.py", "c\n::error::d.py", "e\r::add-mask::f.py"):
        (tmp_path / name).write_text("import flash_attn  # ##[error] ::error::\n")
        (tmp_path / f"broken{name}").write_text("x = (\n")
    done = neuronport("audit", ".", "--format", form, "--no-config", cwd=tmp_path)
    assert "::error::a.py" in done.stdout
    for line in done.stdout.splitlines():
        assert not line.strip().startswith("::"), line
        assert "##[" not in line


@pytest.mark.skipif(sys.platform == "win32", reason="names that Windows does not have")
def test_names_on_the_command_line_do_not_command_the_terminal(project):
    hostile = "\x1b[31m\n::error::x\u202e"
    for command in (["audit"], ["audit", "--select"], ["explain"], ["api"], ["port"]):
        done = neuronport(*command, hostile, cwd=project)
        assert done.returncode in (2, 3)
        for stream in (done.stdout, done.stderr):
            assert "\x1b" not in stream
            assert "\u202e" not in stream
            assert not any(x.startswith("::") for x in stream.splitlines())
