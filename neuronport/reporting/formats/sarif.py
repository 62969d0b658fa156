"""SARIF 2.1.0, as GitHub code scanning and editors read it.

GitHub rejects a file above its limits and shows less than it accepts, so results are written most
important first, cut before a limit, and every cut is a notification of the run. Results that do
not fail a run (tests, examples, vendored code, mere possibilities) are written with a lower level,
so that they do not fail a check either; the verdict itself is in ``properties``.

``primaryLocationLineHash`` is left to the upload action, which warns about every value that is not
its own; ``neuronport/v1`` is the fingerprint that is stable across unrelated edits.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from neuronport.findings import (
    CONFIDENCE_ORDER,
    LEVEL_ORDER,
    Confidence,
    Finding,
    Level,
    NotLookedAt,
    Verdict,
)
from neuronport.reporting.escape import uri, visible
from neuronport.reporting.formats.json_ import encode
from neuronport.reporting.result import AuditResult, RenderOptions, RuleInfo
from neuronport.reporting.summary import looked_at_sentence, plural, shown_level, summarize
from neuronport.workspace import as_named

NAME = "sarif"
DESCRIPTION = "SARIF 2.1.0, for code scanning and editors"

# docs.github.com, "SARIF results exceed one or more limits".
MAX_RESULTS = 25_000
SHOWN_RESULTS = 5_000
MAX_RULES = 25_000
MAX_STEPS = 1_000
MAX_TAGS = 10
MAX_BYTES = 10_000_000
# docs.github.com, "SARIF support for code scanning": a rule's name and descriptions.
MAX_NAME = 255
MAX_DESCRIPTION = 1024
# Ours: enough to read, and bounded whatever the audited text.
MAX_MESSAGE = 2_000
MAX_LINE = 400
MAX_NOTIFICATIONS = 1_000

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_ROOT = "%SRCROOT%"
_LEVELS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "note", Level.NONE: "none"}
_SEVERITIES = {Level.ERROR: "error", Level.WARNING: "warning"}
_PRECISION = {
    Confidence.CERTAIN: "very-high",
    Confidence.LIKELY: "high",
    Confidence.POSSIBLE: "medium",
}


class _Gauge:
    """The compressed size so far: the limit is on the gzipped file."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._interval = min(1 << 18, limit // 8)
        self._compressor = zlib.compressobj()
        self._size = 0
        self._waiting = 0

    def fits(self, text: str) -> bool:
        data = text.encode("utf-8")
        self._size += len(self._compressor.compress(data))
        self._waiting += len(data)
        # Deflate holds data back; look at what it really comes to only now and then.
        if self._waiting >= self._interval:
            self._size += len(self._compressor.flush(zlib.Z_SYNC_FLUSH))
            self._waiting = 0
        return self._size + self._waiting < self._limit


