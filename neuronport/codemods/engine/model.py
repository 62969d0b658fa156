"""The words of rewriting: edits, changes, and what was left alone and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from neuronport.findings import Finding, FixSafety

_MARK = "\x00"


def seam(name: str) -> str:
    """Stands in new text for a function of the seam: what it is called in a file is known late."""
    return f"{_MARK}seam:{name}{_MARK}"


TORCH = f"{_MARK}torch{_MARK}"
"""Stands in new text for the module ``torch``."""


def marks(text: str) -> list[str]:
    """The names that stand-ins in a text are for."""
    return text.split(_MARK)[1::2]


def resolve(text: str, names: dict[str, str]) -> str:
    """The text with each stand-in replaced by what its name is in the file."""
    if _MARK not in text:
        return text
    parts = text.split(_MARK)
    return "".join(names[part] if i % 2 else part for i, part in enumerate(parts))


class Edit(NamedTuple):
    """Characters ``start`` to ``end`` of a file become ``text``."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """One rewrite: the edits of one file that make sense together."""

    finding: Finding
    codemod: str
    safety: FixSafety
    title: str
    edits: tuple[Edit, ...]
    group: str = ""
    """Changes of one group are made together or not at all; empty: alone."""
    path: str = ""
    """Where the edits are, when not in the finding's file."""
    covers: tuple[tuple[int, int], ...] = ()
    """Further spans whose findings this change deals with."""
    note: str = ""
    """What a person should know or do besides."""
    drops: frozenset[str] = frozenset()
    """Packages whose imports go where nothing else in the file needs them; torch's always do."""
    chooses: bool = False
    """Whether it adds a device to a choice that the rest of the file lives by."""

    rests_on: frozenset[str] = frozenset()
    """Fingerprints of findings that have to be dealt with, by whichever change, for the group to be
    made."""

    @property
    def file(self) -> str:
        return self.path or self.finding.location.path

    def names(self) -> set[str]:
        return {name for edit in self.edits for name in marks(edit.text)}


MOVES = frozenset(["api/torch.Tensor.cuda", "api/torch.nn.Module.cuda"])
"""Rules about what moves tensors and modules."""
QUESTIONS = frozenset(["api/torch.cuda.is_available", "cuda-device-gate", "accelerator-branch"])
"""Rules about conditions that ask for CUDA."""
KEPT_FOR_CUDA, DONE = "cuda-only", "done"
"""Reasons for leaving a place that ask nothing of anybody."""
TO_WRITE, TO_REVIEW, TO_PEOPLE = "to_write", "to_review", "to_people"
STANDINGS: Mapping[str, str] = {
    TO_PEOPLE: "left to people",
    TO_WRITE: "the port would still write",
    TO_REVIEW: "it would write with --review",
    "kept_for_cuda": "kept for CUDA",
    "done": "done already",
    "not_selected": "not selected",
}
"""How findings stand after a port: each is one of these."""


@dataclass(frozen=True, slots=True)
class Left:
    """A finding that was not written, why, and what a person can do."""

    finding: Finding
    reason: str
    """A short kebab-case word: ``cuda-only``, ``needs-a-person``, ``unclear``, ``comment-inside`` …"""
    says: str = ""
    ways: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        place = self.finding.location
        return {
            "path": place.path,
            "line": place.line,
            "column": place.column,
            "rule": self.finding.rule,
            "fingerprint": self.finding.fingerprint,
            "reason": self.reason,
            "says": self.says,
            "ways": list(self.ways),
        }


@dataclass(frozen=True, slots=True)
class Failed:
    """A file that could not be rewritten and was left as it was."""

    path: str
    reason: str
    detail: str = ""

    def as_json(self) -> dict[str, str]:
        return {"path": self.path, "reason": self.reason, "detail": self.detail}


@dataclass(slots=True)
class Rewritten:
    """A file before and after."""

    path: str
    before: str | None
    """``None``: the file is new."""
    after: str
    changes: Sequence[Change] = ()
    needs: frozenset[str] = frozenset()
    """Files that have to be written for this one to run: the seam, a helper of the project, what its
    groups rest on."""


def overlaps(edits: Sequence[Edit], others: Iterable[Edit]) -> bool:
    """Whether two sets of edits touch the same characters; insertions at one place count."""
    for a in edits:
        for b in others:
            if a == b and a.start < a.end:
                continue
            if a.start < b.end and b.start < a.end:
                return True
            if a.start == b.start and a.end == b.end:
                return True
    return False


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with the edits made; those at one place in the order given."""
    result: list[str] = []
    at = 0
    ordered = sorted(dict.fromkeys(edits), key=lambda e: (e.start, e.end))
    for edit in ordered:
        if edit.start < at:
            raise ValueError("edits overlap")
        result += (text[at : edit.start], edit.text)
        at = edit.end
    result.append(text[at:])
    return "".join(result)
