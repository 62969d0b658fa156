"""What the tool can rewrite, and what a rewriting changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]

LEFT = 300
"""How many rows of what is left to people are shown; the rest is counted."""
KEPT_FOR_CUDA, DONE = "cuda-only", "done"
"""Reasons for leaving a place that ask nothing of anybody."""
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change that is proposed for a finding."""

    path: str
    line: int
    codemod: str
    safety: str
    title: str
    note: str
    hunk: str
    """The part of the file's diff around the place; empty: the record has no diff."""


def proposals(body: Json) -> dict[str, Proposal]:
    """Fingerprint → change, of those made or shown and those held back."""
    hunks = {f["path"]: _hunks(f.get("diff") or "") for f in body["files"]}
    found: dict[str, Proposal] = {}
    for change in (*body["held_back"], *body["changes"]):
        if change["fingerprint"]:
            found[change["fingerprint"]] = Proposal(
                change["path"],
                change["line"],
                change["codemod"],
                change["safety"],
                change["title"],
                change["note"] or "",
                _around(hunks.get(change["path"], ()), change["line"]),
            )
    return found


def _hunks(diff: str) -> list[tuple[int, int, str]]:
    """First and last line before, and the text, of each hunk of one file's unified diff."""
    marks = list(_HUNK.finditer(diff))
    found = []
    for number, mark in enumerate(marks):
        end = marks[number + 1].start() if number + 1 < len(marks) else len(diff)
        first, length = int(mark[1]), int(mark[2] or 1)
        found.append((first, first + max(length, 1) - 1, diff[mark.start() : end].rstrip("\n")))
    return found


def _around(hunks: Any, line: int) -> str:
    return next((text for first, last, text in hunks if first <= line <= last), "")


def port(body: Json) -> dict[str, Any]:
    written = [f for f in body["files"] if f.get("written")]
    untouched = Counter(row["reason"] for row in body["left"])
    left = [
        {
            "path": row["path"],
            "line": row["line"],
            "rule": row["rule"],
            "reason": row["reason"],
            "says": row["says"],
            "ways": list(row["ways"]),
        }
        for row in body["left"]
        if row["reason"] not in (KEPT_FOR_CUDA, DONE)
    ]
    return {
        "changes": len(body["changes"]),
        "held_back": len(body["held_back"]),
        "by_safety": dict(Counter(c["safety"] for c in (*body["changes"], *body["held_back"]))),
        "files": [
            {
                "path": f["path"],
                "new": f["new"],
                "written": f["written"],
                "diff": f.get("diff") or "",
            }
            for f in body["files"]
        ],
        "touched": len(body["files"]),
        "written": len(written),
        "left": len(left),
        "kept_for_cuda": untouched[KEPT_FOR_CUDA],
        "done": untouched[DONE],
        "left_by_reason": [
            {"reason": r, "number": n}
            for r, n in Counter(row["reason"] for row in left).most_common()
        ],
        "left_rows": left[:LEFT],
        "failed": [dict(f) for f in body["failed"]],
        "churn": churn(body["churn"]),
    }


def _sides(table: Json) -> list[tuple[str, Any]]:
    """What was before stands before what came after, however the record has it."""
    return sorted(table.items(), key=lambda item: (item[0] != "before", item[0]))


def churn(body: Json) -> dict[str, Any]:
    """The churn's own figures, without its hours: the report has one measure of effort."""
    references = body["references"]
    return {
        "before": body["before"],
        "after": body["after"],
        "code_base": dict(body["code_base"]),
        "lines": dict(body["lines"]),
        "converted": references["converted"],
        "left": references["left"],
        # A record of before these were told apart has none.
        "left_as": dict(references.get("left_as") or {}),
        "new": references["new"],
        "share_converted": references["share_converted"],
        "by_area": [
            {"area": area, **row}
            for area, row in sorted(
                references["by_area"].items(),
                key=lambda r: (-(r[1]["converted"] + r[1]["left"]), r[0]),
            )
        ],
        "by_safety": [{"safety": s, **row} for s, row in references["by_safety"].items()],
        "device_lines": [{"side": side, **row} for side, row in _sides(body["device_lines"])],
        "divergence": [{"side": s, "value": v} for s, v in _sides(body["divergence"])],
        "files": [
            {
                "path": f["path"],
                "status": f["status"],
                "lines": dict(f["lines"]),
                "converted": f["references_converted"],
                "left": f["references_left"],
            }
            for f in body["files"]
        ],
    }
