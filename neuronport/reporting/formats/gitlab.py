"""GitLab Code Quality: a JSON array of issues, shown in merge requests.

The format has no place for notes on the run, so what could not be looked at is listed as issues
of severity ``info``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from neuronport.findings import Finding, Level, NotLookedAt, Verdict
from neuronport.reporting.escape import visible
from neuronport.reporting.formats.json_ import encode
from neuronport.reporting.result import AuditResult, RenderOptions
from neuronport.reporting.summary import shown_level, summarize

NAME = "gitlab"
DESCRIPTION = "GitLab Code Quality report"


def render(audit: AuditResult, options: RenderOptions) -> Iterator[str]:
    taken: set[str] = set()
    separator = "[\n"
    summary = summarize(audit)
    for finding in (*summary.counted, *summary.apart):
        yield separator + encode(_issue(finding, audit, taken))
        separator = ",\n"
    for item in audit.not_looked_at:
        yield separator + encode(_missing(item, taken))
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def _severity(finding: Finding, audit: AuditResult) -> str:
    if finding.context.role not in audit.fail_roles:
        return "info"
    level = shown_level(finding, audit)
    if level is Level.ERROR:
        return "blocker" if finding.verdict is Verdict.BREAKS else "critical"
    return "major" if level is Level.WARNING else "minor"


def _issue(finding: Finding, audit: AuditResult, taken: set[str]) -> dict[str, Any]:
    at = finding.location
    verdicts = ", ".join(f"{t}: {v.verdict}" for t, v in finding.by_target.items())
    message = " ".join(finding.message.split())
    return {
        "description": visible(f"{message} ({verdicts}; {finding.confidence})"),
        "check_name": finding.rule,
        "fingerprint": _unique(
            finding.fingerprint or f"{finding.rule}\0{at.path}\0{at.line}\0{at.column}", taken
        ),
        "severity": _severity(finding, audit),
        "categories": ["Compatibility"],
        "location": {
            "path": at.path,
            "lines": {"begin": max(1, at.line), "end": max(1, at.line, at.end_line)},
        },
    }


def _missing(item: NotLookedAt, taken: set[str]) -> dict[str, Any]:
    detail = f": {' '.join(item.detail.split())}" if item.detail else ""
    line = item.line or 1
    return {
        "description": visible(f"Not looked at: {item.reason}{detail}"),
        "check_name": f"not-looked-at/{item.reason}",
        "fingerprint": _unique(f"not-looked-at\0{item.reason}\0{item.path}\0{line}", taken),
        "severity": "info",
        "categories": ["Compatibility"],
        "location": {"path": item.path, "lines": {"begin": line, "end": line}},
    }


def _unique(identity: str, taken: set[str]) -> str:
    """GitLab shows only one of several issues with one fingerprint."""
    number = 0
    while True:
        text = f"{identity}\0{number}" if number else identity
        fingerprint = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        if fingerprint not in taken:
            taken.add(fingerprint)
            return fingerprint
        number += 1