def render(audit: AuditResult, options: RenderOptions, max_bytes: int = MAX_BYTES) -> Iterator[str]:
    # The summary ranks causes; what is cut here are single results, so their level comes first.
    ranked = sorted(
        summarize(audit).ranked,
        key=lambda f: (LEVEL_ORDER[shown_level(f, audit)], CONFIDENCE_ORDER[f.confidence]),
    )
    results = [(f, "") for f in ranked]
    results += [(f, "inSource") for f in audit.suppressed]
    results += [(f, "external") for f in audit.baselined]
    kept = results[:MAX_RESULTS]
    rules = _rules((f for f, _ in kept), audit)
    indices = {rule: index for index, rule in enumerate(rules)}
    gauge = _Gauge(max_bytes - max_bytes // 10)
    artifacts: dict[str, int] = {}

    opening = (
        '{\n"$schema": ' + encode(_SCHEMA) + ',\n"version": "2.1.0",\n"runs": [{\n'
        f'"tool": {encode(_tool(audit, rules))},\n'
        f'"automationDetails": {encode(_automation(audit))},\n'
        '"columnKind": "unicodeCodePoints",\n'
        f'"originalUriBaseIds": {encode(_bases())},\n'
        '"results": ['
    )
    gauge.fits(opening)
    yield opening
    written = 0
    for finding, suppression in kept:
        row = encode(_result(finding, suppression, audit, indices, artifacts))
        if not gauge.fits(row):
            break
        yield (",\n" if written else "\n") + row
        written += 1
    yield "\n]" if written else "]"
    names = list(artifacts)
    yield f',\n"artifacts": {encode([{"location": _artifact(name)} for name in names])}'
    yield f',\n"invocations": {encode([_invocation(audit, len(results), written)])}'
    yield f',\n"properties": {encode(_properties(audit))}'
    yield "\n}]\n}\n"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _plain(text: str, limit: int = MAX_MESSAGE) -> str:
    """Text in which a viewer finds neither a placeholder (``{0}``) nor a link (``[…](…)``)."""
    shown = visible(_cut(text.strip(), limit)).replace("](", "] (")
    for digit in "0123456789":
        shown = shown.replace("{" + digit, "{{" + digit)
    return shown


def _rules(findings: Iterable[Finding], audit: AuditResult) -> dict[str, dict[str, Any]]:
    """Rule id → descriptor, of the rules that have results, sorted."""
    worst: dict[str, Level] = {}
    vaguest: dict[str, Confidence] = {}
    for finding in findings:
        level = shown_level(finding, audit)
        known = worst.get(finding.rule, Level.NONE)
        worst[finding.rule] = min(known, level, key=LEVEL_ORDER.__getitem__)
        sure = vaguest.get(finding.rule, Confidence.CERTAIN)
        vaguest[finding.rule] = max(sure, finding.confidence, key=CONFIDENCE_ORDER.__getitem__)
    return {
        rule: _descriptor(rule, audit.rules.get(rule), worst[rule], vaguest[rule])
        for rule in sorted(worst)[:MAX_RULES]
    }


def _descriptor(
    rule_id: str, rule: RuleInfo | None, level: Level, confidence: Confidence
) -> dict[str, Any]:
    row: dict[str, Any] = {"id": rule_id, "name": _cut(visible(rule_id), MAX_NAME)}
    properties: dict[str, Any] = {
        "precision": _PRECISION[confidence],
        "problem.severity": _SEVERITIES.get(level, "recommendation"),
    }
    if rule:
        row["shortDescription"] = {"text": _plain(rule.title, MAX_DESCRIPTION)}
        full = " ".join(rule.why.strip().split("\n\n", 1)[0].split()) or rule.title
        row["fullDescription"] = {"text": _plain(full, MAX_DESCRIPTION)}
        help_text = rule.help_text or rule.why or rule.title
        row["help"] = {"text": visible(help_text), "markdown": visible(rule.why or rule.title)}
        verdicts = sorted({str(v) for v in rule.verdict.values()})
        tags = ["neuronport", rule.area, *verdicts]
        properties["tags"] = list(dict.fromkeys(visible(t) for t in tags))[:MAX_TAGS]
        properties["effort"] = str(rule.effort)
    row["defaultConfiguration"] = {"level": _LEVELS[level]}
    row["properties"] = properties
    return row


def _tool(audit: AuditResult, rules: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "driver": {
            "name": "neuronport",
            "version": audit.tool_version,
            "rules": list(rules.values()),
            "properties": {"rules": audit.rules_version},
        }
    }


def _automation(audit: AuditResult) -> dict[str, str]:
    """GitHub's category: the paths, not the SDKs, or a new SDK would leave old alerts behind."""
    return {"id": f"neuronport/{'+'.join(dict.fromkeys(t.path for t in audit.targets))}/"}


def _bases() -> dict[str, Any]:
    return {_ROOT: {"description": {"text": "The root of the audited tree."}}}


def _artifact(path: str) -> dict[str, Any]:
    return {"uri": uri(as_named(path)), "uriBaseId": _ROOT}


def _result(
    finding: Finding,
    suppression: str,
    audit: AuditResult,
    indices: Mapping[str, int],
    artifacts: dict[str, int],
) -> dict[str, Any]:
    level = shown_level(finding, audit)
    row: dict[str, Any] = {
        "ruleId": finding.rule,
        "kind": "fail" if level is not Level.NONE else "informational",
        "level": _LEVELS[level],
        "message": {"text": _message(finding)},
        "locations": [_location(finding, artifacts)],
        "rank": _rank(finding, level),
        "properties": {
            "verdict": {t: str(v.verdict) for t, v in finding.by_target.items()},
            "confidence": str(finding.confidence),
            "effort": str(finding.effort),
            "area": visible(finding.area),
            "group": visible(_cut(finding.group or finding.rule, MAX_LINE)),
            "role": str(finding.context.role),
            "hot": finding.context.hot,
        },
    }
    if finding.rule in indices:
        row["ruleIndex"] = indices[finding.rule]
    if finding.fingerprint:
        row["partialFingerprints"] = {"neuronport/v1": finding.fingerprint}
    if finding.context.guarded_by:
        row["properties"]["guardedBy"] = visible(_cut(finding.context.guarded_by, MAX_LINE))
    if finding.related:
        row["codeFlows"] = [_flow(finding, artifacts)]
    if suppression:
        entry = {"kind": suppression, "status": "accepted"}
        if finding.suppressed:
            entry["justification"] = visible(_cut(finding.suppressed, MAX_MESSAGE))
        row["suppressions"] = [entry]
    return row


def _message(finding: Finding) -> str:
    """The first sentence says it all; what follows is for people who open the alert."""
    parts = [" ".join(finding.message.split())]
    for target, judged in finding.by_target.items():
        line = f"{target}: {judged.verdict} ({judged.confidence})"
        if judged.replacement:
            line += f"; instead: {' '.join(judged.replacement.split())}"
        parts.append(line)
    if finding.fix:
        parts.append(f"neuronport port: {finding.fix.title} ({finding.fix.safety})")
    return _plain("\n".join(parts)) or finding.rule


def _location(finding: Finding, artifacts: dict[str, int]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    at = finding.location
    if at.path:
        physical: dict[str, Any] = {"artifactLocation": _placed(at.path, artifacts)}
        if at.line >= 1:
            region = {"startLine": at.line, "endLine": max(at.line, at.end_line)}
            if at.column >= 1:
                region["startColumn"] = at.column
                if at.end_line != at.line or at.end_column >= at.column:
                    region["endColumn"] = max(1, at.end_column)
            physical["region"] = region
            # A context must be larger than its region: not for whole or broken lines.
            line = finding.snippet.rstrip("\r\n")
            whole = at.column <= 1 and at.end_column > len(line)
            if line and len(line) <= MAX_LINE and at.end_line == at.line and not whole:
                physical["contextRegion"] = {
                    "startLine": at.line,
                    "endLine": at.line,
                    "snippet": {"text": visible(line)},
                }
        row["physicalLocation"] = physical
    logical = []
    if finding.context.scope:
        scope = visible(_cut(finding.context.scope, MAX_NAME))
        logical.append({"fullyQualifiedName": scope, "kind": "member"})
    if finding.node:
        logical.append({"name": visible(_cut(finding.node, MAX_NAME)), "kind": "object"})
    if logical:
        row["logicalLocations"] = logical
    return row


def _placed(path: str, artifacts: dict[str, int]) -> dict[str, Any]:
    index = artifacts.setdefault(path, len(artifacts))
    return {**_artifact(path), "index": index}


def _flow(finding: Finding, artifacts: dict[str, int]) -> dict[str, Any]:
    steps: list[dict[str, Any]] = []
    for related in finding.related[: MAX_STEPS - 1]:
        physical: dict[str, Any] = {"artifactLocation": _placed(related.path, artifacts)}
        if related.line >= 1:
            physical["region"] = {"startLine": related.line}
        steps.append({"physicalLocation": physical, "message": {"text": _plain(related.says)}})
    last = {**_location(finding, artifacts), "message": {"text": _message(finding)}}
    return {"threadFlows": [{"locations": [{"location": s} for s in (*steps, last)]}]}


def _rank(finding: Finding, level: Level) -> float:
    """100 most important: level first, then confidence, then the verdict's own order."""
    verdicts = list(Verdict)
    coarse = (len(LEVEL_ORDER) - LEVEL_ORDER[level] - 1) / (len(LEVEL_ORDER) - 1)
    sure = (len(CONFIDENCE_ORDER) - CONFIDENCE_ORDER[finding.confidence] - 1) / 2
    fine = 1 - verdicts.index(finding.verdict) / (len(verdicts) - 1)
    return round(75 * coarse + 20 * sure + 5 * fine, 1)


def _invocation(audit: AuditResult, total: int, written: int) -> dict[str, Any]:
    notes: list[dict[str, Any]] = []
    if written < total:
        notes.append(
            _note(
                "results-left-out",
                f"{plural(total - written, 'result')} of {total:,} left out, the least important "
                "ones, to stay within what code scanning accepts.",
            )
        )
    if written > SHOWN_RESULTS:
        notes.append(
            _note(
                "results-not-shown",
                f"Code scanning shows the first {SHOWN_RESULTS:,} of {written:,} results.",
            )
        )
    if audit.not_looked_at or audit.tree.looked_at == 0:
        notes.append(_note("not-looked-at", f"{looked_at_sentence(audit)}."))
    notes += [_missing(item) for item in audit.not_looked_at[:MAX_NOTIFICATIONS]]
    more = len(audit.not_looked_at) - MAX_NOTIFICATIONS
    if more > 0:
        notes.append(_note("not-looked-at", f"{more:,} more were not looked at."))
    return {
        "executionSuccessful": audit.exit_code in (0, 1),
        "exitCode": audit.exit_code,
        "toolExecutionNotifications": notes,
    }


def _note(reason: str, text: str) -> dict[str, Any]:
    return {"level": "warning", "descriptor": {"id": reason}, "message": {"text": text}}


def _missing(item: NotLookedAt) -> dict[str, Any]:
    detail = f": {item.detail}" if item.detail else ""
    row = _note(item.reason, _plain(f"Not looked at: {item.reason}{detail}"))
    if item.path:
        physical: dict[str, Any] = {"artifactLocation": _artifact(item.path)}
        if item.line:
            physical["region"] = {"startLine": item.line}
        row["locations"] = [{"physicalLocation": physical}]
    return row


def _properties(audit: AuditResult) -> dict[str, Any]:
    knowledge: Sequence[Mapping[str, str]] = [
        {"path": k.path, "sdk": k.sdk, "newest": visible(k.newest)} for k in audit.knowledge
    ]
    return {
        "targets": [str(t) for t in audit.targets],
        "knowledge": knowledge,
        "filesLookedAt": audit.tree.looked_at,
        "references": len(audit.references),
    }
