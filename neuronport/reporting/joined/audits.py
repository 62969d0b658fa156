"""From the body of an audit's record back to the result it was written from.

What the terminal says of an audit and what the report says of it are then computed by the same code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
    Level,
    Location,
    NotLookedAt,
    Related,
    Role,
    TargetVerdict,
    Verdict,
)
from neuronport.reporting.result import AuditResult, Knowledge, RuleInfo, Tree, UnusedSuppression
from neuronport.targets import Target

Json = Mapping[str, Any]


def audit_result(body: Json) -> AuditResult:
    """The audit that ``body`` was written from.

    Raises KeyError, TypeError or ValueError: it is not such a body.
    """
    shared: dict[str, Mapping[str, TargetVerdict]] = {}

    def findings(key: str) -> list[Finding]:
        return [finding(row, shared) for row in body[key]]

    tree, tool, summary = body["tree"], body["tool"], body["summary"]
    rules = {i: _rule(i, row) for i, row in body["rules"].items()}
    return AuditResult(
        tool_version=tool["version"],
        rules_version=tool["rules"],
        tree=Tree(
            tree["root"],
            tree["files"],
            tree["looked_at"],
            tree["lines"],
            tree["by_kind"],
            tree["not_read"],
            tree.get("not_read_by_kind", {}),
        ),
        targets=[
            Target(t["path"], t["sdk"], tuple(t["chips"]), t["chip_named"]) for t in body["targets"]
        ],
        findings=findings("findings"),
        references=[reference(row) for row in body["references"]],
        suppressed=findings("suppressed"),
        baselined=findings("baselined"),
        unused_suppressions=[
            UnusedSuppression(u["path"], u["line"], u["text"], u.get("why") or "")
            for u in body["unused_suppressions"]
        ],
        not_looked_at=[
            NotLookedAt(n["path"], n["reason"], n["detail"], n["line"])
            for n in body["not_looked_at"]
        ],
        rules=rules,
        reaches={g["group"]: _related(g["reaches"]) for g in body["groups"] if g.get("reaches")},
        knowledge=[Knowledge(k["path"], k["sdk"], k["newest"] or "") for k in tool["knowledge"]],
        fail_on=Level(summary["fail_on"]),
        fail_roles=frozenset(Role(r) for r in summary["fail_roles"]),
        exit_code=summary["exit_code"],
        command=(tree["root"],),
    )


def finding(row: Json, shared: dict[str, Mapping[str, TargetVerdict]] | None = None) -> Finding:
    """``shared``: verdicts seen before, so that many findings of one rule keep one object."""
    key = json.dumps(row["by_target"], sort_keys=True)
    by_target = None if shared is None else shared.get(key)
    if by_target is None:
        by_target = {t: _judged(v) for t, v in row["by_target"].items()}
        if shared is not None:
            shared[key] = by_target
    fix = row["fix"]
    return Finding(
        rule=row["rule"],
        area=row["area"],
        location=_location(row),
        message=row["message"],
        why=row["why"],
        effort=Effort(row["effort"]),
        by_target=by_target,
        context=_context(row["context"]),
        group="" if row["group"] == row["rule"] else row["group"],
        related=_related(row["related"]),
        fix=Fix(fix["codemod"], FixSafety(fix["safety"]), fix["title"]) if fix else None,
        fingerprint=row["fingerprint"],
        suppressed=row["suppressed"],
        snippet=row["snippet"],
        node=row["node"] or "",
    )


def reference(row: Json) -> Finding:
    """A place that works already: its row has no evidence, which nobody reads of it."""
    confidence = Confidence(row["confidence"])
    return Finding(
        rule=row["rule"],
        area=row["area"],
        location=_location(row),
        message=row["message"],
        why="",
        effort=Effort.MINUTES,
        by_target={t: TargetVerdict(Verdict(v), confidence, ()) for t, v in row["verdict"].items()},
        context=_context(row["context"]),
        fingerprint=row["fingerprint"],
    )


def _related(rows: Sequence[Json]) -> tuple[Related, ...]:
    return tuple(Related(r["path"], r["line"], r["says"]) for r in rows)


def _location(row: Json) -> Location:
    return Location(row["path"], row["line"], row["column"], row["end_line"], row["end_column"])


def _context(row: Json) -> Context:
    return Context(row["scope"], row["hot"], row["guarded_by"], Role(row["role"]))


def _judged(row: Json) -> TargetVerdict:
    return TargetVerdict(
        Verdict(row["verdict"]),
        Confidence(row["confidence"]),
        _evidence(row["evidence"]),
        row.get("replacement", ""),
        {s: {k: Verdict(v) for k, v in w.items()} for s, w in row.get("stages", {}).items()},
    )


def _evidence(rows: Sequence[Json]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            EvidenceKind(e["kind"]), e["source"], e["says"], e.get("path", ""), e.get("sdk", "")
        )
        for e in rows
    )


def _rule(rule: str, row: Json) -> RuleInfo:
    return RuleInfo(
        rule,
        row["title"],
        row["area"],
        row["why"],
        Effort(row["effort"]),
        verdict={p: Verdict(v) for p, v in row["verdict"].items()},
        evidence=_evidence(row["evidence"]),
    )
