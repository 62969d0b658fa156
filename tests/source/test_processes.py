"""Commands and environment variables: where they are found, and what excuses a missing one."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.source.processes import commands
from tests.rules.judging import judge_files


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("nvidia-smi -L", [("nvidia-smi", False)]),
        ("/usr/bin/nvidia-smi", [("nvidia-smi", False)]),
        ("sudo nvidia-smi -pm 1", [("nvidia-smi", False)]),
        ("watch -n 1 nvidia-smi", [("nvidia-smi", False)]),
        ("command -v nvcc", [("nvcc", True)]),
        ("which nvidia-smi && nvidia-smi", [("nvidia-smi", True), ("nvidia-smi", False)]),
        ("CUDA_VISIBLE_DEVICES=0 python a.py | tee log", [("python", False), ("tee", False)]),
        ("echo $(nvidia-smi -L | wc -l)", [("echo", False), ("nvidia-smi", False), ("wc", False)]),
        ("", []),
    ],
)
def test_the_commands_of_a_shell_text(text: str, found: list[tuple[str, bool]]) -> None:
    assert list(commands(text)) == found


def said(folder: Path, code: str) -> list[tuple[str, int, str, str]]:
    part = judge_files(folder, {"case.py": code}, ("native",))
    return [
        (f.rule, f.location.line, str(f.verdict), str(f.confidence))
        for f in part.findings
        if f.rule.startswith(("api/env:", "api/command:"))
    ]


def test_a_missing_command_that_is_caught_is_no_failure(tmp_path: Path) -> None:
    code = """\
import subprocess
try:
    subprocess.run(["nvidia-smi"])
except FileNotFoundError:
    pass
try:
    subprocess.run(["nvidia-smi"])
except ValueError:
    pass
"""
    assert said(tmp_path, code) == [
        ("api/command:nvidia-smi", 3, "locks-in", "likely"),
        ("api/command:nvidia-smi", 7, "breaks", "likely"),
    ]


def test_asking_for_a_command_guards_what_runs_it(tmp_path: Path) -> None:
    code = """\
import shutil, subprocess
if shutil.which("nvidia-smi"):
    subprocess.run(["nvidia-smi"])
if shutil.which("nvidia-smi") is None:
    subprocess.run(["nvidia-smi"])
"""
    verdicts = {line: verdict for _, line, verdict, _ in said(tmp_path, code)}
    assert verdicts == {2: "locks-in", 3: "locks-in", 4: "locks-in", 5: "breaks"}


def test_a_variable_that_has_to_be_set_fails_unless_someone_sees_to_it(tmp_path: Path) -> None:
    bare = 'import os\nhome = os.environ["CUDA_HOME"]\n'
    assert [v for _, _, v, _ in said(tmp_path / "bare", bare)] == ["breaks"]
    for i, code in enumerate(
        (
            'import os\nos.environ.setdefault("CUDA_HOME", "/c")\nhome = os.environ["CUDA_HOME"]\n',
            'import os\nhome = os.environ["CUDA_HOME"] if "CUDA_HOME" in os.environ else ""\n',
            'import os\ntry:\n    home = os.environ["CUDA_HOME"]\nexcept KeyError:\n    home = ""\n',
        )
    ):
        verdicts = {v for _, _, v, _ in said(tmp_path / str(i), code)}
        assert verdicts == {"locks-in"}, code


@pytest.mark.parametrize(
    ("line", "confidence"),
    [
        ('os.environ["NCCL_DEBUG"] = "INFO"', "certain"),
        ('env = os.environ | dict(A="1", CUDA_VISIBLE_DEVICES="3")', "likely"),
        ('env = dict(os.environ, CUDA_VISIBLE_DEVICES="3")', "certain"),
        ('job = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}', "likely"),
        ('commands.append("CUDA_VISIBLE_DEVICES=1 python a.py")', "likely"),
        ('settings["CUDA_WHATEVER"] = 3', "possible"),
    ],
)
def test_how_surely_a_name_is_a_variable(tmp_path: Path, line: str, confidence: str) -> None:
    found = said(tmp_path, f"import os\ncommands, settings = start()\n{line}\n")
    assert [c for _, at, _, c in found if at == 3] == [confidence]
