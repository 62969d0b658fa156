"""A file is written whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from neuronport.workspace import NotWritable, atomic_write, atomic_write_all


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


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "copies"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_several_files_or_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, links: bool
) -> None:
    paths = [tmp_path / name for name in ("a.py", "new.py", "b.py")]
    for path in (paths[0], paths[2]):
        path.write_bytes(b"old")
    files = [(os.fspath(path), b"new") for path in paths]
    names = ("fsync", "replace", "open", "chmod")
    seen = 0
    for name in names:
        real = getattr(os, name)
        for after in range(8):
            count = iter(range(99))

            def fail(*args: object, real=real, count=count, after=after, **words: object) -> object:
                if next(count) == after:
                    raise error
                return real(*args, **words)

            if not links:
                monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(1, "no")))
            monkeypatch.setattr(os, name, fail)
            failed = False
            try:
                atomic_write_all(files)
            except (NotWritable, KeyboardInterrupt):
                failed = True
            monkeypatch.undo()
            there = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
            old = {"a.py": b"old", "b.py": b"old"}
            new = {"a.py": b"new", "b.py": b"new", "new.py": b"new"}
            assert there in (old, new)
            # The folder is made durable in the end: what fails there has been written.
            assert failed is (there == old) or name in ("fsync", "open")
            seen += failed
            for path in (paths[0], paths[2]):
                path.write_bytes(b"old")
            paths[1].unlink(missing_ok=True)
    assert seen > 8


def test_which_of_several_could_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "b.py").mkdir()
    files = [(os.fspath(tmp_path / name), b"x") for name in ("a.py", "b.py")]
    with pytest.raises(NotWritable) as caught:
        atomic_write_all(files)
    assert caught.value.path == os.fspath(tmp_path / "b.py")
    assert [p.name for p in tmp_path.iterdir()] == ["b.py"]
