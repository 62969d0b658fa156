"""Every finding with its source, verdicts, evidence, how the value came there, and its fix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neuronport.findings import Evidence, EvidenceKind, Finding, TargetVerdict
from neuronport.reporting import escape
from neuronport.reporting.result import AuditResult, RenderOptions, SourceReader
from neuronport.reporting.screen import (
    ROLE_NAMES,
    Painter,
    closing,
    first_paragraph,
    head,
    not_looked_at,
    place,
    width_of,
    wrap,
)
from neuronport.reporting.summary import by_place, plural, summarize

NAME = "full"
DESCRIPTION = "every finding for people, with source, evidence and fix"

_KIND_ORDER = {kind: i for i, kind in enumerate(EvidenceKind)}
_MAX_LINES = 6


class _Source:
    """Reads each file once while findings come in the order of places."""

    def __init__(self, read: SourceReader | None) -> None:
        self._read = read
        self._path: str | None = None
        self._lines: Sequence[str] | None = None

    def lines(self, path: str) -> Sequence[str] | None:
        if self._read is None:
            return None
        if path != self._path:
            self._path, self._lines = path, self._read(path)
        return self._lines


def render(audit: AuditResult, options: RenderOptions) -> Iterator[str]:
    paint = Painter(options.color)
    summary = summarize(audit)
    source = _Source(options.source)
    explained: set[str] = set()
    yield from head(audit, options, paint)
    for finding in summary.counted:
        yield from _finding(finding, audit, options, paint, source, explained)
    if summary.apart:
        yield f"\n{paint('Tests, examples and vendored code: not counted', 'bold')}\n"
        for finding in summary.apart:
            yield from _finding(finding, audit, options, paint, source, explained)
    silenced = [
        *(("comment", f) for f in by_place(audit.suppressed)),
        *(("baseline", f) for f in by_place(audit.baselined)),
    ]
    if silenced:
        yield f"\n{paint('Suppressed', 'bold')}\n"
        for how, finding in silenced:
            reason = escape.terminal(finding.suppressed or "no reason given")
            at = place(finding.location.path, finding.location.line)
            yield f"  {at}  {escape.terminal(finding.rule)}  {how}: {reason}\n"
    if audit.unused_suppressions:
        yield f"\n{paint('Suppressions that suppress nothing', 'bold')}\n"
        for unused in audit.unused_suppressions:
            why = f": {escape.terminal(unused.why)}" if unused.why else ""
            yield f"  {place(unused.path, unused.line)}  {escape.terminal(unused.text)}{why}\n"
    yield from not_looked_at(audit, options, paint)
    yield from closing(audit, options, paint, in_short=False)


def _finding(
    finding: Finding,
    audit: AuditResult,
    options: RenderOptions,
    paint: Painter,
    source: _Source,
    explained: set[str],
) -> Iterator[str]:
    location, context = finding.location, finding.context
    level = str(finding.level)
    at = place(location.path, location.line, location.column)
    said = f"{finding.verdict}, {finding.confidence}"
    yield (
        f"\n{paint(at, 'bold')}  {paint(level, level)}  {said}  [{escape.terminal(finding.rule)}]\n"
    )
    message = escape.terminal(" ".join(finding.message.split()))
    yield from _rows(wrap(message, options.columns, "  ", "  "))
    where = []
    if context.scope:
        where.append(f"in {context.scope}")
    if context.hot:
        where.append("runs every step")
    if context.guarded_by:
        where.append(f"only if {context.guarded_by}")
    if context.role not in audit.fail_roles:
        where.append(ROLE_NAMES[context.role])
    if finding.node:
        where.append(f"graph node {finding.node}")
    if where:
        yield from _rows(wrap(escape.terminal(", ".join(where)), options.columns, "  ", "  "))
    yield from _frame(finding, source.lines(location.path), options.columns, paint)
    for target, judged in finding.by_target.items():
        yield from _verdict(target, judged, options.columns, paint)
    for step in finding.related:
        yield from _rows(
            wrap(
                f"from {place(step.path, step.line)}: {escape.terminal(step.says)}",
                options.columns,
                "  ",
                "      ",
            )
        )
    if finding.fix:
        fix = finding.fix
        yield from _rows(
            wrap(
                escape.terminal(f"fix ({fix.safety}, {fix.codemod}): {fix.title}"),
                options.columns,
                "  ",
                "      ",
            )
        )
    reach = audit.reaches.get(finding.group, ())
    if reach and finding.group.startswith(f"{finding.rule}/"):
        shown = ", ".join(f"{place(r.path, r.line)} ({escape.terminal(r.says)})" for r in reach)
        files = plural(len({r.path for r in reach}), "file")
        said = f"this choice reaches {plural(len(reach), 'place')} in {files}: {shown}"
        yield from _rows(wrap(said, options.columns, "  ", "      "))
    yield f"  effort: {finding.effort}\n"
    # Once per rule: repeated a thousand times it would bury the findings.
    if finding.rule not in explained:
        explained.add(finding.rule)
        rule = audit.rules.get(finding.rule)
        why = first_paragraph(rule.why if rule else finding.why)
        if why and why not in message:
            yield from _rows(wrap(escape.terminal(f"why: {why}"), options.columns, "  ", "      "))


def _rows(lines: Sequence[str]) -> Iterator[str]:
    return (f"{line}\n" for line in lines)


def _verdict(target: str, judged: TargetVerdict, columns: int, paint: Painter) -> Iterator[str]:
    words = f"{judged.verdict}, {judged.confidence}"
    stages = "; ".join(
        f"{stage} {step} {verdict}"
        for stage, steps in judged.stages.items()
        for step, verdict in steps.items()
    )
    said = f"{target}: {words}" + (f" ({stages})" if stages else "")
    yield from _rows(
        [paint(x, str(judged.verdict.level)) for x in wrap(said, columns, "  ", "      ")]
    )
    if judged.replacement:
        instead = " ".join(judged.replacement.split())
        yield from _rows(
            wrap(escape.terminal(f"instead: {instead}"), columns, "      ", "        ")
        )
    for evidence in sorted(judged.evidence, key=_evidence_rank):
        sdk = f", SDK {evidence.sdk}" if evidence.sdk else ""
        row = f"{evidence.kind}{sdk}: {evidence.says} ({evidence.source})"
        yield from _rows(wrap(escape.terminal(row), columns, "      ", "        "))


def _evidence_rank(evidence: Evidence) -> tuple[list[int], int]:
    """Newest first, then strongest; what is tied to no SDK comes last."""
    parts = [int(p) for p in evidence.sdk.split(".") if p.isdigit()]
    return [-p for p in parts] or [1], _KIND_ORDER[evidence.kind]


def _frame(
    finding: Finding, lines: Sequence[str] | None, columns: int, paint: Painter
) -> Iterator[str]:
    """The lines of the finding with one before and one after, the span marked."""
    at = finding.location
    if at.line < 1:
        return
    last = max(at.line, at.end_line)
    if lines is None or at.line > len(lines):
        # The file is gone or has changed: show what was seen then.
        numbers, text = [at.line], {at.line: finding.snippet}
    else:
        last = min(last, len(lines), at.line + _MAX_LINES - 1)
        numbers = list(range(max(1, at.line - 1), min(len(lines), last + 1) + 1))
        text = {n: lines[n - 1] for n in numbers}
    margin = len(str(numbers[-1]))
    room = columns - margin - 5
    start = at.column if at.column >= 1 else 1
    for number in numbers:
        line = text[number].rstrip("\r\n")
        marked = number == at.line
        end = at.end_column if at.end_line == at.line else len(line) + 1
        shown, offset, length = _window(line, start, end, room) if marked else _start(line, room)
        bar = paint("|", "dim")
        yield f"  {number:>{margin}} {bar} {shown}".rstrip() + "\n"
        if marked and at.column >= 1:
            marks = paint("^" * max(1, length), str(finding.level))
            yield f"  {' ' * margin} {bar} {' ' * offset}{marks}\n"


def _start(line: str, room: int) -> tuple[str, int, int]:
    return _window(line, 1, 1, room)


def _window(line: str, start: int, end: int, room: int) -> tuple[str, int, int]:
    """The part of a line that fits, where its span begins in it and how wide it is shown."""
    first = 0 if start <= room // 2 else start - 1 - room // 4
    part = line[first : first + room]
    after = "…" if first + room < len(line) else ""
    shown = ("…" if first else "") + escape.terminal(part) + after
    before = line[first : start - 1]
    offset = width_of(escape.terminal(before)) + bool(first)
    length = width_of(escape.terminal(line[max(first, start - 1) : min(end - 1, first + room)]))
    while width_of(shown) > room:
        shown = shown[: -max(1, (width_of(shown) - room) // 2) - 1] + "…"
    return shown, offset, max(0, min(length, room - offset))
