"""The form of what ``rules/`` holds; see ``docs/rule-forms.md``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from neuronport.findings import (
    VERDICT_ORDER,
    Confidence,
    Effort,
    Evidence,
    EvidenceKind,
    Fix,
    FixSafety,
    Verdict,
    weakest,
)
from neuronport.targets import Target, version_key


class RuleError(ValueError):
    """A rule that is not written as ``docs/rule-forms.md`` says; names the file."""


@dataclass(frozen=True, slots=True)
class Window:
    """A verdict for a range of SDK versions and chips."""

    verdict: Verdict
    since: str = ""
    until: str = ""
    chips: tuple[str, ...] = ()
    confidence: Confidence = Confidence.CERTAIN
    """A cap: what the verdict hangs on besides what is seen at the place."""
    untraced: Verdict | None = None
    """What becomes of the place where it runs between traces, in the loop of a program."""

    def fits(self, target: Target, chip: str) -> bool:
        sdk = version_key(target.sdk)
        if self.since and sdk < version_key(self.since):
            return False
        if self.until and sdk > version_key(self.until):
            return False
        return not self.chips or chip in self.chips


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on an argument of a call."""

    arg: str
    pos: int | None = None
    is_: tuple[Any, ...] | None = None
    not_: tuple[Any, ...] | None = None
    given: bool | None = None
    matches: str = ""
    absent: bool = False
    """Whether the condition holds too where the argument is left out."""
    only: tuple[Any, ...] | None = None
    """It holds where one of these is written."""
    unless: tuple[Any, ...] | None = None
    """It holds everywhere else."""
    kinds: tuple[str, ...] | None = None
    """Kinds of values, of which the argument is one."""

    def regex(self) -> re.Pattern[str]:
        return re.compile(self.matches)


WEAK = frozenset((EvidenceKind.INFERRED, EvidenceKind.REPORTED))
"""Evidence that alone makes nothing certain."""


@dataclass(frozen=True, slots=True)
class Fixture:
    code: str
    lines: tuple[int, ...] = ()
    file: str = "case.py"
    target: str = ""


@dataclass(frozen=True, slots=True)
class Spec:
    """A rule, or a row of an API table: everything that is said about it."""

    id: str
    title: str
    area: str
    effort: Effort
    why: str
    verdicts: Mapping[str, tuple[Window, ...]]
    guarded: Mapping[str, tuple[Window, ...]]
    replacement: Mapping[str, str]
    evidence: tuple[Evidence, ...]
    fix: Fix | None
    fires: tuple[Fixture, ...]
    silent: tuple[Fixture, ...]
    file: str
    confidence: Confidence = Confidence.CERTAIN
    supersedes: tuple[str, ...] = ()
    """Rules whose findings inside a place of this one say nothing more."""
    yields: bool = False
    """Whether it is silent where a row of a table speaks at the same place, which knows the name."""
    ways: tuple[str, ...] = ()
    """What a person can do where nothing is written, the best first."""
    # Rows only:
    name: str = ""
    also: tuple[str, ...] = ()
    """Other dotted names of the same thing."""
    kind: str = ""
    on: str = ""
    when: tuple[Condition, ...] = ()
    unknown: str = ""
    distinctive: bool = False
    seldom: Confidence = Confidence.CERTAIN
    """How sure it is at most where a place is in no loop, makes no batches and does not run every step."""
    note: str = ""
    raises: tuple[str, ...] = ()
    """What a failing import raises, where that is no ImportError."""
    whole: tuple[str, ...] = ()
    """Decorators of functions that are judged where they are decorated: uses inside say nothing
    more."""
    said: str = ""
    """What it is where there is no CUDA: all that is to say where that is only printed or logged."""
    answer: str = ""
    """A question about the host: what it answers on a Neuron host. The verdict is that of a choice of
    device; what the answer decides elsewhere is told apart."""

    def verdict(self, target: Target, *, skipped: bool = False) -> Verdict | None:
        """The weakest verdict over the target's chips; None: nothing is said about it."""
        windows = self.verdicts.get(target.path, ())
        found: list[Verdict] = []
        for chip in target.chips:
            for window in windows:
                if window.fits(target, chip):
                    found.append(window.verdict)
                    break
        if not found:
            return None
        verdict = min(found, key=VERDICT_ORDER.__getitem__)
        if not skipped:
            return verdict
        for window in self.guarded.get(target.path, ()):
            if window.fits(target, target.chips[0]):
                return window.verdict
        if VERDICT_ORDER[verdict] < VERDICT_ORDER[Verdict.LOCKS_IN]:
            return Verdict.LOCKS_IN
        return verdict

    @property
    def rests_on_inference(self) -> bool:
        """Of a package's row: whether both paths get one verdict for one reason that nobody wrote
        down or measured. What else is cited for one of them makes it no surer there."""
        if not self.name or self.name.startswith("torch.") or len(self.verdicts) < 2:
            return False
        if len(set(self.verdicts.values())) > 1:
            return False
        shared = [e for e in self.evidence if not e.path]
        return bool(shared) and all(e.kind in WEAK for e in shared)

    def cap(self, target: Target) -> Confidence:
        """How sure the verdict on a target can be at most."""
        return weakest(Confidence.CERTAIN, *(w.confidence for w in self._fitting(target)))

    @property
    def tells_traces(self) -> bool:
        """Whether it matters where a place runs: in what is traced, or between."""
        return any(w.untraced for windows in self.verdicts.values() for w in windows)

    def untraced(self, target: Target) -> Verdict | None:
        """The verdict between traces, where it is another."""
        found = [w.untraced for w in self._fitting(target) if w.untraced is not None]
        return min(found, key=VERDICT_ORDER.__getitem__) if found else None

    def _fitting(self, target: Target) -> list[Window]:
        windows = self.verdicts.get(target.path, ())
        found = (next((w for w in windows if w.fits(target, c)), None) for c in target.chips)
        return [w for w in found if w is not None]

    def evidence_for(self, path: str) -> tuple[Evidence, ...]:
        return tuple(e for e in self.evidence if e.path in ("", path))


