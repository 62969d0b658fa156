"""What git tracks, read from its index: ignore patterns say nothing about a file that is tracked.

Only names are read. An index that cannot be understood counts as empty: then patterns decide.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cached_property

from neuronport.workspace.files import Unreadable, read_regular
from neuronport.workspace.ignoring import git_folder, read_small

_STATE = 40
"""Bytes of times, owner, mode and size in front of an entry's digest."""
_MAX_INDEX = 500_000_000
_EXTENDED = 0x4000
_NAME_LENGTH = 0x0FFF


class Tracked:
    """The files of one work tree that git tracks, relative to its root; read when first asked."""

    def __init__(self, root: str, prefix: str) -> None:
        self._root = root
        self._base = len(prefix)

    def holds(self, path: str, is_folder: bool) -> bool:
        """Is the file tracked, or anything in the folder? ``path`` is absolute, with ``/``."""
        name = path[self._base :]
        # A submodule's folder is in the index as if it were a file.
        return name in self._files or (is_folder and name in self._folders)

    def python_files(self, folder: str) -> int:
        """How many tracked Python files are in the folder and below."""
        return self._folders.get(folder[self._base :], 0)

    @cached_property
    def _files(self) -> frozenset[str]:
        folder = git_folder(self._root)
        common = os.path.join(folder, read_small(os.path.join(folder, "commondir")).strip())
        config = read_small(os.path.join(common, "config")).lower().replace(" ", "")
        digest = 32 if "objectformat=sha256" in config else 20
        try:
            data = read_regular(os.path.join(folder, "index"), _MAX_INDEX)
            return frozenset(os.fsdecode(name) for name in _names(data, digest))
        except (Unreadable, ValueError, IndexError):
            return frozenset()

    @cached_property
    def _folders(self) -> Mapping[str, int]:
        folders: dict[str, int] = {}
        for path in self._files:
            python = path.endswith(".py")
            end = path.rfind("/")
            while end > 0:
                folder = path[:end]
                folders[folder] = folders.get(folder, 0) + python
                end = path.rfind("/", 0, end)
        return folders


def _names(data: bytes, digest: int) -> Iterator[bytes]:
    """The names in an index, as gitformat-index(5) describes versions 2 to 4."""
    version = int.from_bytes(data[4:8], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("not an index that is known")
    at = 12
    name = b""
    for _ in range(int.from_bytes(data[8:12], "big")):
        start = at
        at += _STATE + digest
        flags = int.from_bytes(data[at : at + 2], "big")
        at += 4 if flags & _EXTENDED else 2
        if version == 4:
            dropped, at = _offset(data, at)
            end = data.index(b"\0", at)
            name = name[: len(name) - dropped] + data[at:end]
            at = end + 1
        else:
            length = flags & _NAME_LENGTH
            end = at + length if length < _NAME_LENGTH else data.index(b"\0", at)
            name = data[at:end]
            at = start + (end - start + 8) // 8 * 8
        yield name


def _offset(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, as in packs, and where it ends."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1
