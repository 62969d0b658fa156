"""The words every part of neuronport speaks: verdicts, confidence, evidence, places, findings.

Nothing here knows a file format, a rule or an output format. The meaning of each word is fixed by
the vocabulary of ``docs/architecture.md``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple


class Level(StrEnum):
    """How loud a verdict is; what ``--fail-on`` compares."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NONE = "none"


class Verdict(StrEnum):
    """What happens on the target, worst first."""

    BREAKS = "breaks"
    FALLS_BACK = "falls-back"
    DIVERGES = "diverges"
    RECOMPILES = "recompiles"
    SYNCS = "syncs"
    SLOW = "slow"
    LOCKS_IN = "locks-in"
    BENIGN = "benign"
    PORTABLE = "portable"

    @property
    def level(self) -> Level:
        return _LEVELS[self]

    @property
    def is_reference(self) -> bool:
        """Counted for the portability ratio, not shown as a finding."""
        return self in (Verdict.BENIGN, Verdict.PORTABLE)


_LEVELS = {
    Verdict.BREAKS: Level.ERROR,
    Verdict.FALLS_BACK: Level.ERROR,
    Verdict.DIVERGES: Level.ERROR,
    Verdict.RECOMPILES: Level.WARNING,
    Verdict.SYNCS: Level.WARNING,
    Verdict.SLOW: Level.WARNING,
    Verdict.LOCKS_IN: Level.NOTE,
    Verdict.BENIGN: Level.NONE,
    Verdict.PORTABLE: Level.NONE,
}
VERDICT_ORDER: Mapping[Verdict, int] = {v: i for i, v in enumerate(Verdict)}
LEVEL_ORDER: Mapping[Level, int] = {v: i for i, v in enumerate(Level)}


class Confidence(StrEnum):
    """How sure a finding is, from its evidence and from how well the place was understood."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


CONFIDENCE_ORDER: Mapping[Confidence, int] = {v: i for i, v in enumerate(Confidence)}


def weakest(*words: Confidence) -> Confidence:
    """The least sure of several confidences: a chain is as sure as its weakest link."""
    return max(words, key=CONFIDENCE_ORDER.__getitem__)


class EvidenceKind(StrEnum):
    """How a fact is known, strongest first."""

    OBSERVED = "observed"
    DOCUMENTED = "documented"
    SOURCE = "source"
    MEASURED = "measured"
    REPORTED = "reported"
    INFERRED = "inferred"


class Effort(StrEnum):
    """What mending one place costs a person; summed as a range, never as one number."""

    MINUTES = "minutes"
    HOURS = "hours"
    DAYS = "days"
    REDESIGN = "redesign"


EFFORT_ORDER: Mapping[Effort, int] = {v: i for i, v in enumerate(Effort)}


class FixSafety(StrEnum):
    SAFE = "safe"
    REVIEW = "review"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a verdict is believed."""

    kind: EvidenceKind
    source: str
    """A public document, source snapshot, issue or experiment that a reader can look up."""
    says: str
    path: str = ""
    """The path the statement is about (``native``, ``xla``); empty: both."""
    sdk: str = ""
    """The SDK version the statement was made for; empty: not tied to one."""

    def as_json(self) -> dict[str, str]:
        row = {"kind": str(self.kind), "source": self.source, "says": self.says}
        if self.path:
            row["path"] = self.path
        if self.sdk:
            row["sdk"] = self.sdk
        return row


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A span of text: 1-based lines and columns in code points, the end exclusive."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int


DECIDES = "this condition decides whether the place runs; it does not on a Neuron host"
"""Said of the condition that a finding stands under."""
ASKED_TOO = "CUDA is asked for here, beside it"
"""Said of the question about CUDA in the same chain as one about another accelerator."""

OTHERWISE = "this condition decides between this and CUDA"
"""Said of the condition whose other branch the CPU is."""


class Related(NamedTuple):
    """One step of how a value came to the place of a finding, in order."""

    path: str
    line: int
    says: str

    @property
    def place(self) -> str:
        """In words."""
        return f"line {self.line} of {self.path}"

    def as_json(self) -> dict[str, Any]:
        return {"path": self.path, "line": self.line, "says": self.says}


@dataclass(frozen=True, slots=True)
class Fix:
    codemod: str
    safety: FixSafety
    title: str

    def as_json(self) -> dict[str, str]:
        return {"codemod": self.codemod, "safety": str(self.safety), "title": self.title}


class Role(StrEnum):
    """What part of a project a file is; only ``code`` fails a run unless asked."""

    CODE = "code"
    TEST = "test"
    EXAMPLE = "example"
    VENDORED = "vendored"


@dataclass(frozen=True, slots=True)
class Context:
    scope: str = ""
    """Qualified name of the enclosing class and function; empty at module level."""
    hot: bool = False
    """In a place that runs every step: forward, a training loop, a generation loop."""
    guarded_by: str = ""
    """The condition that decides whether the place runs at all, as written."""
    role: Role = Role.CODE

    def as_json(self) -> dict[str, Any]:
        return {
            "scope": self.scope,
            "hot": self.hot,
            "guarded_by": self.guarded_by,
            "role": str(self.role),
        }


