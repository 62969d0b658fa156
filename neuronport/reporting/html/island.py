"""The findings for the page's script: columns of numbers into tables of texts.

Fifty thousand findings repeat a few thousand texts. Each stands once; a finding is a row of small
numbers. Everything that people read is made visible here (terminal and bidirectional controls show as
escapes), and the JSON holds no character with which HTML could end the element it stands in.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from neuronport.findings import Finding, Role, TargetVerdict
from neuronport.reporting.escape import terminal, visible
from neuronport.reporting.html.frames import frames
from neuronport.reporting.joined.model import Report
from neuronport.reporting.joined.waves import POSSIBLE, WAVES, WRITTEN, wave_of
from neuronport.reporting.summary import summarize

ROOM = 8_500_000
"""Bytes of findings and lines of source; the rest of ten million is for the page around them."""
_SNIPPET = 200


class Table:
    """Texts by the number they got when first seen."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._known: dict[Hashable, int] = {}

    def add(self, key: Hashable, row: Any = None) -> int:
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(self.rows)
            self.rows.append(key if row is None else row)
        return number


class Texts(Table):
    """A table of texts that people read."""

    def text(self, text: str) -> int:
        number = self._known.get(text)
        return self.add(text, visible(text)) if number is None else number


COLUMNS = (
    "path", "line", "column", "end", "rule", "group", "message", "why", "snippet", "scope",
    "guard", "role", "hot", "effort", "judged", "related", "change", "fix", "print", "wave",
)  # fmt: skip


def island(report: Report) -> dict[str, Any]:
    """What the script reads; see ``templates/report/page.js`` for the other end."""
    audit = report.audit
    if audit is None:
        return {"findings": 0}
    summary = summarize(audit)
    written = frozenset(p for p, row in report.proposals.items() if row.safety == "safe")
    wave_numbers = {w.key: i for i, w in enumerate((WRITTEN, *WAVES, POSSIBLE))}
    waves = {g.key: wave_numbers[wave_of(g, written).key] for g in summary.groups}
    texts, paths, rules, groups = Texts(), Texts(), Table(), Table()
    judged, evidence, related, changes = Table(), Table(), Table(), Table()
    for group in summary.groups:
        groups.add(group.key, [visible(group.key), visible(group.title)])
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    verdicts_seen: dict[int, int] = {}

    for finding in summary.ranked:
        at = finding.location
        key = finding.group or finding.rule
        rule = audit.rules.get(finding.rule)
        verdicts = id(finding.by_target)
        if verdicts not in verdicts_seen:
            verdicts_seen[verdicts] = judged.add(
                json.dumps({t: v.as_json() for t, v in finding.by_target.items()}, sort_keys=True),
                _judged(finding.by_target, evidence),
            )
        proposal = report.proposals.get(finding.fingerprint)
        row = (
            paths.text(at.path),
            at.line,
            at.column,
            at.end_column if at.end_line == at.line else 0,
            rules.add(
                finding.rule,
                [
                    visible(finding.rule),
                    visible(rule.title if rule else finding.message),
                    visible(finding.area),
                ],
            ),
            groups.add(key, [visible(key), visible(rule.title if rule else finding.message)]),
            texts.text(finding.message),
            texts.text(finding.why),
            texts.text(_short(finding.snippet)),
            texts.text(finding.context.scope),
            texts.text(finding.context.guarded_by),
            list(Role).index(finding.context.role),
            int(finding.context.hot),
            EFFORTS.index(str(finding.effort)),
            verdicts_seen[verdicts],
            _related(finding, paths, texts, related),
            -1
            if proposal is None
            else changes.add(
                (proposal.path, proposal.line, proposal.codemod, proposal.title, proposal.hunk),
                {
                    "codemod": visible(proposal.codemod),
                    "safety": proposal.safety,
                    "title": visible(proposal.title),
                    "note": visible(proposal.note),
                    "hunk": visible(proposal.hunk),
                },
            ),
            -1
            if finding.fix is None
            else texts.text(f"{finding.fix.title} [{finding.fix.safety}]"),
            finding.fingerprint,
            waves.get(key, -1) if finding.context.role in audit.fail_roles else -1,
        )
        for name, value in zip(COLUMNS, row, strict=True):
            columns[name].append(value)
    packed: dict[str, Any] = {
        "findings": len(summary.ranked),
        "targets": [str(t) for t in audit.targets],
        "roles": [str(r) for r in Role],
        "counted": sorted(list(Role).index(r) for r in audit.fail_roles),
        "efforts": list(EFFORTS),
        "waves": [w.title for w in (WRITTEN, *WAVES, POSSIBLE)],
        "texts": texts.rows,
        "paths": paths.rows,
        "rules": rules.rows,
        "groups": groups.rows,
        "judged": judged.rows,
        "evidence": evidence.rows,
        "related": related.rows,
        "changes": changes.rows,
        "columns": columns,
    }
    return _with_frames(packed, summary.ranked, report.audit_root, paths)


EFFORTS = ("minutes", "hours", "days", "redesign")


def _with_frames(
    packed: dict[str, Any], findings: Sequence[Finding], root: str, paths: Texts
) -> dict[str, Any]:
    room = ROOM - len(encode(packed))
    found = frames(findings, root, min(room, 4_000_000))
    packed["frames"] = {
        str(paths.text(path)): _runs(lines) for path, lines in sorted(found.lines.items())
    }
    packed["without_frame"] = found.without
    return packed


def _runs(lines: Mapping[int, str]) -> list[list[Any]]:
    """``[first line, text, text …]`` for each stretch of lines."""
    runs: list[list[Any]] = []
    for number in sorted(lines):
        if runs and runs[-1][0] + len(runs[-1]) - 1 == number:
            runs[-1].append(lines[number])
        else:
            runs.append([number, lines[number]])
    return runs


def _judged(by_target: Mapping[str, TargetVerdict], evidence: Table) -> dict[str, Any]:
    return {
        target: {
            "verdict": str(v.verdict),
            "confidence": str(v.confidence),
            "instead": visible(v.replacement),
            "stages": {s: {k: str(w) for k, w in row.items()} for s, row in v.stages.items()},
            "evidence": [
                evidence.add(
                    e,
                    [
                        str(e.kind),
                        visible(e.source),
                        visible(e.says),
                        visible(e.path),
                        visible(e.sdk),
                    ],
                )
                for e in v.evidence
            ],
        }
        for target, v in by_target.items()
    }


def _related(finding: Finding, paths: Texts, texts: Texts, related: Table) -> int:
    if not finding.related:
        return -1
    steps = tuple((paths.text(r.path), r.line, texts.text(r.says)) for r in finding.related)
    return related.add(steps, [list(step) for step in steps])


def _short(snippet: str) -> str:
    text = terminal(snippet[: _SNIPPET + 1].strip())
    return text if len(text) <= _SNIPPET else text[: _SNIPPET - 1] + "…"


_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def encode(value: Any) -> str:
    """JSON that is harmless inside a script element: no ``<``, ``>`` or ``&``, ASCII control only
    as escapes, no lone surrogate."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES).encode("utf-8", "backslashreplace").decode("utf-8")
