"""Which files of a tree are looked at, and what is said of the rest."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neuronport.findings import Role
from neuronport.workspace import NamedPathError, Workspace, open_workspace, read_source
from tests.workspace.trees import grow, reasons, shown


def look(*paths: Path | str, **options: Any) -> Workspace:
    return open_workspace([os.fspath(path) for path in paths], **options)


def test_a_folder_is_its_own_root(tmp_path: Path) -> None:
    grow(tmp_path, {"b/x.py": "1", "a.py": "22", "b/c/y.txt": ""})
    workspace = look(tmp_path)
    assert workspace.root == os.fspath(tmp_path)
    assert shown(workspace) == ["a.py", "b/c/y.txt", "b/x.py"]
    assert [file.size for file in workspace.files] == [2, 0, 1]
    assert [read_source(file) for file in workspace.files] == [b"22", b"", b"1"]
    assert workspace.not_looked_at == []


def test_no_path_is_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(tmp_path, {"a.py": ""})
    monkeypatch.chdir(tmp_path)
    assert shown(open_workspace([])) == ["a.py"]
    assert shown(open_workspace(["."])) == ["a.py"]


def test_a_file_is_named_from_its_folder(tmp_path: Path) -> None:
    grow(tmp_path, {"pkg/a.py": "", "pkg/b.py": ""})
    workspace = look(tmp_path / "pkg" / "a.py")
    assert (workspace.root, shown(workspace)) == (os.fspath(tmp_path / "pkg"), ["a.py"])


def test_several_paths_are_named_from_their_common_folder(tmp_path: Path) -> None:
    grow(tmp_path, {"one/a.py": "", "two/deep/b.py": "", "three/c.py": ""})
    workspace = look(tmp_path / "two", tmp_path / "one" / "a.py")
    assert (workspace.root, shown(workspace)) == (
        os.fspath(tmp_path),
        ["one/a.py", "two/deep/b.py"],
    )


def test_a_fixed_root_gives_a_file_one_name_however_it_is_asked_for(tmp_path: Path) -> None:
    grow(tmp_path, {"src/pkg/a.py": ""})
    asked: list[Path] = [tmp_path, tmp_path / "src", tmp_path / "src" / "pkg" / "a.py"]
    for path in asked:
        assert shown(look(path, root=os.fspath(tmp_path))) == ["src/pkg/a.py"]
    with pytest.raises(NamedPathError, match="not in"):
        look(tmp_path, root=os.fspath(tmp_path / "src"))


def test_a_path_named_twice_counts_once(tmp_path: Path) -> None:
    grow(tmp_path, {"a/x.py": "", "a/b/y.py": ""})
    workspace = look(tmp_path, tmp_path / "a", tmp_path / "a" / "x.py", tmp_path)
    assert shown(workspace) == ["a/b/y.py", "a/x.py"]


def test_every_named_path_that_is_not_there_is_told(tmp_path: Path) -> None:
    grow(tmp_path, {"a.py": ""})
    with pytest.raises(NamedPathError) as caught:
        look(tmp_path / "no.py", tmp_path / "a.py", tmp_path / "nor" / "this", "nul\0name")
    assert [Path(problem.path).name for problem in caught.value.problems] == [
        "no.py",
        "this",
        "nul\0name",
    ]
    assert caught.value.reason == "not-found"
    assert "no.py" in str(caught.value)
    assert "this" in str(caught.value)


def test_a_named_file_that_is_too_large_is_told(tmp_path: Path) -> None:
    grow(tmp_path, {"a.py": "x = 1\n"})
    with pytest.raises(NamedPathError, match="more than 3") as caught:
        look(tmp_path / "a.py", max_bytes=3)
    assert caught.value.reason == "too-large"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_named_pipe_is_refused_unopened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.py")
    with pytest.raises(NamedPathError) as caught:
        look(tmp_path / "p.py")
    assert caught.value.reason == "not-a-regular-file"


def test_a_named_folder_that_cannot_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deny(monkeypatch, tmp_path)
    with pytest.raises(NamedPathError) as caught:
        look(tmp_path)
    assert caught.value.reason == "unreadable"


def test_what_is_left_out_by_default_is_listed_by_folder(tmp_path: Path) -> None:
    grow(tmp_path, {"venv/lib/x.py": "", "node_modules/a/b.py": "", "pkg.egg-info/x.txt": ""})
    grow(tmp_path, {"build/lib/pkg/a.py": "", "sub/dist/b.py": "", "env/pyvenv.cfg": ""})
    grow(tmp_path, {"env/lib/c.py": "", "conda/conda-meta/history": "", "conda/d.py": ""})
    grow(tmp_path, {"a.py": "", "build.py": "", "venv.py": ""})
    workspace = look(tmp_path)
    assert shown(workspace) == ["a.py", "build.py", "venv.py"]
    assert reasons(workspace) == dict.fromkeys(
        ["build/", "conda/", "env/", "node_modules/", "pkg.egg-info/", "sub/dist/", "venv/"],
        "excluded-by-default",
    )


def test_a_package_called_build_is_looked_at(tmp_path: Path) -> None:
    grow(tmp_path, {"tools/build/__init__.py": "", "tools/build/compile.py": ""})
    workspace = look(tmp_path)
    assert shown(workspace) == ["tools/build/__init__.py", "tools/build/compile.py"]
    assert workspace.not_looked_at == []


def test_folders_of_tools_are_passed_over(tmp_path: Path) -> None:
    grow(tmp_path, {".git/hooks/x.py": "", "__pycache__/y.py": "", ".mypy_cache/z.json": ""})
    workspace = look(tmp_path)
    assert (workspace.files, workspace.not_looked_at) == ([], [])


def test_a_folder_that_is_named_is_looked_at_whatever_its_name(tmp_path: Path) -> None:
    grow(tmp_path, {"venv/pyvenv.cfg": "", "venv/lib/x.py": "", "a.py": ""})
    assert shown(look(tmp_path / "venv")) == ["lib/x.py", "pyvenv.cfg"]
    assert shown(look(tmp_path, tmp_path / "venv")) == ["a.py", "venv/lib/x.py", "venv/pyvenv.cfg"]


def test_a_file_that_is_named_is_looked_at_whatever_patterns_say(tmp_path: Path) -> None:
    grow(tmp_path, {".gitignore": "*.py\n", "build/a.py": "", "b.py": ""})
    workspace = look(tmp_path, tmp_path / "build" / "a.py", exclude=["a.py"])
    assert shown(workspace) == [".gitignore", "build/a.py"]
    assert reasons(workspace) == {"b.py": "ignored"}


def test_exclude_replaces_and_extend_exclude_adds(tmp_path: Path) -> None:
    grow(tmp_path, {"venv/x.py": "", "old/a.py": "", "new/old.py": "", "new/b.py": ""})
    replaced = look(tmp_path, exclude=["/old"])
    assert shown(replaced) == ["new/b.py", "new/old.py", "venv/x.py"]
    assert reasons(replaced) == {"old/": "excluded"}
    added = look(tmp_path, extend_exclude=["old.py", "old/"])
    assert shown(added) == ["new/b.py"]
    assert reasons(added) == {
        "new/old.py": "excluded",
        "old/": "excluded",
        "venv/": "excluded-by-default",
    }


def test_a_pattern_of_the_user_is_from_the_root(tmp_path: Path) -> None:
    grow(tmp_path, {"a/gen/x.py": "", "b/gen/x.py": ""})
    assert shown(look(tmp_path, extend_exclude=["a/gen"])) == ["b/gen/x.py"]


def test_large_files_are_listed_when_they_would_be_read(tmp_path: Path) -> None:
    grow(tmp_path, {"a.py": "x" * 11, "b.py": "x" * 10, "c.ipynb": "x" * 11, "w.pt": "x" * 99})
    workspace = look(tmp_path, max_bytes=10)
    assert shown(workspace) == ["b.py", "c.ipynb", "w.pt"]
    assert reasons(workspace) == {"a.py": "too-large"}
    assert workspace.not_looked_at[0].detail == "11 bytes, more than 10"


def test_a_line_of_fifty_megabytes_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "a.py").open("wb") as file:
        file.truncate(50_000_000)
    began = time.perf_counter()
    assert reasons(look(tmp_path)) == {"a.py": "too-large"}
    assert time.perf_counter() - began < 1


@pytest.fixture
def link(tmp_path: Path) -> Any:
    def make(name: str, target: str | Path) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.symlink_to(target)
        except OSError:
            pytest.skip("links cannot be made here")

    return make


def test_links_inside_the_tree_are_not_followed_twice(tmp_path: Path, link: Any) -> None:
    grow(tmp_path, {"a/x.py": ""})
    link("y.py", "a/x.py")
    link("b", "a")
    link("a/up", "..")
    link("a/self", ".")
    workspace = look(tmp_path)
    assert shown(workspace) == ["a/x.py"]
    assert workspace.not_looked_at == []


def test_links_out_of_the_tree_are_listed(tmp_path: Path, link: Any) -> None:
    grow(tmp_path, {"outside/x.py": "", "tree/a.py": ""})
    link("tree/x.py", tmp_path / "outside" / "x.py")
    link("tree/all", tmp_path / "outside")
    link("tree/weights.pt", tmp_path / "outside" / "x.py")
    link("tree/tree2", tmp_path / "tree2")
    workspace = look(tmp_path / "tree")
    assert shown(workspace) == ["a.py"]
    assert reasons(workspace) == {"all/": "link-out-of-tree", "x.py": "link-out-of-tree"}


def test_a_tree_whose_name_begins_alike_is_outside(tmp_path: Path, link: Any) -> None:
    grow(tmp_path, {"tree/a.py": "", "tree-2/b.py": ""})
    link("tree/b.py", tmp_path / "tree-2" / "b.py")
    assert reasons(look(tmp_path / "tree")) == {"b.py": "link-out-of-tree"}


def test_broken_links_and_loops(tmp_path: Path, link: Any) -> None:
    link("gone.py", "nowhere.py")
    link("one.py", "two.py")
    link("two.py", "one.py")
    workspace = look(tmp_path)
    assert workspace.files == []
    assert reasons(workspace) == dict.fromkeys(["gone.py", "one.py", "two.py"], "broken-link")


def test_a_link_to_what_was_left_out_is_listed(tmp_path: Path, link: Any) -> None:
    grow(tmp_path, {"build/gen/x.py": "", ".git/annex/y.py": ""})
    link("gen", "build/gen")
    link("y.py", ".git/annex/y.py")
    assert reasons(look(tmp_path)) == {
        "build/": "excluded-by-default",
        "gen/": "link-to-excluded",
        "y.py": "link-to-excluded",
    }


def test_a_link_that_is_named_is_followed(tmp_path: Path, link: Any) -> None:
    grow(tmp_path, {"real/a.py": "1", "real/b/c.py": ""})
    link("alias", "real")
    link("a2.py", "real/a.py")
    link("real/again", tmp_path / "alias" / "b")
    assert shown(look(tmp_path / "alias")) == ["a.py", "b/c.py"]
    assert look(tmp_path / "alias").not_looked_at == []
    workspace = look(tmp_path / "a2.py")
    assert shown(workspace) == ["a2.py"]
    assert read_source(workspace.files[0]) == b"1"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_pipes_and_sockets_are_listed_unopened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.py")
    os.mkfifo(tmp_path / "noext")
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.open(".", os.O_RDONLY)
        os.chdir(tmp_path)  # a socket's path may be a hundred characters
        try:
            listening.bind("s")
        finally:
            os.fchdir(here)
            os.close(here)
    workspace = look(tmp_path)
    assert workspace.files == []
    assert reasons(workspace) == dict.fromkeys(["noext", "p.py", "s"], "not-a-regular-file")


def deny(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """As if the folders were another user's; tests may run as one whom nothing is denied."""
    scandir = os.scandir

    def denied(path: Any = ".") -> Any:
        if Path(path) in folders:
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", denied)


