"""Writing a file back whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress

from neuronport.workspace.files import WorkspaceError, reason_of


class NotWritable(WorkspaceError):  # noqa: N818
    """Reasons: ``link``, ``not-a-regular-file``, ``read-only``, ``unreadable``, ``vanished``."""


def atomic_write(path: str, data: bytes) -> None:
    """Replace the file at ``path``, or make it: a reader sees the old bytes or the new ones.

    The mode stays. A link is refused, not followed and not replaced: what it leads to may be
    outside the tree. Other hard links to the file keep the old bytes.
    """
    mode = _mode(path)
    temporary = os.path.join(os.path.dirname(path), f".neuronport-{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    try:
        descriptor = os.open(temporary, flags, 0o666)  # a new file's mode: what the umask leaves
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                os.chmod(temporary, mode)
            _mode(path)  # not replaced by a link meanwhile
            os.replace(temporary, path)
        except BaseException:  # Ctrl-C too must leave nothing behind
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise NotWritable(*reason_of(error)) from error
    _sync_folder(os.path.dirname(path) or ".")


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
