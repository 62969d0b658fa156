"""What an audit hands to the reporters, and how they are asked to show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from neuronport.findings import (
    Effort,
    Evidence,
    Finding,
    Level,
    NotLookedAt,
    Related,
    Role,
    Verdict,
)
from neuronport.targets import Target

SourceReader = Callable[[str], Sequence[str] | None]
"""The decoded lines of a file of the tree (as findings name it) without line ends, or ``None``
when it cannot be read any more; what a finding's lines and columns count in."""


@dataclass(frozen=True, slots=True)
class RuleInfo:
    """What a reader of a report wants to know of a rule."""

    id: str
    title: str
    """One sentence without a full stop."""
    area: str
    why: str
    """Markdown: what it does, why it matters, example, fix safety, limits."""
    effort: Effort
    help_text: str = ""
    """The same as plain text; empty: ``why`` is plain enough."""
    verdict: Mapping[str, Verdict] = field(default_factory=dict)
    """Path → the verdict the rule is written with."""
    evidence: Sequence[Evidence] = ()


@dataclass(frozen=True, slots=True)
class Knowledge:
    """How old the knowledge behind the verdicts on one path is."""

    path: str
    sdk: str
    """The newest SDK the rules know for the path."""
    newest: str = ""
    """The date or the SDK of the newest evidence about the path; empty: none is dated."""


@dataclass(frozen=True, slots=True)
class Tree:
    """What was there and what was looked at."""

    root: str
    """As shown to people; no machine's absolute path unless the user gave one."""
    files: int
    """All files in scope, ignored ones left out."""
    looked_at: int
    lines: int
    """Lines of the files looked at."""
    by_kind: Mapping[str, int] = field(default_factory=dict)
    """Kind (``python``, ``notebook`` …) → files looked at."""
    unread: int | None = None
    """Files of kinds that are not read; None: those of ``files`` that nothing else is said of."""
    unread_kinds: Mapping[str, int] = field(default_factory=dict)
    """Kind (``shell``, ``dockerfile`` …) → files of it, all of which are not read."""


@dataclass(frozen=True, slots=True)
class UnusedSuppression:
    path: str
    line: int
    text: str
    """The comment as written."""
    why: str = ""
    """What is wrong with it, where that can be said; empty: there is nothing to suppress."""


@dataclass(frozen=True, eq=False)
class AuditResult:
    """One audit. Compared by identity: summaries are kept per result."""

    tool_version: str
    rules_version: str
    """The digest of the rules."""
    tree: Tree
    targets: Sequence[Target]
    findings: Sequence[Finding] = ()
    """Of every role; :attr:`fail_roles` says which count."""
    references: Sequence[Finding] = ()
    suppressed: Sequence[Finding] = ()
    """By a comment beside them."""
    baselined: Sequence[Finding] = ()
    """By a baseline file."""
    unused_suppressions: Sequence[UnusedSuppression] = ()
    not_looked_at: Sequence[NotLookedAt] = ()
    rules: Mapping[str, RuleInfo] = field(default_factory=dict)
    """At least every rule that occurs in the findings."""
    reaches: Mapping[str, Sequence[Related]] = field(default_factory=dict)
    """Group → the places that its choice reaches, by place."""
    knowledge: Sequence[Knowledge] = ()
    fail_on: Level = Level.ERROR
    fail_roles: frozenset[Role] = frozenset({Role.CODE})
    exit_code: int = 0
    command: Sequence[str] = (".",)
    """The arguments that any follow-up command needs to see the same: paths, what narrows them,
    targets, selection."""
    audit_options: Sequence[str] = ()
    """What only `audit` understands of the options that were given."""


@dataclass(frozen=True, slots=True)
class RenderOptions:
    width: int = 100
    """Columns to fill; kept within 80 and 120."""
    color: bool = False
    source: SourceReader | None = None
    groups: int = 10
    """How many groups the first screen shows."""
    places: int = 3
    """How many places each of them shows."""

    @property
    def columns(self) -> int:
        return max(80, min(120, self.width))
