"""One SQLite file of checked blobs. Whatever goes wrong with it, the audit goes on without."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from neuronport import caches

_FORM = 2
"""In the file's name: a version of neuronport with another form leaves this file alone."""
_CHECK = 16
_BATCH = 2_000_000
"""Bytes written in one transaction."""
_ASKED_TOGETHER = 500
_DAY = 86_400
_DAYS_KEPT = 30
_MOST_BYTES = 1_500_000_000
_WAIT = 10.0
"""Seconds to wait for another run that is writing."""
T = TypeVar("T")
_LAYOUT = (
    "create table if not exists entry ("
    " key blob not null, kind text not null, used integer not null, data blob not null,"
    " primary key (key, kind))"
)


class Damaged(Exception):  # noqa: N818
    """Something that was in the store a moment ago cannot be had: audit again without it."""


class Store:
    """Blobs by key and kind. Every method succeeds: what cannot be read was never kept."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.reading = True
        """Switched off, nothing is found, and what is kept is written anew."""
        self._broken = False
        self._opened: sqlite3.Connection | None = None
        self._pending: list[tuple[bytes, str, int, bytes]] = []
        self._size = 0
        self._touched: dict[bytes, None] = {}
        self._ahead: dict[tuple[bytes, str], tuple[Any, int]] = {}
        """Read, and not asked for yet."""

    # ---- reading --------------------------------------------------------------------------------

    def get(self, key: bytes, kind: str) -> bytes | None:
        if not self.reading:
            return None
        row = self._ahead.pop((key, kind), None) or self._do(
            lambda connection: connection.execute(
                "select data, used from entry where key = ? and kind = ?", (key, kind)
            ).fetchone()
        )
        if row is None:
            return None
        data, used = row
        if not isinstance(data, bytes) or data[:_CHECK] != _check(key, kind, data[_CHECK:]):
            return None
        if used + _DAY < time.time():
            self._touched[key] = None
        return data[_CHECK:]

    def read_ahead(self, keys: Sequence[bytes], kind: str) -> None:
        """Read at once what will be asked for one by one."""
        if self.reading:
            for i in range(0, len(keys), _ASKED_TOGETHER):
                self._read_ahead(keys[i : i + _ASKED_TOGETHER], kind)

    def _read_ahead(self, keys: Sequence[bytes], kind: str) -> None:
        marks = ",".join("?" * len(keys))
        query = f"select key, data, used from entry where kind = ? and key in ({marks})"
        rows = self._do(lambda connection: connection.execute(query, (kind, *keys)).fetchall())
        self._ahead.update(((key, kind), (data, used)) for key, data, used in rows or ())

    def is_empty(self) -> bool:
        """Nothing was kept yet, or nothing can be had."""
        found = self._do(lambda connection: connection.execute("select 1 from entry limit 1"))
        return not self.reading or found is None or found.fetchone() is None

    # ---- writing --------------------------------------------------------------------------------

    def put(self, key: bytes, kind: str, data: bytes) -> None:
        if self._broken:
            return
        checked = _check(key, kind, data) + data
        self._pending.append((key, kind, int(time.time()), checked))
        self._size += len(checked)
        if self._size > _BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting to be written."""
        rows, touched = self._pending, list(self._touched)
        self._pending, self._size, self._touched = [], 0, {}
        if rows or touched:
            self._do(lambda connection: self._write(connection, rows, touched))

    @staticmethod
    def _write(
        connection: sqlite3.Connection,
        rows: Sequence[tuple[bytes, str, int, bytes]],
        touched: Sequence[bytes],
    ) -> None:
        now = int(time.time())
        with connection:
            connection.executemany("insert or replace into entry values (?, ?, ?, ?)", rows)
            connection.executemany(
                "update entry set used = ? where key = ?", ((now, key) for key in touched)
            )

    def sweep(self, most: int = _MOST_BYTES, days: int = _DAYS_KEPT) -> None:
        """Forget what was not used for long, and the least recently used when it is too much."""
        self.flush()
        self._do(lambda connection: self._sweep(connection, most, days))

    def _sweep(self, connection: sqlite3.Connection, most: int, days: int) -> None:
        today = int(time.time()) // _DAY
        (swept,) = connection.execute("pragma user_version").fetchone()
        if swept != today:
            with connection:
                connection.execute("delete from entry where used < ?", ((today - days) * _DAY,))
                connection.execute(f"pragma user_version = {today}")
        large = self._bytes(connection) > most
        if large:
            (size,) = connection.execute("select total(length(data)) from entry").fetchone()
            with connection:
                self._forget(connection, int(size) - most // 2)
        if swept != today or large:
            connection.executescript("pragma incremental_vacuum")

    @staticmethod
    def _bytes(connection: sqlite3.Connection) -> int:
        (pages,) = connection.execute("pragma page_count").fetchone()
        (size,) = connection.execute("pragma page_size").fetchone()
        return int(pages) * int(size)

    @staticmethod
    def _forget(connection: sqlite3.Connection, excess: int) -> None:
        """Delete the least recently used entries of about so many bytes."""
        last = -1
        for used, size in connection.execute(
            "select used, total(length(data)) from entry group by used order by used"
        ):
            if excess <= 0:
                break
            last = used
            excess -= int(size)
        connection.execute("delete from entry where used <= ?", (last,))

    # ---- the file -------------------------------------------------------------------------------

    def close(self) -> None:
        """Write, and let go of the file: before a process is forked, which must not share it."""
        self.flush()
        if self._opened is not None:
            with contextlib.suppress(sqlite3.Error):
                self._opened.close()
            self._opened = None
        self._ahead.clear()

    def _do(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        """Act on the file; None when it cannot be used. No error leaves here."""
        if self._broken:
            return None
        try:
            return action(self._connection())
        except sqlite3.OperationalError:
            # Locked, read-only, full: of no use to this run, perhaps to the next.
            self._give_up()
        except sqlite3.DatabaseError:
            self._give_up()
            self._remove()
        except (sqlite3.Error, OSError, MemoryError, OverflowError, UnicodeError):
            self._give_up()
        return None

    def _connection(self) -> sqlite3.Connection:
        if self._opened is None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.file, timeout=_WAIT)
            try:
                connection.execute("pragma auto_vacuum = incremental")
                connection.execute("pragma journal_mode = wal").fetchone()
                # A power cut may damage the file: then it is made again.
                connection.execute("pragma synchronous = off")
                if not connection.execute(
                    "select count(*) from sqlite_master where name = 'entry'"
                ).fetchone()[0]:
                    connection.execute(_LAYOUT)
            except BaseException:
                connection.close()
                raise
            self._opened = connection
        return self._opened

    def _give_up(self) -> None:
        self._broken = True
        self._pending, self._size, self._touched = [], 0, {}
        if self._opened is not None:
            with contextlib.suppress(sqlite3.Error):
                self._opened.close()
            self._opened = None

    def _remove(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                os.unlink(f"{self.file}{suffix}")


def _check(key: bytes, kind: str, data: bytes) -> bytes:
    return digest(key, kind.encode(), data)[:_CHECK]


def digest(*parts: bytes) -> bytes:
    """Of parts, so that no two sequences of parts have the same."""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(len(part).to_bytes(8, "big"))
        hasher.update(part)
    return hasher.digest()


def digest_of_names(names: Iterable[str]) -> bytes:
    return digest(*(name.encode("utf-8", "surrogatepass") for name in names))


def open_store() -> Store | None:
    """The store in the user's cache folder; None: there is no place for it."""
    base = caches.folder()
    return None if base is None else Store(base / "audit" / f"audit-{_FORM}.sqlite")
