"""The lines of source around findings, each line once however many findings are near it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from neuronport.findings import Finding
from neuronport.reporting.escape import terminal
from neuronport.workspace import Undecodable, WorkspaceError, decode_text, split_lines

AROUND = 3
_LINE = 240
"""Longer lines are cut, and the cut is shown."""
_FILE = 4_000_000
"""Larger files are not read again for a few lines of context."""


@dataclass(frozen=True, slots=True)
class Frames:
    lines: Mapping[str, Mapping[int, str]]
    """Path → line number → text."""
    without: int
    """Findings whose line no longer stands where the audit saw it, or that had no room left."""


def frames(findings: Iterable[Finding], root: str, budget: int) -> Frames:
    """The lines around ``findings``, most important first, in at most ``budget`` bytes of text.

    A file is only quoted where the finding's own line still stands in it.
    """
    found: dict[str, dict[int, str]] = {}
    files: dict[str, list[str] | None] = {}
    without = 0
    for finding in findings:
        at = finding.location
        if at.path not in files:
            files[at.path] = _lines(root, at.path) if root else None
        lines = files[at.path]
        if lines is None or not _stands(finding, lines) or budget <= 0:
            without += 1
            continue
        kept = found.setdefault(at.path, {})
        last = min(max(at.end_line, at.line), at.line + 2 * AROUND)
        for number in range(max(1, at.line - AROUND), min(len(lines), last + AROUND) + 1):
            if number not in kept:
                kept[number] = _cut(lines[number - 1])
                budget -= len(kept[number]) + 10
    return Frames(found, without)


def _stands(finding: Finding, lines: list[str]) -> bool:
    line = finding.location.line
    if not 1 <= line <= len(lines) or not finding.snippet.strip():
        return False
    return lines[line - 1].strip().startswith(finding.snippet.strip()[:200])


def _cut(line: str) -> str:
    text = line.rstrip("\r\n")
    shown = terminal(text[: _LINE + 1])
    return shown if len(shown) <= _LINE else shown[: _LINE - 1] + "…"


def _lines(root: str, path: str) -> list[str] | None:
    """The lines of a file below ``root``; a name that leads out of it is not followed."""
    try:
        base = Path(root).resolve()
        file = Path(os.path.join(base, *path.split("/"))).resolve()
        if not file.is_relative_to(base) or not file.is_file() or file.stat().st_size > _FILE:
            return None
        return split_lines(decode_text(file.read_bytes()).text)
    except (OSError, ValueError, WorkspaceError, Undecodable):
        return None
