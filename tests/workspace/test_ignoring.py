"""Ignore patterns: every answer is git's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuronport.workspace import open_workspace
from tests.workspace.trees import grow, reasons, shown

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *words: str, stdin: bytes | None = None) -> bytes:
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    command = ["git", "-C", os.fspath(folder), *words]
    run = subprocess.run(command, input=stdin, capture_output=True, env=environment, check=False)
    assert run.returncode in (0, 1), run.stderr
    return run.stdout


def kept_by_git(folder: Path) -> set[str]:
    """Every Python file that git does not ignore."""
    listed = git(folder, "ls-files", "-z", "--others", "--exclude-standard")
    return {path for path in listed.decode().split("\0") if path.endswith(".py")}


def kept_by_us(folder: Path) -> set[str]:
    return {path for path in shown(open_workspace([os.fspath(folder)])) if path.endswith(".py")}


@needs_git
@pytest.mark.parametrize(
    "patterns",
    [
        "a/",
        "a",
        "/a",
        "a/*",
        "a/**",
        "a/**/",
        "**/a",
        "**/a/",
        "**",
        "*",
        "*/",
        "*\n!*/\n!*.py",
        "*\n!a/\n!a/*.py",
        "/*\n!/b",
        "a/\n!a/x.py",
        "a/*\n!a/x.py",
        "a/b",
        "b/a/",
        "a/**/b",
        "?.py",
        "[xy].py",
        "[!x].py",
        "[^x].py",
        "[x.py",
        "[z-a].py",
        "x.py\\",
        "x.py   ",
        "x.py\\ ",
        "\\!x.py",
        "\\#x.py",
        "# x.py",
        "#x.py",
        "!x.py",
        "x.py\r\n!a/x.py\r\n",
        "\ufeffx.py",
        "/",
        "//",
        "a//",
        "A/",
        "*.p[yz]",
        "a/b/\n!b",
        "a*/x.py",
        "*a*b*",
        "/a[!y]b/x.py",
        "/a[.-0]b/x.py",
        "**x*.py*",
        "*b*/*.py",
        "a*[bc]*/?*",
        "*[!x]*.p*y",
        "a/*b*/*x*.*y*",
    ],
)
def test_a_pattern_means_what_it_means_to_git(tmp_path: Path, patterns: str) -> None:
    names = ["x.py", "y.py", "a/x.py", "a/y.py", "a/b/x.py", "a/b/c/x.py", "b/a/x.py", "ab/x.py"]
    grow(tmp_path, dict.fromkeys([*names, "!x.py", "#x.py", "b/x.py"], ""))
    (tmp_path / ".gitignore").write_bytes(patterns.encode())
    git(tmp_path, "init", "-q")
    assert kept_by_us(tmp_path) == kept_by_git(tmp_path)


_NAMES = st.sampled_from(["a", "b", "ab", "c"])
_FOLDERS = st.lists(_NAMES, max_size=3).map("/".join)
_PART = st.one_of(
    _NAMES,
    st.sampled_from(
        ["*", "**", "?", "a*", "*b", "[ab]", "[!a]", "x.py", "*.py", "?.py", "y*", "*x*.*", "*?*"]
    ),
)
_PATTERN = st.builds(
    lambda bang, lead, parts, tail: bang + lead + "/".join(parts) + tail,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(_PART, min_size=1, max_size=3),
    st.sampled_from(["", "", "/"]),
)
_PATTERNS = st.lists(_PATTERN, min_size=1, max_size=5).map("\n".join)


@needs_git
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    files=st.lists(
        st.builds(lambda f, n: f"{f}/{n}.py".lstrip("/"), _FOLDERS, st.sampled_from("xyz")),
        min_size=1,
        max_size=12,
    ),
    ignores=st.dictionaries(_FOLDERS, _PATTERNS, min_size=1, max_size=3),
    excludes=st.one_of(st.just(""), _PATTERNS),
)
def test_generated_trees_and_patterns(
    files: list[str], ignores: dict[str, str], excludes: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        git(root, "init", "-q")
        grow(root, dict.fromkeys(files, ""))
        grow(root, {f"{place}/.gitignore".lstrip("/"): text for place, text in ignores.items()})
        grow(root, {".git/info/exclude": excludes})
        assert kept_by_us(root) == kept_by_git(root)


@needs_git
def test_a_name_that_is_not_utf8_is_matched_as_git_does(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.py")
    try:
        (tmp_path / name).write_bytes(b"")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    (tmp_path / "x.py").write_bytes(b"")
    (tmp_path / ".gitignore").write_bytes(b"\xff.py\n")
    assert shown(open_workspace([os.fspath(tmp_path)])) == [".gitignore", "x.py"]


def test_the_nearer_file_of_patterns_wins(tmp_path: Path) -> None:
    grow(tmp_path, {".gitignore": "*.py\n", "a/.gitignore": "!keep.py\n"})
    grow(tmp_path, {"a/keep.py": "", "a/drop.py": "", "keep.py": ""})
    assert kept_by_us(tmp_path) == {"a/keep.py"}


def test_what_is_ignored_is_listed_once_at_its_top(tmp_path: Path) -> None:
    grow(tmp_path, {".gitignore": "data/\n*.pt\nlocal.py\n", "local.py": "", "x.pt": ""})
    grow(tmp_path, {"data/a/b/x.py": "", "data/y.py": ""})
    workspace = open_workspace([os.fspath(tmp_path)])
    assert reasons(workspace) == {"data/": "ignored", "local.py": "ignored"}
    assert "data/" in workspace.not_looked_at[0].detail


def test_include_ignored_looks_at_it(tmp_path: Path) -> None:
    grow(tmp_path, {".gitignore": "data/\n", "data/x.py": "", "venv/y.py": ""})
    workspace = open_workspace([os.fspath(tmp_path)], include_ignored=True)
    assert shown(workspace) == [".gitignore", "data/x.py"]
    assert reasons(workspace) == {"venv/": "excluded-by-default"}


@needs_git
def test_patterns_of_the_folders_above_hold_up_to_the_repository(tmp_path: Path) -> None:
    grow(tmp_path, {".gitignore": "*.py\n"})  # outside the repository: nobody's business
    repository = tmp_path / "repository"
    grow(repository, {".gitignore": "/pkg/gen_*.py\n", "pkg/.gitignore": "/sub/x.py\n"})
    grow(repository, {"pkg/sub/x.py": "", "pkg/sub/y.py": "", "pkg/gen_a.py": ""})
    git(repository, "init", "-q")
    grow(repository, {".git/info/exclude": "z.py\n", "pkg/sub/z.py": ""})
    assert kept_by_us(repository / "pkg" / "sub") == {"y.py"}
    assert kept_by_us(repository) == kept_by_git(repository) == {"pkg/sub/y.py"}


@needs_git
def test_an_inner_repository_has_its_own_patterns(tmp_path: Path) -> None:
    grow(tmp_path, {".gitignore": "x.py\n", "inner/x.py": "", "inner/y.py": ""})
    git(tmp_path, "init", "-q")
    git(tmp_path / "inner", "init", "-q")
    grow(tmp_path, {"inner/.git/info/exclude": "y.py\n"})
    assert kept_by_us(tmp_path) == {"inner/x.py"}


@needs_git
def test_a_linked_work_tree_shares_the_exclude_file(tmp_path: Path) -> None:
    main = tmp_path / "main"
    grow(main, {"x.py": ""})
    git(main, "init", "-q")
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    git(main, "add", "x.py")
    git(main, *who, "commit", "-q", "-m", "one")
    git(main, "worktree", "add", "-q", os.fspath(tmp_path / "linked"))
    grow(main, {".git/info/exclude": "y.py\n"})
    grow(tmp_path, {"linked/y.py": "", "linked/z.py": ""})
    assert kept_by_us(tmp_path / "linked") == {"x.py", "z.py"}


def test_patterns_that_make_no_sense_match_nothing(tmp_path: Path) -> None:
    grow(tmp_path, {".gitignore": "[\nx\\\n[z-a]\n***\\\n", "x.py": ""})
    assert kept_by_us(tmp_path) == {"x.py"}


def test_many_stars_do_not_hang(tmp_path: Path) -> None:
    pattern = "*a" * 40 + "b"
    grow(tmp_path, {".gitignore": f"{pattern}\nx/{pattern}\n", "x/" + "a" * 200 + ".py": ""})
    assert len(kept_by_us(tmp_path)) == 1


def test_a_folder_in_the_place_of_gitignore_is_no_crash(tmp_path: Path) -> None:
    grow(tmp_path, {".gitignore/x.py": "", "y.py": ""})
    assert kept_by_us(tmp_path) == {".gitignore/x.py", "y.py"}
