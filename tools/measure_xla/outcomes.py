"""The file of outcomes: one line of JSON each, appended to while measuring, read back to resume.

``{"versions": …, "date": …}`` first, then per case ``{"begin": KEY}``, ``{"reached": KEY}`` when the
CPU took the call and torch_xla is next, its outcomes, ``{"done": KEY}``. A case that was begun and
not done ended its process. An outcome has ``key``, ``operator``,
``varied``, ``dtype``, ``direction``, ``status``, ``arguments`` and, where there is something to
tell, ``fallback``, ``hlo``, ``error``, ``note``. A line with ``call`` instead of ``key`` is an
operator that a case reached on its way.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STATUSES = (
    "lowered",
    "reads-back",
    "falls-back",
    "raises",
    "crash",
    "timeout",
    "refused",
    "missing",
)
GOOD = frozenset({"lowered"})
BAD = frozenset({"falls-back", "raises", "crash"})
"""``timeout`` says something of the machine, ``refused`` that the CPU takes no such call either."""


@dataclass(frozen=True, slots=True)
class Outcome:
    operator: str
    direction: str
    dtype: str
    varied: str
    source: str
    status: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    fallback: tuple[str, ...] = ()
    hlo: tuple[str, ...] = ()
    error: str = ""
    note: str = ""

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        return self.source, self.operator, self.varied, self.dtype, self.direction


@dataclass(slots=True)
class Record:
    """What a file of outcomes holds."""

    header: Mapping[str, Any] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    begun: list[str] = field(default_factory=list)
    reached: set[str] = field(default_factory=set)
    outcomes: list[Outcome] = field(default_factory=list)
    calls: list[Outcome] = field(default_factory=list)

    @property
    def unfinished(self) -> list[str]:
        return [key for key in self.begun if key not in self.done]


def lines(file: Path) -> Iterator[dict[str, Any]]:
    """Every whole line; a process that was killed may have left half of one."""
    if not file.exists():
        return
    with file.open(encoding="utf-8", errors="replace") as stream:
        for line in stream:
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(row, dict):
                yield row


def read(file: Path) -> Record:
    record = Record()
    found: dict[tuple[str, ...], Outcome] = {}
    calls: dict[str, Outcome] = {}
    for row in lines(file):
        if "versions" in row:
            record.header = record.header or row
        elif "begin" in row:
            record.begun.append(row["begin"])
        elif "reached" in row:
            record.reached.add(row["reached"])
        elif "done" in row:
            record.done.add(row["done"])
        elif "call" in row:
            one = _outcome(row, source=row["call"])
            calls.setdefault(json.dumps({**row, "call": ""}, sort_keys=True), one)
        else:
            one = _outcome(row, source=row["source"])
            found[one.key] = one  # measured again after a crash: the later counts
    record.outcomes = list(found.values())
    record.calls = list(calls.values())
    return record


def together(records: Sequence[Record]) -> Record:
    """Several files as one; they must be of the same versions."""
    versions = [r.header.get("versions") for r in records]
    if any(v != versions[0] for v in versions):
        raise ValueError(f"different versions: {versions}")
    whole = Record(header=records[0].header)
    found: dict[tuple[str, ...], Outcome] = {}
    for record in records:
        found |= {o.key: o for o in record.outcomes}
        whole.calls += record.calls
        whole.done |= record.done
    whole.outcomes = list(found.values())
    return whole


def _outcome(row: Mapping[str, Any], source: str) -> Outcome:
    return Outcome(
        row["operator"],
        row.get("direction", "forward"),
        row["dtype"],
        row.get("varied", ""),
        source,
        row["status"],
        row.get("arguments", {}),
        tuple(row.get("fallback", ())),
        tuple(row.get("hlo", ())),
        row.get("error", ""),
        row.get("note", ""),
    )


def forget(file: Path, statuses: Collection[str]) -> int:
    """Take the cases out of ``file`` that had an outcome with one of ``statuses``; how many."""
    rows = list(lines(file))
    keys = {row["key"] for row in rows if row.get("status") in statuses and "key" in row}
    names = ("key", "begin", "reached", "done")
    kept = [row for row in rows if not any(row.get(name) in keys for name in names)]
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in kept)
    file.write_text(text, encoding="utf-8")
    return len(keys)


def of_crash(key: str, status: str, detail: str) -> list[dict[str, Any]]:
    """The lines that stand for a case that ended its process."""
    source, operator, varied, dtype = key.split("|")
    return [
        {
            "key": key,
            "operator": operator,
            "varied": varied,
            "dtype": dtype,
            "source": source,
            "direction": "forward",
            "status": status,
            "error": detail,
        },
        {"done": key},
    ]
