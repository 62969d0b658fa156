"""What every format says of an audit, computed once: groups and their rank, counts, effort, ratio."""

from __future__ import annotations

import weakref
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from neuronport.causes import CHOSEN, QUESTIONS
from neuronport.findings import (
    CONFIDENCE_ORDER,
    EFFORT_ORDER,
    LEVEL_ORDER,
    VERDICT_ORDER,
    Confidence,
    Effort,
    Finding,
    Fix,
    FixSafety,
    Level,
    Related,
    Role,
    Verdict,
)
from neuronport.reporting.result import AuditResult

EFFORT_MINUTES: Mapping[Effort, tuple[int, int]] = {
    Effort.MINUTES: (1, 15),
    Effort.HOURS: (60, 8 * 60),
    Effort.DAYS: (8 * 60, 5 * 8 * 60),
}
"""What the words mean per place, in minutes of a person's working time (a day has eight hours).
A redesign has no upper end: redesigns are counted, never summed."""

EFFORT_METHOD = (
    "Per place: minutes is 1–15 min, hours 1–8 h, days 1–5 days of 8 h; a redesign is counted, not "
    "summed. Low end: every place at its low end; places with one cause, or with one fix that the "
    "tool can write, once. High end: the first place of a cause at its high end, every further one "
    "at its low end, since it is mended in the same way, and so is what the tool writes."
)
_REDESIGN = 2 * EFFORT_MINUTES[Effort.DAYS][1]
_REACHED = EFFORT_MINUTES[Effort.HOURS][0]
"""What a redesign and a place that a choice reaches weigh beside minutes of work, where causes are
put in order: one choice that reaches a whole program comes before what takes days at one place."""
EFFORT_KEY = "first place of a cause 1–15 min, 1–8 h or 1–5 days, further ones the least of it"


@dataclass(frozen=True, slots=True)
class EffortRange:
    low: int = 0
    """Minutes."""
    high: int = 0
    redesigns: int = 0
    places: int = 0

    def __add__(self, other: EffortRange) -> EffortRange:
        return EffortRange(
            self.low + other.low,
            self.high + other.high,
            self.redesigns + other.redesigns,
            self.places + other.places,
        )

    def __str__(self) -> str:
        parts = []
        if self.high:
            low, high = duration(self.low), duration(self.high)
            number, _, unit = low.partition(" ")
            low = number if high.endswith(f" {unit}") else low
            parts.append(high if self.low == self.high else f"{low} to {high}")
        if self.redesigns:
            parts.append(plural(self.redesigns, "redesign"))
        return " plus ".join(parts) or "none"

    def as_json(self) -> dict[str, int]:
        return {
            "low_minutes": self.low,
            "high_minutes": self.high,
            "redesigns": self.redesigns,
            "places": self.places,
        }


