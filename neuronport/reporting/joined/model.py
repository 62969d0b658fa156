"""Everything a report says, joined from the records of a folder; no format, no place on a page.

``Report.data`` is what ``--format json`` prints and what the page and the Markdown take their
figures from, so that there is one number for one thing. What no record says is ``None`` there, never
a zero.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuronport import __version__
from neuronport.findings import Confidence, EvidenceKind, Finding, Level, Verdict
from neuronport.records import Record, Records
from neuronport.reporting.joined import comparing, compiles, graphs, levels, ports, unknowns
from neuronport.reporting.joined.audits import audit_result
from neuronport.reporting.joined.waves import waves
from neuronport.reporting.result import AuditResult
from neuronport.reporting.summary import (
    EFFORT_METHOD,
    EffortRange,
    Group,
    Summary,
    summarize,
)

SCHEMA = "neuronport/report/1"
BLOCKERS = 5
FILES = 100
"""How many rows the table of files has; the rest is counted."""

WHAT: Mapping[str, str] = {
    "audit": "what the source says",
    "graph": "what a model executes",
    "port": "what the tool can rewrite",
    "churn": "what a port changed between two revisions",
    "compile": "what came of compiling",
    "portability": "the three levels",
    "run": "what a run on a device measured",
}


@dataclass(frozen=True, eq=False)
class Report:
    data: Mapping[str, Any]
    audit: AuditResult | None
    audit_root: str
    """The folder whose files the findings name, as it is now; empty: not known."""
    proposals: Mapping[str, ports.Proposal]
    """Fingerprint → the change that is proposed for it."""
    port: Mapping[str, Any] | None


def build(records: Records, against: Records | None = None) -> Report:
    """Joins the records of a folder, and compares them with those of an earlier one."""
    broken: list[dict[str, Any]] = []
    audit = _audit(records.audit, broken)
    summary = summarize(audit) if audit else None
    port = _body(records.port, broken, "changes", "left", "held_back", "files")
    proposals = ports.proposals(port) if port else {}
    written = frozenset(p for p, row in proposals.items() if row.safety == "safe")
    graph_parts = [
        part
        for record in records.graphs
        if (part := _graph(record, broken, records.audit)) is not None
    ]
    compile_parts = [
        part for record in records.compiles if (part := _compile(record, broken)) is not None
    ]
    level_parts = _levels_of(records.portability, broken)
    groups = list(summary.groups) if summary else []
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "tool": {"name": "neuronport", "version": __version__},
        "subject": _subject(records, audit),
        "records": _records(records, broken),
        "levels": level_parts,
        "audit": _audit_part(audit, summary) if audit and summary else None,
        "groups": [_group(g, written, proposals) for g in groups],
        "blockers": _blockers(groups),
        "waves": waves(groups, written),
        "effort": _effort(summary, audit, written) if audit and summary else None,
        "graphs": graph_parts,
        "port": ports.port(port) if port else None,
        "churn": ports.churn(records.churn.body) if records.churn else None,
        "compile": compile_parts,
    }
    data["headline"] = _headline(data)
    data["unknown"] = unknowns.unknowns(data)
    data["comparison"] = None
    if against is not None:
        earlier = build(against)
        data["comparison"] = comparing.compare(earlier, data, audit)
    root = records.audit.root if records.audit else ""
    return Report(data, audit, root, proposals, port)


def _headline(data: Mapping[str, Any]) -> str:
    """Which of the few things that can be said first is so: a word, its sentence is the format's."""
    audit = data["audit"]
    if audit is None:
        return "no-audit"
    if not audit["tree"]["looked_at"]:
        return "nothing-looked-at"
    if audit["sure_errors"]:
        return "blocked"
    return "possible" if audit["possible_errors"] else "clear"


def blocks(group: Group) -> bool:
    """Whether a cause keeps the code from running correctly, for sure or likely."""
    return group.level is Level.ERROR and group.confidence is not Confidence.POSSIBLE


def _blockers(groups: Sequence[Group]) -> list[int]:
    """What stops the program stands before what runs on the host or computes something else."""
    found = [i for i, group in enumerate(groups) if blocks(group)]
    return sorted(found, key=lambda i: groups[i].verdict is not Verdict.BREAKS)[:BLOCKERS]


# ---- records --------------------------------------------------------------------------------------


