"""The files of a tree and how one is read."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from neuronport.findings import NotLookedAt, Role

DEFAULT_MAX_BYTES = 5_000_000
"""Larger files of a readable kind are listed, not read: in practice they are data or generated."""


class WorkspaceError(Exception):
    """Something in a tree that cannot be read, written or understood as text."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        """A short kebab-case word, as in ``NotLookedAt.reason``."""
        self.detail = detail


class Unreadable(WorkspaceError):  # noqa: N818
    """A file that was there when the tree was walked and cannot be read now."""


class NamedPathError(WorkspaceError):
    """Paths that the user named and that cannot be looked at."""

    def __init__(self, problems: Sequence[NotLookedAt]) -> None:
        self.problems = tuple(problems)
        """One for each such path, in the order they were named; ``path`` as the user wrote it."""
        lines = [f"{p.path}: {_in_words(p)}" for p in self.problems]
        super().__init__(self.problems[0].reason, "; ".join(lines))

    def __str__(self) -> str:
        return self.detail


def _in_words(problem: NotLookedAt) -> str:
    """What is wrong with a named path; some details need the reason before them."""
    if problem.reason in ("too-large", "unreadable", "vanished"):
        return f"{problem.reason.replace('-', ' ')}: {problem.detail}"
    return problem.detail or problem.reason


@dataclass(frozen=True, slots=True)
class SourceFile:
    path: str
    """Relative to the workspace's root, with ``/``, printable: what findings carry."""
    absolute: str
    """What to open; bytes that are not UTF-8 as surrogate escapes."""
    kind: str
    """A word of ``kinds.KINDS``."""
    role: Role
    size: int
    """In bytes, when the tree was walked."""


@dataclass(frozen=True, slots=True)
class StdinFile(SourceFile):
    """Standard input, taken as if it were a file of the tree."""

    data: bytes = field(default=b"", repr=False)


@dataclass(slots=True)
class Workspace:
    root: str
    """The absolute folder that paths are relative to."""
    files: list[SourceFile]
    """Sorted by path."""
    not_looked_at: list[NotLookedAt]
    """Sorted by path; a folder's path ends with ``/`` and its row stands for all below it."""

    def of_kind(self, *kinds: str) -> list[SourceFile]:
        """The files of these kinds, sorted by path."""
        return [file for file in self.files if file.kind in kinds]


def printable(name: str) -> str:
    """``name`` for people and for output: ``/`` between folders, one line, no control characters.

    A byte that is not UTF-8 becomes ``\\xNN``, an unprintable character ``\\uNNNN``, and a
    backslash is doubled, so that no two names look the same.
    """
    if os.sep == "\\":
        name = name.replace("\\", "/")
    if name.isprintable() and "\\" not in name:
        return name
    return "".join(map(_printable_character, name))


def _printable_character(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def as_named(shown: str) -> str:
    """The name that :func:`printable` shows so; bytes that are not UTF-8 as surrogate escapes."""
    if "\\" not in shown:
        return shown
    return _ESCAPE.sub(_named_character, shown)


_ESCAPE = re.compile(r"\\(?:\\|x([89a-f][0-9a-f])|u([0-9a-f]{4})|U(00[0-9a-f]{6}))")


def _named_character(match: re.Match[str]) -> str:
    byte, *codes = match.groups()
    if byte:
        return chr(0xDC00 + int(byte, 16))
    code = int(next(filter(None, codes), "5c"), 16)
    return chr(code) if code <= sys.maxunicode else match.group()


def reason_of(error: OSError, otherwise: str = "unreadable") -> tuple[str, str]:
    """The reason word and the words for people of an error of the file system."""
    if isinstance(error, FileNotFoundError):
        return "vanished", "no such file or directory"
    return otherwise, (error.strerror or str(error)).lower()


def read_source(file: SourceFile, *, max_bytes: int | None = None) -> bytes:
    """The bytes of a file.

    Raises Unreadable with reason ``vanished``, ``unreadable``, ``not-a-regular-file`` (it was
    replaced by something else since the walk: a pipe would block, a link would lead elsewhere) or
    ``too-large`` (it grew above ``max_bytes``; left out: the default or what it had at the walk).
    """
    if isinstance(file, StdinFile):
        return file.data
    limit = max(DEFAULT_MAX_BYTES, file.size) if max_bytes is None else max_bytes
    data = read_regular(file.absolute, limit + 1)
    if len(data) > limit:
        raise Unreadable("too-large", f"more than {limit:,} bytes")
    return data


def read_regular(path: str, at_most: int) -> bytes:
    """The first bytes of a regular file; never blocks on a pipe, never follows a link.

    Raises Unreadable with reason ``vanished``, ``unreadable`` or ``not-a-regular-file``.
    """
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    try:
        with open(os.open(path, flags), "rb") as opened:
            state = os.fstat(opened.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise Unreadable("not-a-regular-file", "is not a regular file")
            # ``read`` sets aside what it is asked for: ask for the limit only when the file grew.
            data = opened.read(min(at_most, state.st_size + 1))
            return data if len(data) <= state.st_size else data + opened.read(at_most - len(data))
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unreadable("not-a-regular-file", "is a link") from None
        raise Unreadable(*reason_of(error)) from error
    except ValueError as error:  # a NUL in the name
        raise Unreadable("unreadable", str(error)) from error