@dataclass(frozen=True, slots=True)
class Group:
    """The findings of one cause."""

    key: str
    rule: str
    """The rule of the finding that ranks first."""
    title: str
    area: str
    places: Sequence[Finding]
    """Worst and surest first."""
    level: Level
    verdict: Verdict
    confidence: Confidence
    verdicts: Mapping[str, Mapping[Verdict, int]]
    """Target → verdict → places, worst first."""
    replacements: Mapping[str, str]
    """Target → what to write instead, from the first place that knows."""
    effort: Effort
    """The largest of its places."""
    effort_range: EffortRange
    fix: Fix | None
    files: int
    reach: Sequence[Related] = ()
    """The places that a choice reaches, in this file and others: what one mend mends."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """Of the places that depend on the device, those that already work on a target."""

    portable: int
    benign: int
    findings: int

    @property
    def works(self) -> int:
        return self.portable + self.benign

    @property
    def total(self) -> int:
        return self.works + self.findings

    @property
    def percent(self) -> int | None:
        """Rounded down: 100 only when nothing is left."""
        return 100 * self.works // self.total if self.total else None


@dataclass(frozen=True, slots=True)
class Summary:
    groups: Sequence[Group]
    """Of the findings that count, most important first."""
    counted: Sequence[Finding]
    """Findings whose role counts, by place."""
    apart: Sequence[Finding]
    """The others, by place."""
    by_target: Mapping[str, Mapping[Verdict, int]]
    """Target → verdict → places among the counted findings."""
    only_possible: Mapping[str, Mapping[Verdict, int]]
    """The same, of those among them that are only possible there."""
    by_level: Mapping[Level, int]
    by_area: Mapping[str, Mapping[Level, int]]
    by_file: Mapping[str, Mapping[Level, int]]
    """Worst first."""
    by_role: Mapping[Role, int]
    """Among those set apart."""
    failing: int
    """Findings that make the run fail."""
    may_fail: int
    """Findings that would, were they more than possible."""
    effort: Mapping[Level, EffortRange]
    ratio: Mapping[str, Ratio]
    not_looked_at: Mapping[str, int]
    """Reason → how many, most frequent first."""
    unread: int
    """Files in scope that are neither looked at nor listed: kinds that are not read."""
    ranked: Sequence[Finding] = field(repr=False, default=())
    """Every finding, counted ones first, most important first."""


def counts(finding: Finding, audit: AuditResult) -> bool:
    """Whether the finding makes the run fail."""
    return (
        finding.context.role in audit.fail_roles
        and finding.confidence is not Confidence.POSSIBLE
        and _loud_enough(finding.level, audit)
    )


def _loud_enough(level: Level, audit: AuditResult) -> bool:
    return LEVEL_ORDER[level] <= LEVEL_ORDER[audit.fail_on] and Level.NONE not in (
        level,
        audit.fail_on,
    )


def shown_level(finding: Finding, audit: AuditResult) -> Level:
    """How loudly to show it where a level decides whether a check fails.

    What cannot fail a run must not fail a check either: tests, examples and vendored code are
    notes, a mere possibility is at most a warning.
    """
    if finding.context.role not in audit.fail_roles:
        return Level.NOTE
    if finding.confidence is Confidence.POSSIBLE and finding.level is Level.ERROR:
        return Level.WARNING
    return finding.level


_summaries: weakref.WeakKeyDictionary[AuditResult, Summary] = weakref.WeakKeyDictionary()


def summarize(audit: AuditResult) -> Summary:
    """The summary of ``audit``; computed once, however many formats ask."""
    if audit not in _summaries:
        _summaries[audit] = _summarize(audit)
    return _summaries[audit]


def by_place(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda f: (*_at(f), f.rule, f.message))


def _at(finding: Finding) -> tuple[str, int, int, int, int]:
    """A location as a tuple, which sorts several times faster."""
    at = finding.location
    return at.path, at.line, at.column, at.end_line, at.end_column


class _Judged:
    """A finding with what it works out anew at every question, worked out once."""

    __slots__ = ("confidence", "finding", "level", "verdict")

    def __init__(self, finding: Finding) -> None:
        self.finding = finding
        self.verdict = finding.verdict
        self.level = self.verdict.level
        self.confidence = finding.confidence

    def rank(self) -> tuple[Any, ...]:
        return (
            LEVEL_ORDER[self.level],
            CONFIDENCE_ORDER[self.confidence],
            VERDICT_ORDER[self.verdict],
            not self.finding.context.hot,
            *_at(self.finding),
            self.finding.rule,
            self.finding.message,
        )


def _summarize(audit: AuditResult) -> Summary:
    ordered = by_place(audit.findings)
    counted = [f for f in ordered if f.context.role in audit.fail_roles]
    apart = [f for f in ordered if f.context.role not in audit.fail_roles]
    judged_once = [_Judged(f) for f in counted]
    groups, effort = _groups(judged_once, audit)
    targets = [str(t) for t in audit.targets]
    by_target: dict[str, Counter[Verdict]] = defaultdict(Counter, {t: Counter() for t in targets})
    only_possible: dict[str, Counter[Verdict]] = defaultdict(Counter)
    by_level: Counter[Level] = Counter()
    by_area: dict[str, Counter[Level]] = defaultdict(Counter)
    by_file: dict[str, Counter[Level]] = defaultdict(Counter)
    failing = may_fail = 0
    for row in judged_once:
        finding, level = row.finding, row.level
        by_level[level] += 1
        by_area[finding.area][level] += 1
        by_file[finding.location.path][level] += 1
        for target, judged in finding.by_target.items():
            if not judged.verdict.is_reference:
                by_target[target][judged.verdict] += 1
                if judged.confidence is Confidence.POSSIBLE:
                    only_possible[target][judged.verdict] += 1
        if row.confidence is Confidence.POSSIBLE:
            may_fail += _loud_enough(level, audit)
        else:
            failing += counts(finding, audit)
    listed = {n.path for n in audit.not_looked_at if n.line is None}
    return Summary(
        groups=groups,
        counted=counted,
        apart=apart,
        by_target={t: _worst_first(c) for t, c in by_target.items()},
        only_possible={t: _worst_first(c) for t, c in only_possible.items()},
        by_level={lv: by_level[lv] for lv in Level if by_level[lv]},
        by_area=_loudest_first(by_area),
        by_file=_loudest_first(by_file),
        by_role={r: n for r in Role if (n := sum(f.context.role is r for f in apart))},
        failing=failing,
        may_fail=may_fail,
        effort={lv: effort[lv] for lv in Level if lv in effort},
        ratio=_ratios(targets, counted, audit),
        not_looked_at=dict(
            sorted(
                Counter(n.reason for n in audit.not_looked_at).items(), key=lambda i: (-i[1], i[0])
            )
        ),
        unread=max(0, audit.tree.files - audit.tree.looked_at - len(listed))
        if audit.tree.unread is None
        else audit.tree.unread,
        ranked=[f for g in groups for f in g.places]
        + [f for g in _groups([_Judged(f) for f in apart], audit)[0] for f in g.places],
    )


def _groups(
    findings: Iterable[_Judged], audit: AuditResult
) -> tuple[list[Group], dict[Level, EffortRange]]:
    """The groups, most important first, and the effort of all of them by level."""
    members: dict[str, list[_Judged]] = {}
    for row in findings:
        members.setdefault(row.finding.group or row.finding.rule, []).append(row)
    ranked: list[tuple[tuple[Any, ...], Group]] = []
    effort: dict[Level, EffortRange] = {}
    for key, rows in members.items():
        rows.sort(key=_Judged.rank)
        first = rows[0]
        parts = _effort_by_level(rows, key != first.finding.rule)
        for level, part in parts.items():
            effort[level] = effort.get(level, EffortRange()) + part
        # What is only possible must not push what is sure off the first screen. Among what is
        # sure, what takes days (an extension to rewrite) and choices on which other places rest
        # come first, by how much hangs on them, then the most work.
        whole = sum(parts.values(), EffortRange())
        weight = _REDESIGN * whole.redesigns + _REACHED * len(audit.reaches.get(key, ()))
        if any(r.finding.effort is Effort.DAYS for r in rows):
            weight = max(weight, whole.high)
        rank = (
            LEVEL_ORDER[shown_level(first.finding, audit)],
            first.confidence is Confidence.POSSIBLE,
            -weight,
            -whole.high,
            VERDICT_ORDER[first.verdict],
            CONFIDENCE_ORDER[first.confidence],
            key,
        )
        ranked.append((rank, _group(key, rows, parts.values(), audit)))
    ranked.sort(key=lambda pair: pair[0])
    return [group for _, group in ranked], effort


def _group(
    key: str, rows: Sequence[_Judged], effort: Iterable[EffortRange], audit: AuditResult
) -> Group:
    first = rows[0]
    places = [r.finding for r in rows]
    rule = audit.rules.get(first.finding.rule)
    verdicts: dict[str, Counter[Verdict]] = defaultdict(
        Counter, {str(t): Counter() for t in audit.targets}
    )
    replacements: dict[str, str] = {}
    for finding in places:
        for target, judged in finding.by_target.items():
            verdicts[target][judged.verdict] += 1
            if judged.replacement:
                replacements.setdefault(target, judged.replacement)
    return Group(
        key=key,
        rule=first.finding.rule,
        # Several causes of one rule would all have its title.
        title=CHOSEN
        if key.startswith(tuple(f"{rule}/" for rule in QUESTIONS))
        else rule.title
        if rule and (key == first.finding.rule or key in audit.reaches)
        else first.finding.message,
        area=first.finding.area,
        places=places,
        level=first.level,
        verdict=first.verdict,
        confidence=first.confidence,
        verdicts={t: _worst_first(c) for t, c in verdicts.items() if c},
        replacements=replacements,
        effort=max((f.effort for f in places), key=EFFORT_ORDER.__getitem__),
        effort_range=sum(effort, EffortRange()),
        fix=next((f.fix for f in places if f.fix), None),
        files=len({f.location.path for f in places}),
        reach=audit.reaches.get(key, ()),
    )


def _effort_by_level(rows: Sequence[_Judged], one_cause: bool) -> dict[Level, EffortRange]:
    """See :data:`EFFORT_METHOD`. With one cause, its cost goes to its worst level."""
    sums: dict[Level, list[int]] = {}
    mended: set[str] = set()
    known: set[Effort] = set()
    """Efforts of which one place was mended before."""
    for row in rows:
        finding = row.finding
        once = "cause" if one_cause else finding.fix.codemod if finding.fix else ""
        redesign = finding.effort is Effort.REDESIGN
        if once and redesign:
            # Counted apart from the sum, so it must not stand for it, nor the sum for it.
            once += " redesign"
        first = not once or once not in mended
        mended.add(once)
        total = sums.setdefault(row.level, [0, 0, 0, 0])
        if redesign:
            # One cause is redesigned once, whatever the number of places that show it.
            total[2] += first
        else:
            low, high = EFFORT_MINUTES[finding.effort]
            written = finding.fix is not None and finding.fix.safety is FixSafety.SAFE
            total[0] += low if first else 0
            total[1] += low if finding.effort in known or written else high
            known.add(finding.effort)
        total[3] += 1
    return {level: EffortRange(*total) for level, total in sums.items()}


def _ratios(
    targets: Iterable[str], counted: Sequence[Finding], audit: AuditResult
) -> dict[str, Ratio]:
    tally: dict[str, Counter[str]] = defaultdict(Counter, {t: Counter() for t in targets})
    # What is accepted or kept on purpose does not work for that.
    apart = [*audit.references, *audit.suppressed, *audit.baselined]
    seen = [*counted, *(f for f in apart if f.context.role in audit.fail_roles)]
    for finding in seen:
        for target, judged in finding.by_target.items():
            word = str(judged.verdict) if judged.verdict.is_reference else "findings"
            tally[target][word] += 1
    return {t: Ratio(c["portable"], c["benign"], c["findings"]) for t, c in tally.items()}


def _worst_first(counter: Counter[Verdict]) -> dict[Verdict, int]:
    return {v: counter[v] for v in Verdict if counter[v]}


def _loudest_first(table: Mapping[str, Counter[Level]]) -> dict[str, dict[Level, int]]:
    def loudness(item: tuple[str, Counter[Level]]) -> tuple[Any, ...]:
        return (*(-item[1][lv] for lv in Level), item[0])

    return {
        key: {lv: counter[lv] for lv in Level if counter[lv]}
        for key, counter in sorted(table.items(), key=loudness)
    }


def plural(number: int, noun: str, many: str = "") -> str:
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def duration(minutes: int) -> str:
    """Minutes of working time for people; a day has eight hours."""
    if minutes < 60:
        return f"{minutes} min"
    if minutes <= 8 * 60:
        return f"{_short(minutes / 60)} h"
    days = _short(minutes / (8 * 60))
    return f"{days} day" if days == "1" else f"{days} days"


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0") if number < 10 else f"{number:,.0f}"


VERDICT_PHRASES: Mapping[Verdict, tuple[str, str]] = {
    Verdict.BREAKS: ("breaks", "break"),
    Verdict.FALLS_BACK: ("falls back to the CPU", "fall back to the CPU"),
    Verdict.DIVERGES: ("may compute something else", "may compute something else"),
    Verdict.RECOMPILES: ("recompiles", "recompile"),
    Verdict.SYNCS: ("waits for the host", "wait for the host"),
    Verdict.SLOW: ("is slow", "are slow"),
    Verdict.LOCKS_IN: ("ties the code to one vendor", "tie the code to one vendor"),
    Verdict.BENIGN: ("is harmless", "are harmless"),
    Verdict.PORTABLE: ("already works", "already work"),
}


def verdict_sentence(
    by_verdict: Mapping[Verdict, int], only_possible: Mapping[Verdict, int] | None = None
) -> str:
    """``12 places break, 5 fall back to the CPU (3 only possible)``; empty: nothing to say."""
    parts: list[str] = []
    for verdict, number in by_verdict.items():
        one, many = VERDICT_PHRASES[verdict]
        subject = f"{number:,}" if parts else plural(number, "place")
        unsure = (only_possible or {}).get(verdict, 0)
        said = (
            f" ({'' if unsure == number == 1 else f'{unsure:,} '}only possible)" if unsure else ""
        )
        parts.append(f"{subject} {one if number == 1 else many}{said}")
    return ", ".join(parts)


def looked_at_sentence(audit: AuditResult) -> str:
    """How much was looked at and how much was not; stands near every "nothing found"."""
    tree = audit.tree
    said = f"{plural(tree.looked_at, 'file')}, {plural(tree.lines, 'line')} looked at"
    missing = []
    if audit.not_looked_at:
        missing.append(f"{len(audit.not_looked_at):,} not looked at")
    if unread := summarize(audit).unread:
        missing.append(f"{unread:,} of kinds that are not read")
    return f"{said}; {', '.join(missing) or 'nothing left out'}"


def target_line(target: str, audit: AuditResult) -> str:
    """The verdict on one target in one sentence, without the target's name."""
    if audit.tree.looked_at == 0:
        return "nothing was looked at, so nothing is known"
    summary = summarize(audit)
    said = verdict_sentence(
        summary.by_target.get(target, {}), summary.only_possible.get(target, {})
    )
    if said:
        return said
    nothing = "nothing new found" if audit.baselined else "nothing found"
    return f"{nothing} in what was looked at"
