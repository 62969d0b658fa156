"""What a record is once it has been read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Body = Mapping[str, Any]
"""What a command prints with ``--format json``."""
Step = Callable[[dict[str, Any]], dict[str, Any]]
"""From one form to the next."""

FORM = 1
"""Of the envelope; raised when its keys change, with a step in ``forms.py`` from the one before."""


def _nothing(body: Body) -> list[dict[str, Any]]:
    return []


def _no_subject(body: Body) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of record: a module of ``kinds/``."""

    name: str
    command: str
    """What makes it, for people."""
    schema: str
    """What its body's ``schema`` begins with; the version follows: ``neuronport/audit/``."""
    version: int
    """The newest version of its body that is known."""
    needs: Mapping[str, type]
    """The keys of its body, and what they hold, without which nothing can be said of it."""
    many: bool = False
    """A folder can hold several, one for each subject."""
    subject: Callable[[Body], str] = _no_subject
    """What one of several is about: a model."""
    missed: Callable[[Body], list[dict[str, Any]]] = _nothing
    """What its body says was not looked at: path, reason, detail, line."""
    steps: Mapping[int, Step] = field(default_factory=dict)
    """Version of a body → what makes the next one of it; 0: a body that names no schema."""


@dataclass(frozen=True, slots=True)
class Change:
    """Why a record no longer speaks of what is there now."""

    what: str
    """``changed``, ``vanished``, ``new`` (a file), ``unreadable``, ``rules``, ``newer-form``."""
    name: str
    detail: str = ""

    def __str__(self) -> str:
        words = {
            "changed": "has changed",
            "vanished": "is gone",
            "new": "is new",
            "unreadable": "cannot be read",
            "rules": "have changed",
            "newer-form": "is newer than this version of neuronport",
        }[self.what]
        return f"{self.name} {words}" + (f" ({self.detail})" if self.detail else "")

    def as_json(self) -> dict[str, str]:
        return {"what": self.what, "name": self.name, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that is no record anyone can use; the rest goes on without it."""

    file: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}; {self.remedy}"

    def as_json(self) -> dict[str, str]:
        return {"file": self.file, "reason": self.reason, "remedy": self.remedy}


@dataclass(frozen=True, eq=False, slots=True)
class Record:
    """One record."""

    kind: str
    file: str
    """Where it was read from."""
    form: int
    """The form it was written in; what is here has the newest."""
    tool: Mapping[str, Any]
    """``name``, ``version`` and, where rules had a say, their digest as ``rules``."""
    made: str
    """ISO date and time, UTC; empty: not known."""
    tree: Mapping[str, Any]
    """``root`` (relative to the record's folder), ``name``, ``digest``, ``files``, ``revision``."""
    inputs: Mapping[str, str]
    """Path relative to the tree → SHA-256 of what was looked at."""
    not_looked_at: Sequence[Mapping[str, Any]]
    body: Body
    digests_known: bool
    """False: the bare output of a command. Whether it still holds cannot be told."""
    stale: tuple[Change, ...] = ()
    """Empty: it still holds, as far as that can be told; see :attr:`digests_known`."""
    root: str = ""
    """The tree's folder now; empty: not known."""

    @property
    def subject(self) -> str:
        """What it is about, where there can be several of its kind."""
        from neuronport.records.kinds import kinds

        return kinds()[self.kind].subject(self.body)

    @property
    def current(self) -> bool:
        """Known to hold still."""
        return self.digests_known and not self.stale

    @property
    def state(self) -> str:
        """``current``, ``stale`` or ``digests not known``."""
        if self.stale:
            return "stale"
        return "current" if self.digests_known else "digests not known"


@dataclass(frozen=True, eq=False, slots=True)
class Records:
    """The records of a folder, joined."""

    folder: str
    by_kind: Mapping[str, tuple[Record, ...]] = field(default_factory=dict)
    """Only the kinds that are there; of one kind sorted by file."""
    problems: tuple[Problem, ...] = ()
    exists: bool = True
    """False: there is no such folder."""

    def of(self, kind: str) -> tuple[Record, ...]:
        return self.by_kind.get(kind, ())

    def one(self, kind: str) -> Record | None:
        found = self.of(kind)
        return found[0] if found else None

    def __iter__(self) -> Any:
        return (record for records in self.by_kind.values() for record in records)

    @property
    def audit(self) -> Record | None:
        return self.one("audit")

    @property
    def port(self) -> Record | None:
        return self.one("port")

    @property
    def churn(self) -> Record | None:
        """What a port changed between two revisions (``port --churn``), whoever made it."""
        return self.one("churn")

    @property
    def graphs(self) -> tuple[Record, ...]:
        return self.of("graph")

    @property
    def compiles(self) -> tuple[Record, ...]:
        return self.of("compile")

    @property
    def portability(self) -> Record | None:
        return self.one("portability")

    @property
    def missing(self) -> tuple[str, ...]:
        """The kinds of which there is no record."""
        from neuronport.records.kinds import kinds

        return tuple(name for name in kinds() if name not in self.by_kind)