def test_a_folder_that_cannot_be_read_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(tmp_path, {"a/x.py": "", "b/y.py": ""})
    deny(monkeypatch, tmp_path / "a")
    workspace = look(tmp_path)
    assert shown(workspace) == ["b/y.py"]
    assert reasons(workspace) == {"a/": "unreadable"}
    assert workspace.not_looked_at[0].detail == "permission denied"


def test_a_folder_that_vanishes_during_the_walk_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(tmp_path, {"a/x.py": "", "b.py": ""})
    scandir = os.scandir

    def vanishing(path: Any = ".") -> Any:
        if path == os.fspath(tmp_path / "a"):
            (tmp_path / "a" / "x.py").unlink()
            (tmp_path / "a").rmdir()
        return scandir(path)

    monkeypatch.setattr(os, "scandir", vanishing)
    workspace = look(tmp_path)
    assert shown(workspace) == ["b.py"]
    assert reasons(workspace) == {"a/": "vanished"}


def test_names_that_are_not_utf8_or_not_printable_are_escaped(tmp_path: Path) -> None:
    try:
        grow(tmp_path, {os.fsdecode(b"caf\xe9/\xff.py"): "1", "a\nb.py": "", "c\\d.py": ""})
    except OSError:
        pytest.skip("this file system takes plain names only")
    grow(tmp_path, {"größe.py": "", "with space.py": "", "x\u202ey.py": ""})
    workspace = look(tmp_path)
    assert shown(workspace) == [
        "a\\u000ab.py",
        "c\\\\d.py",
        "caf\\xe9/\\xff.py",
        "größe.py",
        "with space.py",
        "x\\u202ey.py",
    ]
    (odd,) = [file for file in workspace.files if file.size]
    assert read_source(odd) == b"1"


