"""What has changed in a module between two of its states, and where in it things have gone.

A thing is the same when all that can be asked about it is, wherever in its module it stands: of the
lines that it names only which are the same one matters, and variables are known by name.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from neuronport.readers.python.facts import Definition
from neuronport.source.summary import Summary
from neuronport.source.telling import ALL, Item

_Look: TypeAlias = "tuple[Any, list[int]]"
"""What a thing is, and the lines that it names, in an order that is the same for the same."""


class State:
    """A module as it is or was."""

    def __init__(self, summary: bytes, calls: bytes) -> None:
        self.summary = Summary.thaw(summary)
        self._calls: list[bytes] = marshal.loads(marshal.loads(calls)[2]) if calls else []
        self._symbols: list[str] = []
        self._numbers: dict[str, int] = {}
        self._looks: dict[Item, _Look] = {}

    def look(self, kind: str, key: Any) -> _Look:
        """At a thing, a variable by its symbol; at one that is not there, too."""
        known = self._looks.get((kind, key))
        if known is None:
            lines: list[int] = []
            known = self._looks[kind, key] = (self._thing(kind, key, lines), lines)
        return known

    def call(self, position: int) -> _Look:
        """At one of the calls in the module."""
        caller, args, kwargs, line, hot, guards, switches = marshal.loads(self._calls[position])
        asked = [self.summary.guards[i] for i in guards]
        lines = [line, *(guard.line for guard in asked)]
        conditions = tuple((g.test, g.polarity, g.kind) for g in asked)
        return self._placeless((caller, args, kwargs, hot, conditions, switches), lines), lines

    def to_next_function(self, line: int) -> int | None:
        """Lines from one to that of the next function; None: there is none."""
        lines = [f.line for f in self.summary.functions.values() if f.line > line]
        return min(lines) - line if lines else None

    def symbol(self, number: int) -> str:
        """A name for a variable that other variables do not change: scope, name, occurrence."""
        return self.all_symbols()[number]

    def all_symbols(self) -> list[str]:
        if not self._symbols:
            self._name_variables()
        return self._symbols

    def _name_variables(self) -> None:
        seen: dict[tuple[int, str], int] = {}
        for i, definition in enumerate(self.summary.definitions):
            place = (definition.scope, definition.name)
            seen[place] = seen.get(place, 0) + 1
            scope = self.summary.scopes[definition.scope]
            name = f"{scope.qualname} {definition.name} {seen[place]}"
            if name in self._numbers:
                # Two scopes of one name: their variables are told apart by number.
                name = f"{name} {i}"
            self._symbols.append(name)
            self._numbers[name] = i

    def _thing(self, kind: str, key: Any, lines: list[int]) -> Any:
        summary = self.summary
        if kind == "stars":
            return summary.stars
        if kind == "packages":
            return sorted(summary.packages())
        if kind.startswith("attribute "):
            return self._attribute(kind, key, lines)
        if key == ALL:
            names = self._all(kind)
            looks = [self.look(kind, name) for name in names]
            for look in looks:
                lines += look[1]
            return names, [look[0] for look in looks]
        if kind == "definition":
            number = self._numbers.get(key) if self.all_symbols() else None
            return None if number is None else self._definition(summary.definitions[number], lines)
        things: Any = getattr(summary, _PARTS[kind])
        if key not in things:
            return None
        thing = things[key]
        if kind == "function":
            lines.append(thing.line)
            return self._placeless(tuple(thing._replace(line=0)), lines)
        if kind == "class":
            lines.append(thing.line)
            return self._placeless(tuple(thing._replace(line=0, attributes={})), lines)
        return (self._placeless(thing, lines) if type(thing) is tuple else thing,)

    def _all(self, kind: str) -> list[str]:
        if kind == "definition":
            return self.all_symbols()
        return list(getattr(self.summary, _PARTS[kind]))

    def _attribute(self, kind: str, key: Any, lines: list[int]) -> Any:
        cls = self.summary.classes.get(kind.partition(" ")[2])
        if cls is None:
            return None
        if key == ALL:
            return [(k, self._placeless(v, lines)) for k, v in cls.attributes.items()]
        values = cls.attributes.get(key)
        return None if values is None else (self._placeless(values, lines),)

    def _definition(self, thing: Definition, lines: list[int]) -> Any:
        lines.append(thing.line)
        guards = [
            (self._placeless((g.test,), lines), g.polarity, g.kind)
            for g in (self.summary.guards[i] for i in thing.guards)
        ]
        plain = self._placeless((thing.value, thing.annotation), lines)
        return plain, thing.name, self.summary.scopes[thing.scope].qualname, guards

    def _placeless(self, value: Any, lines: list[int]) -> Any:
        """A value, or a tuple with some, whose variables are known by name, and whose lines by their
        place in ``lines``, to which they are added."""
        if not value:
            return value
        tag = value[0]
        if tag == "const" or tag == "ref":
            return value
        if tag == "v" and len(value) == 2 and type(value[1]) is int:
            return ("v", self.symbol(value[1]))
        plain = [self._placeless(v, lines) if type(v) is tuple else v for v in value]
        if tag == "call" and len(value) == 5 and type(value[4]) is int:
            lines.append(value[4])
            plain[4] = lines.index(value[4])
        return tuple(plain)


_PARTS = {"export": "exports", "function": "functions", "class": "classes"}


class Change:
    """A module as it was and as it is."""

    def __init__(self, then: State, now: State) -> None:
        self.then = then
        self.now = now
        self._same: dict[Item, bool] = {}

    def same(self, items: Iterable[Item]) -> bool:
        """Whether all of these things are what they were; variables are known by their numbers then."""
        return all(map(self._is_same, items))

    def _is_same(self, item: Item) -> bool:
        known = self._same.get(item)
        if known is None:
            before, after = self._looks(item)
            known = self._same[item] = _equal(before[0], after[0])
        return known

    def _looks(self, item: Item) -> tuple[_Look, _Look]:
        kind, key = item
        if kind == "definition" and key != ALL:
            key = self.then.symbol(key)
        return self.then.look(kind, key), self.now.look(kind, key)

    def same_calls(self, then: Sequence[int], now: Sequence[int]) -> bool:
        return len(then) == len(now) and all(
            _equal(self.then.call(i)[0], self.now.call(j)[0])
            for i, j in zip(then, now, strict=True)
        )

    def moved(self, items: Iterable[Item]) -> list[tuple[int, int]]:
        """The lines that things name which are the same: then and now."""
        return [
            pair
            for before, after in map(self._looks, items)
            for pair in zip(before[1], after[1], strict=True)
        ]

    def moved_calls(self, then: Sequence[int], now: Sequence[int]) -> list[tuple[int, int]]:
        """Likewise, of calls."""
        return [
            pair
            for i, j in zip(then, now, strict=True)
            for pair in zip(self.then.call(i)[1], self.now.call(j)[1], strict=True)
        ]


def _equal(one: Any, other: Any) -> bool:
    """Not ``==``: False is not 0, nor 1 the same as 1.0."""
    return marshal.dumps(one, 2) == marshal.dumps(other, 2)


class Untraceable(Exception):  # noqa: N818
    """Where something has gone cannot be told."""


class Moved:
    """Where lines of changed modules have gone, of the things in them that something rests on."""

    def __init__(self) -> None:
        self.of_many = False
        """What these things were asked for is not one file."""
        self._lines: dict[str, dict[int, set[int]]] = {}
        self._changes: dict[str, Change] = {}

    def add(self, change: Change, lines: Iterable[tuple[int, int]]) -> None:
        path = change.then.summary.path
        self._changes[path] = change
        found = self._lines.setdefault(path, {})
        for then, now in lines:
            found.setdefault(then, set()).add(now)

    def line(self, path: str, line: int) -> int:
        """Raises Untraceable."""
        if path not in self._lines:
            return line
        # The first line stands for something whose line is not known, unless something is there.
        found = self._lines[path].get(line, {line} if line == 1 else ())
        if len(found) != 1 or (self.of_many and line == 1):
            raise Untraceable
        return next(iter(found))

    def lines(self, path: str, first: int, last: int) -> tuple[int, int]:
        """Of a range that ends after so many lines, or before the next function. Raises Untraceable."""
        change = self._changes.get(path)
        if change is None:
            return first, last
        begin = self.line(path, first)
        if change.then.to_next_function(first) != change.now.to_next_function(begin):
            raise Untraceable
        return begin, begin + last - first
