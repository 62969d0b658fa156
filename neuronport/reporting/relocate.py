"""An audit as its readers see it: paths from the repository's root, or from the working folder."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace

from neuronport.findings import Finding
from neuronport.reporting.result import AuditResult
from neuronport.workspace.files import printable
from neuronport.workspace.ignoring import repository_root

FORMATS = frozenset(["github", "gitlab", "sarif"])
"""Read where the whole repository is, whatever part of it was audited."""

FOR_PEOPLE = frozenset(["text", "full"])
"""Read in a shell: its paths are clicked on and pasted into the next command."""


def prefix(root: str) -> str:
    """What stands before the paths of findings below ``root``, with ``/`` at the end; empty:
    nothing, the root is the repository's or in none."""
    repository = repository_root(root)
    if repository is None:
        return ""
    below = os.path.relpath(root, repository).replace(os.sep, "/")
    return "" if below == "." else f"{printable(below)}/"


def from_here(root: str, absolute: bool) -> str:
    """What stands before the paths of findings below ``root`` in the working folder; ``absolute``:
    in any folder."""
    shown = root
    if not absolute:
        try:
            shown = os.path.relpath(root)
        except (OSError, ValueError):  # the working folder is gone; another drive
            shown = root
    if shown == ".":
        return ""
    return printable(shown).rstrip("/") + "/"


def below(audit: AuditResult, before: str, keep: Collection[str] = ()) -> AuditResult:
    """The same audit with ``before`` in front of every path but those to ``keep``."""
    if not before:
        return audit

    def moved(path: str) -> str:
        return before + path if path and path not in keep else path

    def all_moved(findings: Sequence[Finding]) -> list[Finding]:
        return [
            replace(
                finding,
                location=replace(finding.location, path=moved(finding.location.path)),
                related=tuple(r._replace(path=moved(r.path)) for r in finding.related),
            )
            for finding in findings
        ]

    return replace(
        audit,
        findings=all_moved(audit.findings),
        references=all_moved(audit.references),
        suppressed=all_moved(audit.suppressed),
        baselined=all_moved(audit.baselined),
        reaches={
            key: [r._replace(path=moved(r.path)) for r in steps]
            for key, steps in audit.reaches.items()
        },
        unused_suppressions=[replace(u, path=moved(u.path)) for u in audit.unused_suppressions],
        not_looked_at=[replace(n, path=moved(n.path)) for n in audit.not_looked_at],
    )
