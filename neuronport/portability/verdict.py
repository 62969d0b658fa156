"""The words of portability: three levels, four verdicts, and what each rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

LEVELS = ("source", "artifact", "performance")


class Holds(StrEnum):
    """Whether a level holds, best first."""

    HOLDS = "holds"
    WITH_CHANGES = "holds with changes"
    NOT_MEASURED = "not measured"
    FAILS = "fails"


_ORDER = {word: place for place, word in enumerate(Holds)}


def order(word: Holds) -> int:
    """For comparing: the weaker, the higher."""
    return _ORDER[word]


def weakest(words: Iterable[Holds]) -> Holds:
    """A level holds as far as its weakest part; of no parts nothing is known."""
    return max(words, key=order, default=Holds.NOT_MEASURED)


@dataclass(frozen=True, slots=True)
class Ground:
    """One statement that a verdict rests on."""

    says: str
    rests_on: str
    """A record, a file, the contract: what a reader can look up."""
    speaks_for: Holds | None = None
    """The verdict it speaks for; None: it is told and decides nothing."""
    target: str = ""
    places: tuple[str, ...] = ()
    """``path:line``, the first of them."""

    def as_json(self) -> dict[str, Any]:
        return {
            "says": self.says,
            "rests_on": self.rests_on,
            "speaks_for": str(self.speaks_for) if self.speaks_for else None,
            "target": self.target or None,
            "places": list(self.places),
        }


@dataclass(frozen=True, slots=True)
class Level:
    """What is concluded on one level."""

    name: str
    verdict: Holds
    because: Sequence[Ground] = ()
    not_known: Sequence[Ground] = ()
    """What would have to be looked at, or measured, to say more; ``rests_on`` is how."""
    by_target: Mapping[str, Holds] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "verdict": str(self.verdict),
            "because": [g.as_json() for g in self.because],
            "not_known": [g.as_json() for g in self.not_known],
            "by_target": {t: str(v) for t, v in self.by_target.items()},
            "figures": dict(self.figures),
        }


@dataclass(frozen=True, slots=True)
class Source:
    """A record that was asked, or that was not there."""

    kind: str
    file: str
    state: str
    """``current``, ``stale``, ``digests not known``, ``missing``."""
    made: str = ""
    stale: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "file": self.file,
            "state": self.state,
            "made": self.made,
            "stale": list(self.stale),
        }


@dataclass(frozen=True, slots=True)
class Portability:
    """The three levels, and what they were read from."""

    levels: Mapping[str, Level]
    required: tuple[str, ...] = ()
    """The levels that the contract requires."""
    sources: Sequence[Source] = ()
    problems: Sequence[str] = ()
    """What could not be read, each with what to do."""
    tree: str = ""
    contract: str = ""
    """The file that holds the contract; empty: there is none."""

    @property
    def broken(self) -> tuple[str, ...]:
        """The levels that make a check fail: required ones that are not shown to hold; where none
        is required, those that fail."""
        short = (Holds.FAILS, Holds.NOT_MEASURED) if self.required else (Holds.FAILS,)
        asked = self.required or LEVELS
        return tuple(n for n in asked if self.levels[n].verdict in short)

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": "neuronport/portability/1",
            "tree": self.tree,
            "contract": self.contract or None,
            "required": list(self.required),
            "broken": list(self.broken),
            "levels": {name: self.levels[name].as_json() for name in LEVELS},
            "records": [s.as_json() for s in self.sources],
            "problems": list(self.problems),
        }
