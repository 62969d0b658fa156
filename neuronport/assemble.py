"""From what an audit found to what is reported: baseline, knowledge, exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from neuronport import __version__, baseline, causes
from neuronport.audit import Part
from neuronport.findings import (
    CONFIDENCE_ORDER,
    LEVEL_ORDER,
    Confidence,
    Finding,
    Level,
    NotLookedAt,
    Role,
)
from neuronport.reporting.result import AuditResult, Knowledge, RuleInfo, Tree, UnusedSuppression
from neuronport.rulebook.judge import Selection
from neuronport.rulebook.model import Rulebook, Spec
from neuronport.rulebook.suppress import problem
from neuronport.targets import Target, paths
from neuronport.workspace import READ_KINDS, Workspace

_HINTS = 20
"""For so many comments with an unknown rule a likely one is looked for, which takes time."""

_FAILED = frozenset(("too-large", "unreadable", "vanished"))
"""Why a walk does not look at something that nobody asked to leave out."""

EXIT_CLEAN, EXIT_FINDINGS, EXIT_USAGE, EXIT_NOT_LOOKED_AT = 0, 1, 2, 3


def assemble(
    *,
    part: Part,
    workspace: Workspace,
    shown_root: str,
    targets: Sequence[Target],
    book: Rulebook,
    selection: Selection,
    known: dict[str, str],
    fail_on: Level,
    fail_roles: frozenset[Role],
    command: Sequence[str],
    audit_options: Sequence[str] = (),
    named: frozenset[str] = frozenset(),
) -> AuditResult:
    """The result of an audit, ready for the reporters; ``named``: files the user asked for."""
    grouped, reached = causes.group(part.findings, part.reaches)
    findings = [f for f in grouped if selection.wants(f)]
    references = [f for f in part.references if selection.wants(f)]
    suppressed = [f for f in part.suppressed if selection.wants(f)]
    findings, baselined = baseline.split(findings, known)
    missed = sorted(
        [*workspace.not_looked_at, *part.not_looked_at],
        key=lambda n: (n.path, n.line or 0, n.reason),
    )
    skipped = {n.path for n in part.not_looked_at}
    failed = [*part.not_looked_at, *(n for n in workspace.not_looked_at if n.reason in _FAILED)]
    looked_at = [f for f in workspace.files if f.kind in READ_KINDS and f.path not in skipped]
    unread = Counter(f.kind for f in workspace.files if f.kind not in READ_KINDS)
    return AuditResult(
        tool_version=__version__,
        rules_version=book.digest,
        tree=Tree(
            shown_root,
            len(workspace.files),
            len(looked_at),
            part.lines,
            dict(sorted(Counter(f.kind for f in looked_at).items())),
            len(workspace.files) - len(looked_at) - len(skipped),
            dict(sorted(unread.items())),
        ),
        targets=tuple(targets),
        findings=findings,
        references=references,
        suppressed=suppressed,
        baselined=baselined,
        unused_suppressions=[
            UnusedSuppression(path, line, text, problem(text, book, hint=i < _HINTS))
            for i, (path, line, text) in enumerate(part.unused)
        ],
        not_looked_at=missed,
        rules={
            rule: rule_info(spec)
            for rule in sorted({f.rule for f in (*findings, *references, *suppressed, *baselined)})
            if (spec := book.get(rule)) is not None
        },
        reaches=reached,
        knowledge=knowledge(book, targets),
        fail_on=fail_on,
        fail_roles=fail_roles,
        exit_code=EXIT_NOT_LOOKED_AT
        if skipped & named
        else exit_code(findings, fail_on, fail_roles, looked_at, failed),
        command=tuple(command),
        audit_options=tuple(audit_options),
    )


def exit_code(
    findings: Sequence[Finding],
    fail_on: Level,
    roles: frozenset[Role],
    looked_at: Sequence[object],
    missed: Sequence[NotLookedAt],
) -> int:
    """0 nothing at or above the level, 1 something, 3 nothing could be looked at."""
    if missed and not looked_at:
        return EXIT_NOT_LOOKED_AT
    if fail_on is Level.NONE:
        return EXIT_CLEAN
    for finding in findings:
        if (
            finding.context.role in roles
            and LEVEL_ORDER[finding.level] <= LEVEL_ORDER[fail_on]
            and CONFIDENCE_ORDER[finding.confidence] <= CONFIDENCE_ORDER[Confidence.LIKELY]
        ):
            return EXIT_FINDINGS
    return EXIT_CLEAN


def rule_info(spec: Spec) -> RuleInfo:
    """What the reporters want to know of a rule or a row."""
    return RuleInfo(
        id=spec.id,
        title=spec.title,
        area=spec.area,
        why=spec.why or spec.title,
        effort=spec.effort,
        verdict={path: windows[0].verdict for path, windows in spec.verdicts.items() if windows},
        evidence=spec.evidence,
    )


def knowledge(book: Rulebook, targets: Sequence[Target]) -> list[Knowledge]:
    """How old what is known about each path is: the newest SDK any evidence was taken from."""
    return [
        Knowledge(path, paths()[path].sdks[-1], book.newest.get(path, ""))
        for path in dict.fromkeys(t.path for t in targets)
    ]
