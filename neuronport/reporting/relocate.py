"""An audit as a server of the repository sees it: paths from the repository's root."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from neuronport.findings import Finding
from neuronport.reporting.result import AuditResult
from neuronport.workspace.ignoring import repository_root

FORMATS = frozenset(["github", "gitlab", "sarif"])
"""Read where the whole repository is, whatever part of it was audited."""


def prefix(root: str) -> str:
    """What stands before the paths of findings below ``root``, with ``/`` at the end; empty:
    nothing, the root is the repository's or in none."""
    repository = repository_root(root)
    if repository is None:
        return ""
    below = os.path.relpath(root, repository).replace(os.sep, "/")
    return "" if below == "." else f"{below}/"


def below(audit: AuditResult, before: str) -> AuditResult:
    """The same audit with ``before`` in front of every path."""
    if not before:
        return audit
    return replace(
        audit,
        findings=_moved(audit.findings, before),
        references=_moved(audit.references, before),
        suppressed=_moved(audit.suppressed, before),
        baselined=_moved(audit.baselined, before),
        unused_suppressions=[replace(u, path=before + u.path) for u in audit.unused_suppressions],
        not_looked_at=[
            replace(n, path=before + n.path) if n.path else n for n in audit.not_looked_at
        ],
    )


def _moved(findings: Sequence[Finding], before: str) -> list[Finding]:
    return [
        replace(
            finding,
            location=replace(finding.location, path=before + finding.location.path)
            if finding.location.path
            else finding.location,
            related=tuple(replace(r, path=before + r.path) for r in finding.related),
        )
        for finding in findings
    ]
