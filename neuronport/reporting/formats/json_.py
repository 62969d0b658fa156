"""Everything an audit found, for programs; described by ``schemas/audit.json``.

One finding a line, so that large reports can be read and compared line by line. No time, no
machine: the same audit gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from neuronport.findings import Finding
from neuronport.reporting.escape import json_text
from neuronport.reporting.result import AuditResult, RenderOptions, RuleInfo
from neuronport.reporting.summary import (
    EFFORT_METHOD,
    Group,
    Summary,
    by_place,
    counts,
    summarize,
)

NAME = "json"
DESCRIPTION = "everything, for programs; schema schemas/audit.json"

SCHEMA = "neuronport/audit/1"
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def render(audit: AuditResult, options: RenderOptions) -> Iterator[str]:
    summary = summarize(audit)
    yield "{\n"
    yield f'"schema": {encode(SCHEMA)},\n'
    yield f'"tool": {encode(_tool(audit))},\n'
    yield f'"tree": {encode(_tree(audit))},\n'
    yield f'"targets": {encode(_targets(audit))},\n'
    yield f'"summary": {encode(_summary(audit, summary))},\n'
    yield '"groups": '
    yield from _list(_group(g) for g in summary.groups)
    yield ',\n"findings": '
    verdicts = _Verdicts()
    yield from _lines(
        _finding(f, "fails", counts(f, audit), verdicts) for f in by_place(audit.findings)
    )
    yield ',\n"references": '
    yield from _list(_reference(f) for f in by_place(audit.references))
    yield ',\n"suppressed": '
    yield from _lines(_finding(f, "by", "comment", verdicts) for f in by_place(audit.suppressed))
    yield ',\n"baselined": '
    yield from _lines(_finding(f, "by", "baseline", verdicts) for f in by_place(audit.baselined))
    yield ',\n"unused_suppressions": '
    yield from _list(
        {"path": u.path, "line": u.line, "text": u.text, "why": u.why or None}
        for u in audit.unused_suppressions
    )
    yield ',\n"not_looked_at": '
    yield from _list(n.as_json() for n in audit.not_looked_at)
    yield ',\n"rules": '
    used = {f.rule for part in _parts(audit) for f in part} & audit.rules.keys()
    yield from _table((i, _rule(audit.rules[i])) for i in sorted(used))
    yield "\n}\n"


def _parts(audit: AuditResult) -> Iterator[Iterable[Finding]]:
    yield from (audit.findings, audit.references, audit.suppressed, audit.baselined)


def encode(value: Any) -> str:
    """Compact JSON of valid UTF-8; lone surrogates and unseen characters escaped."""
    return json_text(_ENCODER.encode(value))


class _Verdicts:
    """The members of a JSON object that say what is judged, encoded once for all findings that share
    it: it is most of their text."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def of(self, finding: Finding) -> str:
        shared = id(finding.by_target)
        text = self._known.get(shared)
        if text is None:
            text = self._known[shared] = encode(finding.verdicts_as_json())[1:-1]
        return text


def _finding(finding: Finding, key: str, value: Any, verdicts: _Verdicts) -> str:
    """A finding with one more member."""
    before = encode(finding.place_as_json())
    after = encode({**finding.rest_as_json(), key: value})
    return f"{before[:-1]}, {verdicts.of(finding)}, {after[1:]}"


def _list(rows: Iterable[Any]) -> Iterator[str]:
    return _lines(map(encode, rows))


def _lines(rows: Iterable[str]) -> Iterator[str]:
    yield "["
    separator = "\n"
    for row in rows:
        yield separator + row
        separator = ",\n"
    yield "]" if separator == "\n" else "\n]"


def _table(rows: Iterable[tuple[str, Any]]) -> Iterator[str]:
    yield "{"
    separator = "\n"
    for key, value in rows:
        yield f"{separator}{encode(key)}: {encode(value)}"
        separator = ",\n"
    yield "}" if separator == "\n" else "\n}"


def _tool(audit: AuditResult) -> dict[str, Any]:
    return {
        "name": "neuronport",
        "version": audit.tool_version,
        "rules": audit.rules_version,
        "knowledge": [
            {"path": k.path, "sdk": k.sdk, "newest": k.newest or None} for k in audit.knowledge
        ],
    }


def _tree(audit: AuditResult) -> dict[str, Any]:
    tree = audit.tree
    return {
        "root": tree.root,
        "files": tree.files,
        "looked_at": tree.looked_at,
        "not_read": summarize(audit).unread,
        "not_read_by_kind": dict(tree.unread_kinds),
        "lines": tree.lines,
        "by_kind": dict(tree.by_kind),
    }


def _targets(audit: AuditResult) -> list[dict[str, Any]]:
    return [
        {
            "target": str(t),
            "path": t.path,
            "sdk": t.sdk,
            "chips": list(t.chips),
            "chip_named": t.chip_named,
        }
        for t in audit.targets
    ]


def _summary(audit: AuditResult, summary: Summary) -> dict[str, Any]:
    return {
        "findings": len(summary.counted),
        "failing": summary.failing,
        "fail_on": str(audit.fail_on),
        "fail_roles": sorted(str(r) for r in audit.fail_roles),
        "exit_code": audit.exit_code,
        "by_target": {t: _words(c) for t, c in summary.by_target.items()},
        "only_possible": {t: _words(c) for t, c in summary.only_possible.items()},
        "by_level": _words(summary.by_level),
        "by_area": {a: _words(c) for a, c in summary.by_area.items()},
        "by_file": {f: _words(c) for f, c in summary.by_file.items()},
        "apart": _words(summary.by_role),
        "references": len(audit.references),
        "suppressed": len(audit.suppressed),
        "baselined": len(audit.baselined),
        "not_looked_at": dict(summary.not_looked_at),
        "effort": {
            "method": EFFORT_METHOD,
            "by_level": {str(lv): e.as_json() for lv, e in summary.effort.items()},
        },
        "portability": {
            t: {
                "portable": r.portable,
                "benign": r.benign,
                "findings": r.findings,
                "percent": r.percent,
            }
            for t, r in summary.ratio.items()
        },
    }


def _words(counter: Mapping[Any, int]) -> dict[str, int]:
    return {str(word): number for word, number in counter.items()}


def _group(group: Group) -> dict[str, Any]:
    return {
        "group": group.key,
        "rule": group.rule,
        "title": group.title,
        "area": group.area,
        "level": str(group.level),
        "confidence": str(group.confidence),
        "places": len(group.places),
        "files": group.files,
        "by_target": {t: _words(c) for t, c in group.verdicts.items()},
        "effort": group.effort_range.as_json(),
        "reaches": [r.as_json() for r in group.reach],
    }


def _reference(finding: Finding) -> dict[str, Any]:
    row = finding.as_json()
    kept = (
        "rule",
        "area",
        "path",
        "line",
        "column",
        "end_line",
        "end_column",
        "message",
        "fingerprint",
        "context",
        "verdict",
        "confidence",
    )
    return {key: row[key] for key in kept}


def _rule(rule: RuleInfo) -> dict[str, Any]:
    return {
        "title": rule.title,
        "area": rule.area,
        "effort": str(rule.effort),
        "why": rule.why,
        "verdict": {p: str(v) for p, v in rule.verdict.items()},
        "evidence": [e.as_json() for e in rule.evidence],
    }
