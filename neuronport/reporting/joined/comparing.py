"""What changed between an earlier set of records and this one.

A finding is the same one when its fingerprint is: rule, file, enclosing scope, line of code. Only what
both sides measured is compared, and only for targets that both sides have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from neuronport.findings import Finding, Level
from neuronport.reporting.result import AuditResult

if TYPE_CHECKING:
    from neuronport.reporting.joined.model import Report

Json = Mapping[str, Any]

ROWS = 200
"""How many findings that are new or gone are listed; the rest is counted."""


def compare(earlier: Report, data: Json, audit: AuditResult | None) -> dict[str, Any]:
    return {
        "earlier": {
            "folder": earlier.data["records"]["folder"],
            "name": earlier.data["subject"]["name"],
            "targets": earlier.data["subject"]["targets"],
            "records": [
                {"record": r["record"], "made": r["made"], "state": r["state"]}
                for r in earlier.data["records"]["rows"]
            ],
        },
        "not_comparable": _differs(earlier, data),
        "findings": _findings(earlier.audit, audit),
        "effort": _effort(earlier.data, data),
        "levels": [
            {"level": now["level"], "before": was["verdict"], "after": now["verdict"]}
            for was, now in zip(earlier.data["levels"], data["levels"], strict=True)
        ],
    }


def _differs(earlier: Report, data: Json) -> list[str]:
    """Why the two are not about the same thing, for people."""
    was, said = earlier.data, []
    if was["audit"] is None or data["audit"] is None:
        side = "earlier" if was["audit"] is None else "newer"
        said.append(f"The {side} side has no usable record of an audit: findings are not compared.")
    else:
        if was["audit"]["rules"] != data["audit"]["rules"]:
            said.append(
                "The two audits were made with different rules: a finding may be new or gone "
                "because of what was learned since, not because the code changed."
            )
        if set(was["subject"]["targets"]) != set(data["subject"]["targets"]):
            said.append(
                "The two audits are about different targets: "
                f"{', '.join(was['subject']['targets'])} before, "
                f"{', '.join(data['subject']['targets'])} now."
            )
    return said


def _findings(was: AuditResult | None, now: AuditResult | None) -> dict[str, Any] | None:
    if was is None or now is None:
        return None
    before, after = list(_counted(was)), list(_counted(now))
    old = Counter(f.fingerprint for f in before)
    new = Counter(f.fingerprint for f in after)
    gone = _only(before, new)
    come = _only(after, old)
    return {
        "before": _levels(before),
        "after": _levels(after),
        "total_before": len(before),
        "total_after": len(after),
        "gone": len(gone),
        "new": len(come),
        "same": len(before) - len(gone),
        "gone_by_level": _levels(gone),
        "new_by_level": _levels(come),
        "gone_rows": [_row(f) for f in _worst(gone)[:ROWS]],
        "new_rows": [_row(f) for f in _worst(come)[:ROWS]],
    }


def _counted(audit: AuditResult) -> Iterable[Finding]:
    return (f for f in audit.findings if f.context.role in audit.fail_roles)


def _only(findings: Iterable[Finding], other: Counter[str]) -> list[Finding]:
    """Those that the other side does not have; one print can stand for several."""
    left = Counter(other)
    kept = []
    for finding in findings:
        if left[finding.fingerprint] > 0:
            left[finding.fingerprint] -= 1
        else:
            kept.append(finding)
    return kept


def _worst(findings: list[Finding]) -> list[Finding]:
    order = list(Level)
    return sorted(findings, key=lambda f: (order.index(f.level), f.location, f.rule, f.fingerprint))


def _levels(findings: Iterable[Finding]) -> dict[str, int]:
    found = Counter(f.level for f in findings)
    return {str(lv): found[lv] for lv in (Level.ERROR, Level.WARNING, Level.NOTE)}


def _row(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "path": finding.location.path,
        "line": finding.location.line,
        "verdict": str(finding.verdict),
        "message": finding.message,
        "fingerprint": finding.fingerprint,
    }


def _effort(was: Json, now: Json) -> dict[str, Any] | None:
    if was["effort"] is None or now["effort"] is None:
        return None
    return {"before": was["effort"]["total"], "after": now["effort"]["total"]}
