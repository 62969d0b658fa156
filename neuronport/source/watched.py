"""Summaries that tell who listens what of them is consulted."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from neuronport.readers.python.facts import Class, Definition, Function
from neuronport.source.summary import Summary

Item: TypeAlias = "tuple[str, Any]"
"""Kind and key of a thing in a module; the key ``ALL``: every thing of the kind."""
ALL = "*"
MARK = 16
"""Bytes of a digest that are kept."""


_KINDS = {"functions": "function", "classes": "class", "definitions": "definition"}
_PARTS = {kind: name for name, kind in _KINDS.items()}


class Listener(Protocol):
    def consulted(self, module: str, kind: str, key: Any) -> None: ...


def mark_of(plain: Any) -> bytes:
    return hashlib.blake2b(marshal.dumps(plain, 2), digest_size=MARK).digest()


class Watched(Summary):
    """A summary that tells the index what of it is consulted."""

    __slots__ = ("_numbers", "_plain_things", "_symbols", "index", "plain_stars")

    plain_stars: tuple[str, ...]
    _symbols: list[str] | None
    _numbers: dict[str, int]
    index: Listener | None

    @property
    def stars(self) -> tuple[str, ...]:
        if self.index is not None:
            self.index.consulted(self.module, "stars", ALL)
        return self.plain_stars

    @stars.setter
    def stars(self, stars: tuple[str, ...]) -> None:
        self.index = None
        self.plain_stars = stars

    def watch(self, index: Listener) -> None:
        self._symbols = None
        self._plain_things: dict[str, Any] = {"export": self.exports}
        self.exports = _Entries(self.exports, "export", self._note(index))
        self.index = index

    def _note(self, index: Listener) -> Callable[[str, Any], None]:
        module = self.module  # not ``self``, which would keep itself

        def note(kind: str, key: Any) -> None:
            index.consulted(module, kind, key)

        return note

    def __getattr__(self, name: str) -> Any:
        part = super().__getattr__(name)
        kind = _KINDS.get(name)
        if kind is None:
            return part
        assert self.index is not None
        self._plain_things[kind] = part
        note = self._note(self.index)
        if kind == "definition":
            part = _Numbered(part, kind, note)
        elif kind == "class":
            part = _Classes(part, kind, note)
        else:
            part = _Entries(part, kind, note)
        setattr(self, name, part)
        return part

    def _plain_of(self, kind: str) -> Any:
        """What there is of a kind, which may be looked at without a word."""
        if kind not in self._plain_things:
            getattr(self, _PARTS[kind])
        return self._plain_things[kind]

    def packages(self) -> set[str]:
        assert self.index is not None
        self.index.consulted(self.module, "packages", ALL)
        return self._packages(self._plain_things["export"])

    # ---- what things are, wherever they stand -------------------------------------------------------

    def symbol(self, number: int) -> str:
        """A name for a variable that other variables do not change: scope, name, occurrence."""
        if self._symbols is None:
            seen: dict[tuple[int, str], int] = {}
            self._symbols = []
            for definition in self._plain_of("definition"):
                key = (definition.scope, definition.name)
                seen[key] = seen.get(key, 0) + 1
                scope = self.scopes[definition.scope]
                self._symbols.append(f"{scope.qualname} {definition.name} {seen[key]}")
            # Two scopes of one name: their variables are told apart by number.
            self._numbers = {}
            for i, name in enumerate(self._symbols):
                if name in self._numbers:
                    name = self._symbols[i] = f"{name} {i}"
                self._numbers[name] = i
        return self._symbols[number]

    def mark(self, kind: str, key: Any) -> bytes:
        """The digest of a thing; of one that is not there it is another."""
        return mark_of(self._thing(kind, key))

    def _thing(self, kind: str, key: Any) -> Any:
        if kind == "stars":
            return self.plain_stars
        if kind == "packages":
            return sorted(self._packages(self._plain_of("export")))
        if kind.startswith("attribute "):
            cls = self._plain_of("class").get(kind.partition(" ")[2])
            if cls is None:
                return None
            if key == ALL:
                return [(k, self.placeless(v, cls.line)) for k, v in cls.attributes.items()]
            values = cls.attributes.get(key)
            return None if values is None else (self.placeless(values, cls.line),)
        things = self._plain_of(kind)
        if key == ALL:
            if kind == "definition":
                return [self._definition(d) for d in things]
            return [(k, self._thing(kind, k)) for k in things]
        if kind == "definition":
            self.symbol(0) if things else None
            number = self._numbers.get(key) if things else None
            return None if number is None else self._definition(things[number])
        if key not in things:
            return None
        thing = things[key]
        if kind == "function":
            return self._function(thing)
        if kind == "class":
            return self._class(thing)
        return (self.placeless(thing, 0) if type(thing) is tuple else thing,)

    def _definition(self, thing: Definition) -> Any:
        guards = [
            (self.placeless((g.test,), thing.line), g.polarity, g.kind)
            for g in (self.guards[i] for i in thing.guards)
        ]
        value, annotation = self.placeless((thing.value, thing.annotation), thing.line)
        scope = self.scopes[thing.scope]
        return value, thing.name, annotation, scope.qualname, guards

    def _function(self, thing: Function) -> Any:
        return self.placeless(tuple(thing._replace(line=0)), thing.line)

    def _class(self, thing: Class) -> Any:
        return self.placeless(tuple(thing._replace(line=0, attributes={})), thing.line)

    def placeless(self, value: Any, line: int) -> Any:
        """A value, or a tuple with some, whose lines count from ``line`` and whose variables are
        known by name."""
        if not value:
            return value
        tag = value[0]
        if tag == "const" or tag == "ref":
            return value
        if tag == "v" and len(value) == 2 and type(value[1]) is int:
            return ("v", self.symbol(value[1]))
        plain = [self.placeless(v, line) if type(v) is tuple else v for v in value]
        if tag == "call" and len(value) == 5 and type(value[4]) is int:
            plain[4] -= line
        return tuple(plain)


class _Entries(Mapping[str, Any]):
    """A mapping that tells what of it is consulted."""

    __slots__ = ("entries", "kind", "note")

    def __init__(self, entries: Mapping[str, Any], kind: str, note: Any) -> None:
        self.entries = entries
        self.kind = kind
        self.note = note

    def __getitem__(self, key: str) -> Any:
        self.note(self.kind, key)
        return self.entries[key]

    def get(self, key: str, default: Any = None) -> Any:
        self.note(self.kind, key)
        return self.entries.get(key, default)

    def __contains__(self, key: object) -> bool:
        self.note(self.kind, key)
        return key in self.entries

    def __iter__(self) -> Iterator[str]:
        self.note(self.kind, ALL)
        return iter(self.entries)

    def __len__(self) -> int:
        self.note(self.kind, ALL)
        return len(self.entries)

    def values(self) -> Any:
        self.note(self.kind, ALL)
        return self.entries.values()

    def items(self) -> Any:
        self.note(self.kind, ALL)
        return self.entries.items()


class _Classes(_Entries):
    """Likewise, and of each class which of its attributes."""

    __slots__ = ("watched",)

    def __init__(self, entries: Mapping[str, Any], kind: str, note: Any) -> None:
        super().__init__(entries, kind, note)
        self.watched: dict[str, Class] = {}

    def __getitem__(self, key: str) -> Any:
        self.note(self.kind, key)
        return self._watched(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.note(self.kind, key)
        return self._watched(key) if key in self.entries else default

    def values(self) -> Any:
        self.note(self.kind, ALL)
        return [self._watched(key) for key in self.entries]

    def items(self) -> Any:
        self.note(self.kind, ALL)
        return [(key, self._watched(key)) for key in self.entries]

    def _watched(self, key: str) -> Class:
        found = self.watched.get(key)
        if found is None:
            cls = self.entries[key]
            attributes = _Entries(cls.attributes, f"attribute {key}", self.note)
            found = self.watched[key] = cls._replace(attributes=attributes)
        return found


class _Numbered(Sequence[Any]):
    """Likewise for what is known by number."""

    __slots__ = ("entries", "kind", "note")

    def __init__(self, entries: Sequence[Any], kind: str, note: Any) -> None:
        self.entries = entries
        self.kind = kind
        self.note = note

    def __getitem__(self, number: Any) -> Any:
        self.note(self.kind, number if type(number) is int else ALL)
        return self.entries[number]

    def __iter__(self) -> Iterator[Any]:
        self.note(self.kind, ALL)
        return iter(self.entries)

    def __len__(self) -> int:
        self.note(self.kind, ALL)
        return len(self.entries)
