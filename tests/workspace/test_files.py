"""Reading a file after the walk: whatever became of it, there is a reason and no hang."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neuronport.findings import Role
from neuronport.workspace import (
    SourceFile,
    Unreadable,
    as_named,
    open_workspace,
    printable,
    read_source,
)
from tests.workspace.trees import grow


def only_file(folder: Path) -> SourceFile:
    (file,) = open_workspace([os.fspath(folder)]).files
    return file


def test_bytes_are_as_they_are(tmp_path: Path) -> None:
    grow(tmp_path, {"a.py": b"\xff\r\n\x1a\0"})
    assert read_source(only_file(tmp_path)) == b"\xff\r\n\x1a\0"


def test_vanished(tmp_path: Path) -> None:
    file = only_file(grow(tmp_path, {"a.py": ""}))
    (tmp_path / "a.py").unlink()
    with pytest.raises(Unreadable) as caught:
        read_source(file)
    assert caught.value.reason == "vanished"


def test_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = only_file(grow(tmp_path, {"a.py": ""}))

    def denied(path: str, *_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", denied)
    with pytest.raises(Unreadable) as caught:
        read_source(file)
    assert (caught.value.reason, caught.value.detail) == ("unreadable", "permission denied")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_replaced_by_a_pipe(tmp_path: Path) -> None:
    file = only_file(grow(tmp_path, {"a.py": ""}))
    (tmp_path / "a.py").unlink()
    os.mkfifo(tmp_path / "a.py")
    with pytest.raises(Unreadable) as caught:
        read_source(file)
    assert caught.value.reason == "not-a-regular-file"


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links are followed on opening here")
def test_replaced_by_a_link(tmp_path: Path) -> None:
    grow(tmp_path, {"in/a.py": "", "secret.py": "s"})
    file = only_file(tmp_path / "in")
    (tmp_path / "in" / "a.py").unlink()
    (tmp_path / "in" / "a.py").symlink_to(tmp_path / "secret.py")
    with pytest.raises(Unreadable) as caught:
        read_source(file)
    assert caught.value.reason == "not-a-regular-file"


def test_replaced_by_a_folder(tmp_path: Path) -> None:
    file = only_file(grow(tmp_path, {"a.py": ""}))
    (tmp_path / "a.py").unlink()
    (tmp_path / "a.py").mkdir()
    with pytest.raises(Unreadable):
        read_source(file)


def test_grown(tmp_path: Path) -> None:
    file = only_file(grow(tmp_path, {"a.py": "x"}))
    grow(tmp_path, {"a.py": "x" * 100})
    assert len(read_source(file)) == 100
    with pytest.raises(Unreadable) as caught:
        read_source(file, max_bytes=99)
    assert caught.value.reason == "too-large"


def test_a_name_no_system_has() -> None:
    with pytest.raises(Unreadable):
        read_source(SourceFile("a", "a\0b", "python", Role.CODE, 0))


def test_no_two_names_look_the_same() -> None:
    names = ["\udcff", "\\xff", "\xff", "\\\\xff", "\xa0", "\udca0", "\n", "\\n", "\\u000a"]
    assert len({printable(name) for name in names}) == len(names)
    assert all(printable(name).isprintable() for name in names)


@given(st.text(st.characters(exclude_categories=())).filter(lambda name: "\0" not in name))
@example("bad\udcff\udcfe.py")
@example("\\xff\\u000a\\\\\udcff")
def test_what_is_shown_leads_back_to_the_name(name: str) -> None:
    assert as_named(printable(name)) == name


def test_folders_are_parted_by_a_slash_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sep", "\\")
    assert printable("a\\b\\c.py") == "a/b/c.py"