def _audit(record: Record | None, broken: list[dict[str, Any]]) -> AuditResult | None:
    if record is None:
        return None
    try:
        return audit_result(record.body)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        broken.append(_broken(record, error))
        return None


def _graph(
    record: Record, broken: list[dict[str, Any]], audit: Record | None
) -> dict[str, Any] | None:
    # Files of the audited tree are named as the findings name them.
    roots = [r for r in (audit.root if audit else "", record.root) if r]
    try:
        return {"stale": bool(record.stale), **graphs.graph(record.body, roots)}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        broken.append(_broken(record, error))
        return None


def _compile(record: Record, broken: list[dict[str, Any]]) -> dict[str, Any] | None:
    try:
        return {"stale": bool(record.stale), **compiles.compiled(record.body)}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        broken.append(_broken(record, error))
        return None


def _levels_of(record: Record | None, broken: list[dict[str, Any]]) -> list[dict[str, Any]]:
    try:
        return levels.levels(record.body if record else None)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        assert record is not None
        broken.append(_broken(record, error))
        return levels.levels(None)


def _body(
    record: Record | None, broken: list[dict[str, Any]], *lists: str
) -> Mapping[str, Any] | None:
    if record is None:
        return None
    for key in lists:
        if not all(isinstance(row, Mapping) for row in record.body[key]):
            broken.append(_broken(record, TypeError(f"`{key}` holds what is no row")))
            return None
    return record.body


def _broken(record: Record, error: Exception) -> dict[str, Any]:
    return {
        "file": record.file,
        "reason": f"malformed ({error!r})",
        "remedy": "remove it or record again",
    }