@dataclass(frozen=True, slots=True)
class TargetVerdict:
    """The verdict on one target."""

    verdict: Verdict
    confidence: Confidence
    evidence: tuple[Evidence, ...]
    replacement: str = ""
    """What to write instead on this target, in words or code; empty: none known."""
    stages: Mapping[str, Mapping[str, Verdict]] = field(default_factory=dict)
    """``eager|compiled`` → ``forward|backward`` → verdict, where stages differ."""

    def as_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {
            "verdict": str(self.verdict),
            "confidence": str(self.confidence),
            "evidence": [e.as_json() for e in self.evidence],
        }
        if self.replacement:
            row["replacement"] = self.replacement
        if self.stages:
            row["stages"] = {s: {k: str(v) for k, v in w.items()} for s, w in self.stages.items()}
        return row


def _strongest(by_target: Mapping[str, TargetVerdict]) -> TargetVerdict:
    """What the worst verdict, and of equal ones the surest, was said by."""
    judged = iter(by_target.values())
    worst = next(judged)
    for other in judged:
        if other.verdict is worst.verdict:
            if CONFIDENCE_ORDER[other.confidence] < CONFIDENCE_ORDER[worst.confidence]:
                worst = other
        elif VERDICT_ORDER[other.verdict] < VERDICT_ORDER[worst.verdict]:
            worst = other
    return worst


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule at one place, judged for every target asked about."""

    rule: str
    area: str
    location: Location
    message: str
    why: str
    effort: Effort
    by_target: Mapping[str, TargetVerdict]
    """Resolved target (``native@2.33``) → verdict; at least one."""
    context: Context = Context()
    group: str = ""
    """Findings of one cause share a group; empty: the rule is the cause."""
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    fingerprint: str = ""
    suppressed: str | None = None
    """The reason given in a suppression comment or a baseline; ``None``: not suppressed."""
    snippet: str = ""
    """The source line of the start, for people to read; never parsed again."""
    node: str = ""
    """The graph node, when a graph is known."""

    @property
    def verdict(self) -> Verdict:
        """The strongest verdict over all targets."""
        return _strongest(self.by_target).verdict

    @property
    def confidence(self) -> Confidence:
        """The confidence of the strongest verdict."""
        return _strongest(self.by_target).confidence

    @property
    def level(self) -> Level:
        return self.verdict.level

    @property
    def is_reference(self) -> bool:
        return all(t.verdict.is_reference for t in self.by_target.values())

    def with_fingerprint(self, occurrence: int) -> Finding:
        """Stable across unrelated edits: rule, path, scope, normalized line, occurrence in scope."""
        text = "\0".join(
            (
                self.rule,
                self.location.path,
                self.context.scope,
                " ".join(self.snippet.split()),
                str(occurrence),
            )
        )
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return replace(self, fingerprint=digest)

    def as_json(self) -> dict[str, Any]:
        return {**self.place_as_json(), **self.verdicts_as_json(), **self.rest_as_json()}

    def place_as_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "area": self.area,
            "level": str(self.level),
            "path": self.location.path,
            "line": self.location.line,
            "column": self.location.column,
            "end_line": self.location.end_line,
            "end_column": self.location.end_column,
            "message": self.message,
            "why": self.why,
            "effort": str(self.effort),
            "group": self.group or self.rule,
            "fingerprint": self.fingerprint,
            "suppressed": self.suppressed,
            "context": self.context.as_json(),
        }

    def verdicts_as_json(self) -> dict[str, Any]:
        """The part that depends on ``by_target`` alone, which many findings share."""
        return {
            "verdict": {t: str(v.verdict) for t, v in self.by_target.items()},
            "confidence": str(self.confidence),
            "by_target": {t: v.as_json() for t, v in self.by_target.items()},
        }

    def rest_as_json(self) -> dict[str, Any]:
        return {
            "related": [r.as_json() for r in self.related],
            "fix": self.fix.as_json() if self.fix else None,
            "node": self.node or None,
            "snippet": self.snippet,
        }


@dataclass(frozen=True, slots=True)
class NotLookedAt:
    """Something that was in scope and could not be judged: shown, counted, never dropped."""

    path: str
    reason: str
    """A short kebab-case word, e.g. ``syntax-error``, ``unreadable``, ``too-large``."""
    detail: str = ""
    line: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "reason": self.reason,
            "detail": self.detail,
            "line": self.line,
        }


def fingerprinted(findings: Iterable[Finding]) -> list[Finding]:
    """Findings sorted by place, each with its fingerprint."""
    ordered = sorted(findings, key=lambda f: (f.location, f.rule, f.message))
    seen: dict[tuple[str, str, str, str], int] = {}
    result = []
    for finding in ordered:
        key = (
            finding.rule,
            finding.location.path,
            finding.context.scope,
            " ".join(finding.snippet.split()),
        )
        seen[key] = seen.get(key, 0) + 1
        result.append(finding.with_fingerprint(seen[key]))
    return result