def test_a_very_deep_tree(tmp_path: Path) -> None:
    """Deeper than the interpreter recurses; its end is beyond the longest path the system takes."""
    here = os.getcwd()
    deep = 1500
    try:
        os.chdir(tmp_path)
        for _ in range(deep):
            os.mkdir("ddd")
            os.chdir("ddd")
        Path("x.py").write_bytes(b"")
    finally:
        os.chdir(here)
    workspace = look(tmp_path)
    try:
        found = len(workspace.files) + len(workspace.not_looked_at)
        assert found == 1
        assert set(reasons(workspace).values()) <= {"unreadable"}
    finally:
        subprocess.run(["rm", "-rf", os.fspath(tmp_path / "ddd")], check=False)


def roles(workspace: Workspace) -> dict[str, Role]:
    return {file.path: file.role for file in workspace.files}


def test_roles_by_convention(tmp_path: Path) -> None:
    expected = {
        "train.py": Role.CODE,
        "pkg/testing.py": Role.CODE,
        "pkg/latest_model.py": Role.CODE,
        "pkg/contest.py": Role.CODE,
        "test_config.yaml": Role.CODE,
        "test.py": Role.CODE,
        "sample/generate.py": Role.CODE,
        "tests/helper.py": Role.TEST,
        "Tests/data.json": Role.TEST,
        "pkg/test_a.py": Role.TEST,
        "pkg/a_test.py": Role.TEST,
        "pkg/kernel_test.cu": Role.TEST,
        "conftest.py": Role.TEST,
        "examples/run.py": Role.EXAMPLE,
        "examples/tests/test_run.py": Role.TEST,
        "tests/examples/run.py": Role.TEST,
        "samples/a/b.py": Role.EXAMPLE,
        "third_party/a.py": Role.VENDORED,
        "pkg/vendor/a/tests/test_a.py": Role.VENDORED,
        "pkg/_vendor/a.py": Role.VENDORED,
        "extern/a.cu": Role.VENDORED,
    }
    grow(tmp_path, dict.fromkeys(expected, ""))
    assert roles(look(tmp_path)) == dict(sorted(expected.items()))


