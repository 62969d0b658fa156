"""Mappings and sequences that tell what of them is consulted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from neuronport.readers.python.facts import Class

Item: TypeAlias = "tuple[str, Any]"
"""Kind and key of a thing in a module; the key ``ALL``: every thing of the kind."""
ALL = "*"


class Listener(Protocol):
    asked: set[int]
    """Numbers of what was asked for."""

    def new_number(self, kind: str, thing: Any) -> int: ...


class Teller:
    """Tells that things of one kind in a module are consulted."""

    def __init__(self, listener: Listener, module: str, kind: str) -> None:
        self.listener = listener
        self.module = module
        self.kind = kind
        self._numbers: dict[Any, int] = {}

    def tell(self, key: Any) -> None:
        number = self._numbers.get(key)
        if number is None:
            number = self.listener.new_number("item", (self.module, self.kind, key))
            self._numbers[key] = number
        self.listener.asked.add(number)

    def of_attributes(self, cls: str) -> Teller:
        return Teller(self.listener, self.module, f"attribute {cls}")


class Entries(Mapping[str, Any]):
    """A mapping that tells what of it is consulted."""

    __slots__ = ("entries", "teller")

    def __init__(self, entries: Mapping[str, Any], teller: Teller) -> None:
        self.entries = entries
        self.teller = teller

    def known(self, key: str) -> Any:
        """What it gives out for an entry that is there."""
        return self.entries[key]

    def __getitem__(self, key: str) -> Any:
        self.teller.tell(key)
        return self.known(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.teller.tell(key)
        return self.known(key) if key in self.entries else default

    def __contains__(self, key: object) -> bool:
        self.teller.tell(key)
        return key in self.entries

    def __iter__(self) -> Iterator[str]:
        self.teller.tell(ALL)
        return iter(self.entries)

    def __len__(self) -> int:
        self.teller.tell(ALL)
        return len(self.entries)

    def values(self) -> Any:
        self.teller.tell(ALL)
        return [self.known(key) for key in self.entries]

    def items(self) -> Any:
        self.teller.tell(ALL)
        return [(key, self.known(key)) for key in self.entries]


class Classes(Entries):
    """Classes by name, and of each which of its attributes."""

    __slots__ = ("_telling",)

    def __init__(self, entries: Mapping[str, Any], teller: Teller) -> None:
        super().__init__(entries, teller)
        self._telling: dict[str, Class] = {}

    def known(self, key: str) -> Any:
        found = self._telling.get(key)
        if found is None:
            cls = self.entries[key]
            attributes = Entries(cls.attributes, self.teller.of_attributes(key))
            found = self._telling[key] = cls._replace(attributes=attributes)
        return found


class Rows(Sequence[Any]):
    """Likewise for what is known by number."""

    __slots__ = ("entries", "teller")

    def __init__(self, entries: Sequence[Any], teller: Teller) -> None:
        self.entries = entries
        self.teller = teller

    def __getitem__(self, number: Any) -> Any:
        self.teller.tell(number if type(number) is int else ALL)
        return self.entries[number]

    def __iter__(self) -> Iterator[Any]:
        self.teller.tell(ALL)
        return iter(self.entries)

    def __len__(self) -> int:
        self.teller.tell(ALL)
        return len(self.entries)
