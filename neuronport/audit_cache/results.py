"""Findings as plain data and back. What many findings share (rule, verdicts, evidence) is apart and
kept once."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from neuronport.findings import (
    Confidence,
    Context,
    Effort,
    Evidence,
    EvidenceKind,
    Finding,
    Fix,
    FixSafety,
    Location,
    Related,
    Role,
    TargetVerdict,
    Verdict,
)
from neuronport.source.changed import Moved

SharedPart = tuple[str, str, str, Effort, Fix | None, dict[str, TargetVerdict]]


def freeze_shared(finding: Finding) -> bytes:
    """What a finding has in common with others of its rule."""
    fix = finding.fix
    return marshal.dumps(
        (
            finding.rule,
            finding.area,
            finding.why,
            str(finding.effort),
            None if fix is None else (fix.codemod, str(fix.safety), fix.title),
            [(target, _verdict(v)) for target, v in finding.by_target.items()],
        ),
        2,
    )


def _verdict(verdict: TargetVerdict) -> tuple[Any, ...]:
    return (
        str(verdict.verdict),
        str(verdict.confidence),
        [(str(e.kind), e.source, e.says, e.path, e.sdk) for e in verdict.evidence],
        verdict.replacement,
        [(s, [(k, str(v)) for k, v in words.items()]) for s, words in verdict.stages.items()],
    )


def thaw_shared(data: bytes) -> SharedPart:
    rule, area, why, effort, fix, by_target = marshal.loads(data)
    return (
        rule,
        area,
        why,
        Effort(effort),
        None if fix is None else Fix(fix[0], FixSafety(fix[1]), fix[2]),
        {target: _thaw_verdict(*v) for target, v in by_target},
    )


def _thaw_verdict(
    verdict: str, confidence: str, evidence: Any, replacement: str, stages: Any
) -> TargetVerdict:
    return TargetVerdict(
        Verdict(verdict),
        Confidence(confidence),
        tuple(Evidence(EvidenceKind(kind), *rest) for kind, *rest in evidence),
        replacement,
        {s: {k: Verdict(v) for k, v in words} for s, words in stages},
    )


def freeze(
    findings: Sequence[Finding], share: Callable[[Finding], bytes]
) -> list[tuple[bytes, tuple[Any, ...]]]:
    """Findings of one file; ``share`` keeps the shared part and gives its key."""
    return [
        (
            share(f),
            (
                (
                    f.location.line,
                    f.location.column,
                    f.location.end_line,
                    f.location.end_column,
                ),
                f.message,
                (f.context.scope, f.context.hot, f.context.guarded_by),
                f.group,
                [(r.path, r.line, r.says) for r in f.related],
                f.fingerprint,
                f.suppressed,
                f.snippet,
                f.node,
            ),
        )
        for f in findings
    ]


def thaw(
    rows: Sequence[tuple[bytes, tuple[Any, ...]]],
    path: str,
    role: Role,
    shared: Callable[[bytes], SharedPart],
) -> list[Finding]:
    """The findings of one file as they were."""
    result = []
    for key, (place, message, context, group, related, mark, suppressed, snippet, node) in rows:
        rule, area, why, effort, fix, by_target = shared(key)
        scope, hot, guarded_by = context
        result.append(
            Finding(
                rule,
                area,
                Location(path, *place),
                message,
                why,
                effort,
                by_target,
                Context(scope, hot, guarded_by, role),
                group,
                tuple(Related(*r) for r in related),
                fix,
                mark,
                suppressed,
                snippet,
                node,
            )
        )
    return result


def moved(finding: Finding, lines: Moved) -> Finding:
    """With the lines that other modules have now. Raises Untraceable."""
    steps = tuple(r._replace(line=lines.line(r.path, r.line)) for r in finding.related)
    if steps == finding.related:
        return finding
    places = {r.place: now.place for r, now in zip(finding.related, steps, strict=True)}
    asked = finding.context.guarded_by
    context = replace(finding.context, guarded_by=places.get(asked, asked))
    return replace(finding, related=steps, context=context)