def test_roles_are_judged_below_what_was_named(tmp_path: Path) -> None:
    grow(tmp_path, {"samples/gpt/train.py": "", "samples/gpt/tests/test_a.py": ""})
    grow(tmp_path, {"tests/helper.py": "", "src/a.py": ""})
    assert roles(look(tmp_path / "samples" / "gpt")) == {
        "tests/test_a.py": Role.TEST,
        "train.py": Role.CODE,
    }
    both = look(tmp_path / "tests", tmp_path / "src", root=os.fspath(tmp_path))
    assert roles(both) == {"src/a.py": Role.CODE, "tests/helper.py": Role.CODE}


def test_roles_of_files_named_one_by_one(tmp_path: Path) -> None:
    """As a hook names them: a test stays a test."""
    grow(tmp_path, {"src/a.py": "", "tests/helper.py": ""})
    hook = look(tmp_path / "src" / "a.py", tmp_path / "tests" / "helper.py")
    assert roles(hook) == {"src/a.py": Role.CODE, "tests/helper.py": Role.TEST}


def test_submodules_are_vendored(tmp_path: Path) -> None:
    modules = '[submodule "r"]\n\tpath = libs/raster\n\turl = https://example.org/r\n'
    grow(tmp_path, {".gitmodules": modules, "libs/raster/a.py": "", "libs/own.py": ""})
    grow(tmp_path, {".git/HEAD": ""})
    assert roles(look(tmp_path))["libs/raster/a.py"] is Role.VENDORED
    assert roles(look(tmp_path))["libs/own.py"] is Role.CODE
    assert roles(look(tmp_path / "libs"))["raster/a.py"] is Role.VENDORED
    assert roles(look(tmp_path / "libs" / "raster"))["a.py"] is Role.CODE


