"""A file is written whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from neuronport.workspace import NotWritable, atomic_write


def write(path: Path, data: bytes) -> None:
    atomic_write(os.fspath(path), data)


def test_a_new_file(tmp_path: Path) -> None:
    write(tmp_path / "a.py", b"\r\n\xff")
    assert (tmp_path / "a.py").read_bytes() == b"\r\n\xff"
    assert [p.name for p in tmp_path.iterdir()] == ["a.py"]


def test_a_name_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    atomic_write("a.py", b"x")
    assert (tmp_path / "a.py").read_bytes() == b"x"


@pytest.mark.skipif(os.name == "nt", reason="modes are another thing there")
def test_the_mode_stays_and_a_new_file_has_the_usual_one(tmp_path: Path) -> None:
    script = tmp_path / "run"
    script.write_bytes(b"old")
    script.chmod(0o751)
    write(script, b"new")
    assert stat.S_IMODE(script.stat().st_mode) == 0o751
    (tmp_path / "usual").write_bytes(b"")
    write(tmp_path / "new", b"")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, where: str
) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(os, where, fail)
    with pytest.raises((NotWritable, KeyboardInterrupt)):
        write(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.py"]


def test_a_link_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"old")
    link = tmp_path / "a.py"
    try:
        link.symlink_to(outside)
    except OSError:
        pytest.skip("links cannot be made here")
    with pytest.raises(NotWritable) as caught:
        write(link, b"new")
    assert caught.value.reason == "link"
    assert link.is_symlink()
    assert outside.read_bytes() == b"old"


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotWritable) as caught:
        write(tmp_path, b"")
    assert caught.value.reason == "not-a-regular-file"


def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(NotWritable) as caught:
        write(path, b"new")
    assert caught.value.reason == "read-only"
    assert path.read_bytes() == b"old"
    path.chmod(0o644)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotWritable) as caught:
        write(tmp_path / "no" / "a.py", b"")
    assert caught.value.reason == "vanished"
