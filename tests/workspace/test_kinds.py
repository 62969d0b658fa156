"""What kind a file is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from neuronport.workspace import KINDS, kind_of, open_workspace
from tests.workspace.trees import grow


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("LICENSE", "other"),
        ("Makefile", "other"),
        ("weights.pt", "other"),
        ("notes.txt", "other"),
        ("CMakeLists.txt", "other"),
        ("dockerfile_utils.py", "python"),
        ("Dockerfile.md", "markdown"),
        ("requirements.py", "python"),
        ("requirements/notes.md", "markdown"),
        (".py", "other"),
        ("train.py", "python"),
        ("TRAIN.PY", "python"),
        ("gui.pyw", "python"),
        ("a.pyi", "stub"),
        ("a.ipynb", "notebook"),
        ("Dockerfile", "dockerfile"),
        ("dockerfile", "dockerfile"),
        ("Dockerfile.cu121", "dockerfile"),
        ("Dockerfile-gpu", "dockerfile"),
        ("train.Dockerfile", "dockerfile"),
        ("Containerfile", "dockerfile"),
        ("requirements.txt", "requirements"),
        ("requirements-dev.txt", "requirements"),
        ("dev_requirements.in", "requirements"),
        ("constraints.txt", "requirements"),
        ("requirements/base.txt", "requirements"),
        ("pyproject.toml", "toml"),
        ("Pipfile", "toml"),
        ("uv.lock", "toml"),
        ("Pipfile.lock", "json"),
        ("ds_config.json", "json"),
        ("environment.yml", "yaml"),
        ("job.yaml", "yaml"),
        ("setup.cfg", "ini"),
        ("tox.ini", "ini"),
        ("run.sh", "shell"),
        ("job.slurm", "shell"),
        ("k.cu", "cuda"),
        ("k.cuh", "cuda"),
        ("bind.cpp", "cpp"),
        ("a.h", "cpp"),
        ("README.md", "markdown"),
    ],
)
def test_by_name(path: str, kind: str) -> None:
    folder, _, name = path.rpartition("/")
    assert kind in KINDS
    assert kind_of(name, folder) == kind


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"", "other"),
        (b"import torch\n", "other"),
        (b"#!\n", "other"),
        (b"#!/usr/bin/perl\n", "other"),
        (b"#!/usr/bin/env node\n", "other"),
        (b"#!/usr/bin/python\n", "python"),
        (b"#!/usr/bin/env python3\r\n", "python"),
        (b"#! /usr/bin/env -S python3.11 -u\n", "python"),
        (b"#!/usr/bin/env -S PYTHONPATH=. python\n", "python"),
        (b"#!/bin/sh\n", "shell"),
        (b"#!/bin/bash -e", "shell"),
    ],
)
def test_by_the_first_line(head: bytes, kind: str) -> None:
    assert kind_of("train", head=head) == kind
    assert kind_of("train.txt", head=head) == "other"


def test_in_a_tree(tmp_path: Path) -> None:
    grow(tmp_path, {"bin/train": "#!/usr/bin/env python\n", "bin/data": "x", "empty": ""})
    grow(tmp_path, {"requirements/base.txt": "", "docs/base.txt": ""})
    workspace = open_workspace([os.fspath(tmp_path)])
    assert {file.path: file.kind for file in workspace.files} == {
        "bin/data": "other",
        "bin/train": "python",
        "docs/base.txt": "other",
        "empty": "other",
        "requirements/base.txt": "requirements",
    }
    assert [file.path for file in workspace.of_kind("python")] == ["bin/train"]