def test_another_project_among_the_dependencies_is_vendored(tmp_path: Path) -> None:
    grow(tmp_path, {"run/dependencies/Other/setup.py": "", "run/dependencies/Other/o/a.py": ""})
    grow(tmp_path, {"app/dependencies/auth/a.py": "", "pkg/setup.py": "", "pkg/a.py": ""})
    assert roles(look(tmp_path)) == {
        "run/dependencies/Other/setup.py": Role.VENDORED,
        "run/dependencies/Other/o/a.py": Role.VENDORED,
        "app/dependencies/auth/a.py": Role.CODE,
        "pkg/setup.py": Role.CODE,
        "pkg/a.py": Role.CODE,
    }


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    workspace = open_workspace(["-"], stdin=b"import torch\n")
    (file,) = workspace.files
    assert (file.path, file.kind, file.size, file.role) == ("<stdin>", "python", 13, Role.CODE)
    assert read_source(file) == b"import torch\n"
    assert workspace.root == os.path.realpath(tmp_path)
    (named,) = open_workspace(["-"], stdin=b"", stdin_name="tests/Dockerfile").files
    assert (named.path, named.kind, named.role) == ("tests/Dockerfile", "dockerfile", Role.TEST)


def test_standard_input_beside_files(tmp_path: Path) -> None:
    grow(tmp_path, {"a.py": ""})
    workspace = open_workspace([os.fspath(tmp_path), "-"], stdin=b"x")
    assert shown(workspace) == ["<stdin>", "a.py"]


def test_the_order_of_the_file_system_does_not_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(tmp_path, {f"{d}/{n}.py": "" for d in ("b", "a", "a/c", "B", "a-b") for n in "zyx"})
    grow(tmp_path, {"build/x.py": "", "b/venv/y.py": "", ".gitignore": "B/\n"})
    first = look(tmp_path)
    scandir = os.scandir

    class Shuffled:
        def __init__(self, path: Any = ".") -> None:
            with scandir(path) as entries:
                self.entries = list(entries)
            random.shuffle(self.entries)

        def __enter__(self) -> Iterator[Any]:
            return iter(self.entries)

        def __exit__(self, *_: object) -> None:
            return None

    monkeypatch.setattr(os, "scandir", Shuffled)
    for _ in range(5):
        assert look(tmp_path) == first
    assert shown(first) == sorted(shown(first))


def test_three_thousand_files_in_no_time(tmp_path: Path) -> None:
    patterns = "".join(f"*.{n}x\n/gen{n}/**/tmp\n!keep{n}\n" for n in range(30))
    grow(tmp_path, {".gitignore": patterns})
    grow(tmp_path, {f"p{d}/q{d % 7}/m{n}.py": "" for d in range(60) for n in range(50)})
    best = 9.0
    for _ in range(3):
        began = time.perf_counter()
        workspace = look(tmp_path)
        best = min(best, time.perf_counter() - began)
    assert len(workspace.files) == 3001
    assert best < 1.0  # about a tenth of it on an idle machine
