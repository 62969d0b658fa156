"""Rows that stay frozen until they are asked for: of a module that others ask about they want little."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

_T = TypeVar("_T")
_CHUNK = 16
"""Numbered rows that are frozen together: who asks for one asks for its neighbours."""


class Named(Mapping[str, _T]):
    """Rows by name, each frozen by itself."""

    __slots__ = ("_form", "_rows")

    def __init__(self, frozen: bytes, form: type[Any]) -> None:
        self._form: Callable[[Any], _T] = partial(tuple.__new__, form)
        self._rows: dict[str, Any] = marshal.loads(frozen)

    @staticmethod
    def freeze(rows: Mapping[str, tuple[Any, ...]]) -> bytes:
        """Of plain tuples."""
        return marshal.dumps({name: marshal.dumps(row) for name, row in rows.items()})

    def __getitem__(self, name: str) -> _T:
        row = self._rows[name]
        if row.__class__ is bytes:
            row = self._rows[name] = self._form(marshal.loads(row))
        found: _T = row
        return found

    def get(self, name: str, default: Any = None) -> Any:
        row = self._rows.get(name, default)
        if row.__class__ is bytes:
            row = self._rows[name] = self._form(marshal.loads(row))
        return row

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class Numbered(Sequence[_T]):
    """Rows by number, frozen some at a time."""

    __slots__ = ("_chunks", "_form", "_rows")

    def __init__(self, frozen: bytes, form: type[Any]) -> None:
        self._form: Callable[[Any], _T] = partial(tuple.__new__, form)
        length, chunks = marshal.loads(frozen)
        self._rows: list[Any] = [None] * length
        self._chunks: list[bytes | None] = chunks

    @staticmethod
    def freeze(rows: list[tuple[Any, ...]]) -> bytes:
        """Of plain tuples."""
        chunks = [rows[i : i + _CHUNK] for i in range(0, len(rows), _CHUNK)]
        return marshal.dumps((len(rows), list(map(marshal.dumps, chunks))))

    def __getitem__(self, number: Any) -> Any:
        row = self._rows[number]
        if row is None:
            self._thaw(number // _CHUNK if number >= 0 else (len(self._rows) + number) // _CHUNK)
            row = self._rows[number]
        return row

    def _thaw(self, chunk: int) -> None:
        frozen = self._chunks[chunk]
        if frozen is not None:
            first = chunk * _CHUNK
            self._rows[first : first + _CHUNK] = map(self._form, marshal.loads(frozen))
            self._chunks[chunk] = None

    def __iter__(self) -> Iterator[_T]:
        for chunk in range(len(self._chunks)):
            self._thaw(chunk)
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
