"""What the processes of one audit read for each other, in files instead of in the memory of each.

A summary is written once by the process that read the module and read by whoever asks; the operating
system keeps one copy of what is asked for often. Where a file cannot be written (a full disk), the
bytes themselves take the place of where they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import TypeAlias

Kept: TypeAlias = "bytes | tuple[int, int, int]"
"""Bytes, or where they are: number of the file, offset, length."""


class Spool:
    """Reads all files of a folder, and writes one of them."""

    def __init__(self, folder: str = "", number: int | None = None) -> None:
        """``folder``: empty: everything stays in memory. ``number``: of the file it writes."""
        self._folder = folder
        self._end = 0
        self._out: FileIO | None = None
        self._files: dict[int, FileIO] = {}
        self._number = number or 0
        if folder and number is not None:
            with suppress(OSError):  # without a file it stays in memory
                self._out = FileIO(self._path(number), "w")

    def _path(self, number: int) -> Path:
        return Path(self._folder) / str(number)

    def put(self, data: Kept) -> Kept:
        if not isinstance(data, bytes) or not data or self._out is None:
            return data
        try:
            written = self._out.write(data)
        except OSError:
            written = 0
        if written != len(data):
            self._out = None  # the disk is full
            return data
        self._end += len(data)
        return (self._number, self._end - len(data), len(data))

    def get(self, kept: Kept) -> bytes:
        """Raises OSError: the file is gone."""
        if isinstance(kept, bytes):
            return kept
        number, offset, length = kept
        file = self._files.get(number)
        if file is None:
            file = self._files[number] = FileIO(self._path(number), "r")
        file.seek(offset)
        data = file.read(length)
        if len(data) != length:
            raise OSError(f"{file.name} is shorter than it was")
        return data

    def close(self) -> None:
        for file in (*self._files.values(), *([self._out] if self._out else [])):
            file.close()
        self._files.clear()
        self._out = None


class Summaries:
    """What is known of modules by their names, wherever it is kept."""

    def __init__(self, spool: Spool, places: Mapping[str, tuple[Kept, Kept]]) -> None:
        """``places``: summary and calls of each module."""
        self._spool = spool
        self._places = places

    def summary(self, module: str) -> bytes | None:
        """None: there is no such module. Raises OSError: as ``Spool.get``."""
        place = self._places.get(module)
        return None if place is None else self._spool.get(place[0])

    def calls(self, module: str) -> bytes | None:
        """Likewise, of the calls in it."""
        place = self._places.get(module)
        return None if place is None else self._spool.get(place[1])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)
