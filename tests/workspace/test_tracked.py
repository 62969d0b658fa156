"""What git tracks is looked at, whatever its patterns say."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from neuronport.workspace import open_workspace
from neuronport.workspace.tracked import Tracked
from tests.workspace.test_ignoring import git
from tests.workspace.trees import grow, reasons, shown

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def repository(folder: Path, *options: str) -> Path:
    """With tracked and untracked files that patterns ignore, ``lib/`` as in many templates."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q", *options)
    grow(folder, {".gitignore": "lib/\n*_local.py\nbuild/\n", "a.py": "", "b_local.py": ""})
    grow(
        folder, {"lib/x.py": "", "lib/untracked.py": "", "lib/deep/y.py": "", "lib/other/z.py": ""}
    )
    grow(folder, {"lib/deep/.gitignore": "!*\n", "lib/deep/w.py": "", "build/gen.py": ""})
    tracked = ["a.py", "b_local.py", "lib/x.py", "lib/deep/y.py", "build/gen.py", ".gitignore"]
    git(folder, "add", "-f", *tracked)
    grow(folder, {"c_local.py": ""})
    return folder


def test_tracked_files_are_not_ignored(tmp_path: Path) -> None:
    workspace = open_workspace([os.fspath(repository(tmp_path / "r"))])
    assert shown(workspace) == [".gitignore", "a.py", "b_local.py", "lib/deep/y.py", "lib/x.py"]
    assert reasons(workspace) == {
        "build/": "excluded-by-default",
        "c_local.py": "ignored",
        "lib/deep/w.py": "ignored",
        "lib/other/": "ignored",
        "lib/untracked.py": "ignored",
    }


def test_what_is_left_out_by_default_tells_what_is_tracked(tmp_path: Path) -> None:
    workspace = open_workspace([os.fspath(repository(tmp_path / "r"))])
    (row,) = [row for row in workspace.not_looked_at if row.path == "build/"]
    assert row.detail == "by the pattern build/; Python files in it that git tracks: 1"


def test_from_a_folder_inside(tmp_path: Path) -> None:
    repository(tmp_path / "r")
    assert shown(open_workspace([os.fspath(tmp_path / "r" / "lib" / "deep")])) == [
        ".gitignore",
        "w.py",
        "y.py",
    ]


def test_a_submodule_in_an_ignored_folder(tmp_path: Path) -> None:
    inner = repository(tmp_path / "inner")
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    git(inner, *who, "commit", "-q", "-m", "one")
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    local = ("-c", "protocol.file.allow=always")
    git(outer, *local, "submodule", "--quiet", "add", os.fspath(inner), "lib/inner")
    grow(outer, {".gitignore": "lib/\n", "lib/own.py": ""})
    workspace = open_workspace([os.fspath(outer)])
    assert "lib/inner/a.py" in shown(workspace)
    assert "lib/inner/lib/x.py" in shown(workspace)
    assert reasons(workspace)["lib/own.py"] == "ignored"


@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("digest", ["sha1", "sha256"])
def test_every_version_of_the_index(tmp_path: Path, version: str, digest: str) -> None:
    git(tmp_path, "init", "-q", f"--object-format={digest}")
    names = ["a.py", "a/b.py", "a/bc.py", f"long/{'x' * 200}/{'y' * 200}/z.py", "größe.py"]
    names += [f"many/{'n' * n}.py" for n in range(1, 20)]
    grow(tmp_path, dict.fromkeys(names, ""))
    git(tmp_path, "add", ".")
    if version == "3":  # an entry with extended flags
        grow(tmp_path, {"later.py": ""})
        git(tmp_path, "add", "-N", "later.py")
        names.append("later.py")
    git(tmp_path, "update-index", "--index-version", version)
    prefix = tmp_path.as_posix() + "/"
    tracked = Tracked(os.fspath(tmp_path), prefix)
    assert all(tracked.holds(prefix + name, False) for name in names)
    assert tracked.holds(prefix + "a", True)
    assert not tracked.holds(prefix + "a", False)
    assert not tracked.holds(prefix + "b.py", False)
    assert tracked.python_files(prefix + "a") == 2
    listed = git(tmp_path, "ls-files", "-z").decode().rstrip("\0").split("\0")
    assert sorted(listed) == sorted(names)


@pytest.mark.parametrize("damage", [b"", b"DIRC", b"DIRC\0\0\0\x02\0\0\0\x09abc", b"\0" * 99])
def test_an_index_that_is_damaged_counts_as_none(tmp_path: Path, damage: bytes) -> None:
    repository(tmp_path / "r")
    (tmp_path / "r" / ".git" / "index").write_bytes(damage)
    assert shown(open_workspace([os.fspath(tmp_path / "r")])) == [".gitignore", "a.py"]