@dataclass(frozen=True)
class Rulebook:
    """All rules and rows, indexed for matching."""

    digest: str
    rules: Mapping[str, Spec]
    """Rules with a detector, by id."""
    rows: Mapping[str, Spec]
    """API rows, by rule id (``api/<name>``)."""
    exact: Mapping[str, Sequence[Spec]] = field(default_factory=dict)
    prefixes: Mapping[str, Sequence[Spec]] = field(default_factory=dict)
    """Rows written ``name.*``, by ``name``."""
    imports: Mapping[str, Sequence[Spec]] = field(default_factory=dict)
    methods: Mapping[str, Sequence[Spec]] = field(default_factory=dict)
    """Rows about methods, by the method's name."""
    outside: Mapping[str, Sequence[Spec]] = field(default_factory=dict)
    """Rows about what is not Python: ``env:NAME``, ``env:PREFIX_*``, ``command:NAME``."""

    def variable(self, name: str) -> Sequence[Spec]:
        """The rows for an environment variable: by its name, else by its longest prefix."""
        found = self.outside.get(f"env:{name}", ())
        head = name
        while not found and "_" in head:
            head = head.rpartition("_")[0]
            found = self.outside.get(f"env:{head}_*", ())
        return found

    def program(self, name: str) -> Sequence[Spec]:
        """The rows for a command."""
        return self.outside.get(f"command:{name}", ())

    roots: frozenset[str] = frozenset()
    """First parts of the names of all rows."""
    areas: frozenset[str] = frozenset()
    newest: Mapping[str, str] = field(default_factory=dict)
    """Path → the newest SDK that evidence about it was taken from."""
    missing: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Path → packages that cannot be imported on a Neuron host."""

    found: dict[str, Sequence[Spec]] = field(default_factory=dict)
    """Memory of ``match.candidates``."""

    def get(self, rule: str) -> Spec | None:
        return self.rules.get(rule) or self.rows.get(rule)

    def all(self) -> list[Spec]:
        return [*self.rules.values(), *self.rows.values()]

    def ids(self) -> list[str]:
        return [*self.rules, *self.rows]


def windows(raw: Any, where: str) -> tuple[Window, ...]:
    """A verdict as written: a word, or a list of windows."""
    if isinstance(raw, str):
        return (Window(_verdict(raw, where)),)
    if not isinstance(raw, list):
        raise RuleError(f"{where}: a verdict is a word or a list of windows, not {raw!r}")
    result = []
    for row in raw:
        unknown = set(row) - {"verdict", "since", "until", "chips", "confidence", "untraced"}
        if unknown:
            raise RuleError(
                f"{where}: unknown key in a verdict window: {', '.join(sorted(unknown))}"
            )
        result.append(
            Window(
                _verdict(row["verdict"], where),
                row.get("since", ""),
                row.get("until", ""),
                tuple(row.get("chips", ())),
                Confidence(row.get("confidence", "certain")),
                _verdict(row["untraced"], where) if "untraced" in row else None,
            )
        )
    return tuple(result)


def _verdict(word: str, where: str) -> Verdict:
    try:
        return Verdict(word)
    except ValueError:
        raise RuleError(f"{where}: unknown verdict {word!r}") from None


def evidence(raw: Mapping[str, Any], where: str) -> Evidence:
    try:
        return Evidence(
            EvidenceKind(raw["kind"]),
            raw["source"],
            raw["says"],
            raw.get("path", raw.get("target", "")),
            str(raw.get("sdk", "")),
        )
    except (KeyError, ValueError) as error:
        raise RuleError(f"{where}: evidence needs kind, source and says: {error}") from None


def fix(raw: Mapping[str, Any] | None, where: str) -> Fix | None:
    if raw is None:
        return None
    try:
        return Fix(raw["codemod"], FixSafety(raw["safety"]), raw.get("title", raw["codemod"]))
    except (KeyError, ValueError) as error:
        raise RuleError(f"{where}: a fix needs codemod and safety: {error}") from None


def condition(raw: Mapping[str, Any], where: str) -> Condition:
    unknown = set(raw) - {"arg", "pos", "is", "not", "given", "matches", "absent"}
    unknown -= {"only", "unless", "kinds"}
    if unknown or "arg" not in raw:
        raise RuleError(f"{where}: a condition needs arg; unknown: {', '.join(sorted(unknown))}")
    return Condition(
        raw["arg"],
        raw.get("pos"),
        tuple(raw["is"]) if "is" in raw else None,
        tuple(raw["not"]) if "not" in raw else None,
        raw.get("given"),
        raw.get("matches", ""),
        bool(raw.get("absent", False)),
        tuple(raw["only"]) if "only" in raw else None,
        tuple(raw["unless"]) if "unless" in raw else None,
        tuple(raw["kinds"]) if "kinds" in raw else None,
    )
