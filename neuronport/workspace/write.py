"""Writing a file back whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Sequence
from contextlib import suppress

from neuronport.workspace.files import WorkspaceError, reason_of


class NotWritable(WorkspaceError):  # noqa: N818
    """Reasons: ``link``, ``not-a-regular-file``, ``read-only``, ``not-writable``, ``unreadable``,
    ``vanished``."""

    path = ""
    """The file that could not be written."""


def atomic_write(path: str, data: bytes) -> None:
    """Replace the file at ``path``, or make it: a reader sees the old bytes or the new ones.

    The mode stays. A link is refused, not followed and not replaced: what it leads to may be
    outside the tree. Other hard links to the file keep the old bytes.
    """
    atomic_write_all([(path, data)])


def atomic_write_all(files: Sequence[tuple[str, bytes]]) -> None:
    """The same for several files, in their order: if one of them cannot be written, or the program is
    interrupted, all are what they were.

    All are written beside first, so that what can go wrong (a full disk, a folder that is read-only)
    goes wrong before anything is replaced.
    """
    beside: dict[str, str] = {}
    before: dict[str, str | None] = {}
    path = ""
    try:
        for path, data in files:
            _beside(path, data, beside)
        if len(files) > 1:
            for path in beside:
                _keep(path, before)
        done: list[str] = []
        try:
            for path, temporary in beside.items():
                _mode(path)  # not replaced by a link meanwhile
                done.append(path)
                os.replace(temporary, path)
        except BaseException:
            for path in done if before else ():
                _put_back(path, beside[path], before[path])
            raise
    except OSError as error:
        found = NotWritable(*reason_of(error, "not-writable"))
        found.path = path
        raise found from error
    except NotWritable as error:
        error.path = path
        raise
    finally:
        for left in (*beside.values(), *before.values()):  # Ctrl-C too must leave nothing behind
            if left is not None:
                with suppress(OSError):
                    os.unlink(left)
    for folder in sorted({os.path.dirname(path) or "." for path in beside}):
        _sync_folder(folder)


def _name_beside(path: str) -> str:
    return os.path.join(os.path.dirname(path), f".neuronport-{secrets.token_hex(8)}.tmp")


def _beside(path: str, data: bytes, beside: dict[str, str]) -> None:
    """Write bytes into a new file beside ``path``, with its mode."""
    mode = _mode(path)
    temporary = _name_beside(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    beside[path] = temporary
    descriptor = os.open(temporary, flags, 0o666)  # a new file's mode: what the umask leaves
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if mode is not None:
        os.chmod(temporary, mode)


def _keep(path: str, before: dict[str, str | None]) -> None:
    """Give the file at ``path`` a second name, from which it can be put back; None: there is none."""
    before[path] = None
    if os.path.lexists(path):
        name = _name_beside(path)
        try:
            os.link(path, name)
            before[path] = name
        except OSError:  # a file system without hard links
            before[path] = name
            shutil.copy2(path, name, follow_symlinks=False)


def _put_back(path: str, temporary: str, before: str | None) -> None:
    with suppress(OSError):
        if os.path.lexists(temporary):
            return  # it was not replaced
        if before is None:
            os.unlink(path)
        else:
            os.replace(before, path)


def _mode(path: str) -> int | None:
    try:
        state = os.lstat(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise NotWritable("unreadable", str(error)) from error
    if stat.S_ISLNK(state.st_mode):
        raise NotWritable("link", "is a symbolic link")
    if not stat.S_ISREG(state.st_mode):
        raise NotWritable("not-a-regular-file", "is not a regular file")
    if not state.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise NotWritable("read-only", "is read-only")
    return stat.S_IMODE(state.st_mode)


def _sync_folder(folder: str) -> None:
    """Make the new name durable where folders can be opened; elsewhere there is no such call."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