def _records(records: Records, broken: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    from neuronport.records.kinds import kinds

    unusable = {row["file"] for row in broken}
    rows = [
        {
            "record": record.kind,
            "what": WHAT.get(record.kind, ""),
            "subject": record.subject,
            "file": os.path.basename(record.file),
            "state": "unusable" if record.file in unusable else record.state,
            "made": record.made,
            "tool": str(record.tool.get("version", "")),
            "rules": str(record.tool.get("rules", "")),
            "revision": str(record.tree.get("revision") or ""),
            "inputs": len(record.inputs) if record.digests_known else None,
            "changes": [str(change) for change in record.stale],
            "not_looked_at": len(record.not_looked_at),
        }
        for record in records
    ]
    return {
        "folder": records.folder,
        "exists": records.exists,
        "rows": rows,
        "missing": [
            {"record": name, "what": WHAT.get(name, ""), "command": kinds()[name].command}
            for name in records.missing
        ],
        "problems": [
            {**row, "file": _within(row["file"], records.folder)}
            for row in (*(p.as_json() for p in records.problems), *broken)
        ],
        "stale": sum(row["state"] == "stale" for row in rows),
    }


def _within(file: str, folder: str) -> str:
    """The name of a file of the folder; the folder itself as it is."""
    return os.path.basename(file) if os.path.dirname(file) == folder.rstrip("/\\") else file


def _subject(records: Records, audit: AuditResult | None) -> dict[str, Any]:
    named = next((r for r in records if r.tree.get("name")), None)
    root = audit.tree.root if audit else ""
    name = str(named.tree["name"]) if named else root.replace("\\", "/").rstrip("/").split("/")[-1]
    targets: list[str] = [str(t) for t in audit.targets] if audit else []
    if not audit:
        for record in (*records.graphs, *records.compiles):
            said = record.body.get("targets", [])
            targets += [str(t) for t in said if str(t) not in targets]
    return {
        "name": name if name not in ("", ".") else "this project",
        "root": root,
        "targets": targets,
    }


# ---- the audit ------------------------------------------------------------------------------------


def _audit_part(audit: AuditResult, summary: Summary) -> dict[str, Any]:
    counted = summary.counted
    sure = [f for f in counted if f.confidence is not Confidence.POSSIBLE]
    files = [
        {"path": path, **_levels(found)} for path, found in list(summary.by_file.items())[:FILES]
    ]
    return {
        "tree": {
            "files": audit.tree.files,
            "looked_at": audit.tree.looked_at,
            "lines": audit.tree.lines,
            "not_read": summary.unread,
            "not_read_by_kind": dict(audit.tree.unread_kinds),
            "by_kind": dict(audit.tree.by_kind),
        },
        "findings": len(counted),
        "by_level": _levels(summary.by_level),
        "sure_errors": sum(f.level is Level.ERROR for f in sure),
        "possible": len(counted) - len(sure),
        "possible_errors": sum(
            f.level is Level.ERROR and f.confidence is Confidence.POSSIBLE for f in counted
        ),
        "by_confidence": dict(_counter(str(f.confidence) for f in counted)),
        "by_target": {
            t: {str(v): n for v, n in found.items()} for t, found in summary.by_target.items()
        },
        "by_area": [{"area": a, **_levels(found)} for a, found in summary.by_area.items()],
        "by_file": files,
        "files_with_findings": len(summary.by_file),
        "hot": sum(f.context.hot for f in counted),
        "apart": [{"role": str(r), "number": n} for r, n in summary.by_role.items()],
        "all_findings": len(audit.findings),
        "references": len(audit.references),
        "suppressed": len(audit.suppressed),
        "baselined": len(audit.baselined),
        "unused_suppressions": len(audit.unused_suppressions),
        "not_looked_at": [{"reason": r, "number": n} for r, n in summary.not_looked_at.items()],
        "not_looked_at_rows": [n.as_json() for n in audit.not_looked_at],
        "ratio": [
            {
                "target": t,
                "portable": r.portable,
                "benign": r.benign,
                "works": r.works,
                "total": r.total,
                "percent": r.percent,
            }
            for t, r in summary.ratio.items()
        ],
        "evidence": _evidence(counted),
        "knowledge": [{"path": k.path, "sdk": k.sdk, "newest": k.newest} for k in audit.knowledge],
        "rules": audit.rules_version,
        "version": audit.tool_version,
    }


def _levels(found: Mapping[Level, int]) -> dict[str, int]:
    return {str(lv): found.get(lv, 0) for lv in (Level.ERROR, Level.WARNING, Level.NOTE)}


def _counter(words: Any) -> Mapping[str, int]:
    return dict(sorted(Counter(words).items(), key=lambda item: (-item[1], item[0])))


def _evidence(counted: Sequence[Finding]) -> list[dict[str, Any]]:
    """The findings by the strongest kind of evidence that their worst verdict rests on."""
    order = list(EvidenceKind)
    found: Counter[EvidenceKind | None] = Counter()
    for finding in counted:
        worst = finding.verdict
        kinds = [
            e.kind for v in finding.by_target.values() if v.verdict is worst for e in v.evidence
        ]
        found[min(kinds, key=order.index) if kinds else None] += 1
    return [
        {"kind": str(kind) if kind else "none", "number": found[kind]}
        for kind in (*order, None)
        if found[kind]
    ]


def _group(
    group: Group, written: frozenset[str], proposals: Mapping[str, ports.Proposal]
) -> dict[str, Any]:
    first = group.places[0].location
    return {
        "group": group.key,
        "rule": group.rule,
        "title": group.title,
        "area": group.area,
        "level": str(group.level),
        "verdict": str(group.verdict),
        "confidence": str(group.confidence),
        "places": len(group.places),
        "worst_places": sum(f.verdict is group.verdict for f in group.places),
        "files": group.files,
        "hot": sum(f.context.hot for f in group.places),
        "first": {"path": first.path, "line": first.line},
        "by_target": {
            t: {str(v): n for v, n in found.items()} for t, found in group.verdicts.items()
        },
        "instead": dict(group.replacements),
        "reaches": [r.as_json() for r in group.reach],
        "reached": len(group.reach),
        "effort": group.effort_range.as_json(),
        "written_by_tool": sum(f.fingerprint in written for f in group.places),
        "to_review": sum(
            f.fingerprint in proposals and f.fingerprint not in written for f in group.places
        ),
        "fix": group.fix.as_json() if group.fix else None,
    }


def _effort(summary: Summary, audit: AuditResult, written: frozenset[str]) -> dict[str, Any]:
    total = sum(summary.effort.values(), EffortRange())
    left: EffortRange | None = None
    if written:
        rest = _without(audit, written)
        left = sum(summarize(rest).effort.values(), EffortRange())
    return {
        "method": EFFORT_METHOD,
        "total": total.as_json(),
        "by_level": {str(level): part.as_json() for level, part in summary.effort.items()},
        "without_what_the_tool_writes": left.as_json() if left is not None else None,
    }


def _without(audit: AuditResult, written: frozenset[str]) -> AuditResult:
    from dataclasses import replace

    return replace(audit, findings=[f for f in audit.findings if f.fingerprint not in written])
