"""GitHub Actions annotations: workflow commands on standard output.

A step shows ten errors, ten warnings and ten notices and drops the rest, so the most important
ones are chosen: the worst place of each cause, then the second worst, and so on. What is left out
is counted in the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from neuronport.findings import Finding, Level
from neuronport.reporting.escape import workflow_data, workflow_line, workflow_property
from neuronport.reporting.result import AuditResult, RenderOptions
from neuronport.reporting.screen import result_sentence
from neuronport.reporting.summary import (
    looked_at_sentence,
    plural,
    shown_level,
    summarize,
    target_line,
)

NAME = "github"
DESCRIPTION = "GitHub Actions annotations, the ten most important of each level"

PER_STEP = 10
_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}


def render(audit: AuditResult, options: RenderOptions) -> Iterator[str]:
    left = dict.fromkeys(_COMMANDS, PER_STEP)
    dropped = 0
    for finding in _spread(audit):
        level = shown_level(finding, audit)
        if left.get(level, 0) == 0:
            dropped += 1
            continue
        left[level] -= 1
        yield _annotation(finding, level, audit)
    for target in audit.targets:
        yield workflow_line(f"{target}: {target_line(str(target), audit)}") + "\n"
    if dropped:
        said = f"{plural(dropped, 'more finding')} without annotation: a step shows {PER_STEP} "
        yield workflow_line(f"{said}of each level; --format sarif or full has them all") + "\n"
    yield workflow_line(looked_at_sentence(audit)) + "\n"
    for reason, number in summarize(audit).not_looked_at.items():
        yield workflow_line(f"not looked at: {number:,} {reason}") + "\n"
    yield workflow_line(result_sentence(audit, summarize(audit))) + "\n"


def _spread(audit: AuditResult) -> Iterator[Finding]:
    summary = summarize(audit)
    for row in zip_longest(*(g.places for g in summary.groups)):
        yield from (f for f in row if f is not None)
    yield from summary.apart


def _annotation(finding: Finding, level: Level, audit: AuditResult) -> str:
    at = finding.location
    rule = audit.rules.get(finding.rule)
    properties = {}
    if at.path:
        properties["file"] = at.path
        if at.line >= 1:
            properties["line"] = str(at.line)
            # GitHub takes columns only within one line.
            if at.end_line <= at.line:
                if at.column >= 1:
                    properties["col"] = str(at.column)
            else:
                properties["endLine"] = str(at.end_line)
    properties["title"] = f"{rule.title if rule else finding.rule} [{finding.rule}]"
    verdicts = "\n".join(
        f"{t}: {v.verdict}" + (f"; instead: {v.replacement}" if v.replacement else "")
        for t, v in finding.by_target.items()
    )
    message = f"{finding.message}\n{verdicts}"
    joined = ",".join(f"{k}={workflow_property(v)}" for k, v in properties.items())
    return f"::{_COMMANDS[level]} {joined}::{workflow_data(message)}\n"
