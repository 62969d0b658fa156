"""TorchNeuron's ``docs/torch_api_compatibility.md``: Markdown tables of operators and status.

The columns are found by their headings; what a status cell says in other words than these is
reported as not understood, not guessed at.
"""

from __future__ import annotations

import re

from neuronport.operators.observed.report import Observation, Report, operator_name
from neuronport.operators.tables import Status

ORDER = 10

_NAME_HEADS = ("operator", "operation", "op", "aten op", "api", "name", "function")
_STATUS_HEADS = ("status", "support", "supported", "implementation")
_WORDS = (
    (re.compile(r"cpu|fall ?back", re.I), Status.CPU_FALLBACK),
    (re.compile(r"❌|\bno\b|not supported|unsupported|not implemented", re.I), Status.UNSUPPORTED),
    (re.compile(r"✅|✔|\byes\b|supported|native|device|full", re.I), Status.DEVICE),
)


def _tables(text: str) -> list[tuple[list[str], list[list[str]]]]:
    found: list[tuple[list[str], list[list[str]]]] = []
    lines = text.splitlines()
    for number, line in enumerate(lines[1:], 1):
        if not re.fullmatch(r"\s*\|?\s*:?-{2,}.*", line) or "|" not in lines[number - 1]:
            continue
        rows = []
        for row in lines[number + 1 :]:
            if "|" not in row:
                break
            rows.append(_cells(row))
        found.append(([c.lower() for c in _cells(lines[number - 1])], rows))
    return found


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _column(heads: list[str], wanted: tuple[str, ...]) -> int | None:
    plain = [re.sub(r"[*`_]", " ", head).strip() for head in heads]
    for word in wanted:
        if word in plain:
            return plain.index(word)
    return None


def recognises(text: str) -> bool:
    return any(
        _column(heads, _NAME_HEADS) is not None and _column(heads, _STATUS_HEADS) is not None
        for heads, _ in _tables(text)
    )


def read(text: str) -> Report:
    seen: list[Observation] = []
    not_understood: list[str] = []
    for heads, rows in _tables(text):
        name_at, status_at = _column(heads, _NAME_HEADS), _column(heads, _STATUS_HEADS)
        if name_at is None or status_at is None:
            continue
        for row in rows:
            if len(row) <= max(name_at, status_at):
                continue
            status = next((s for p, s in _WORDS if p.search(row[status_at])), None)
            name = re.search(r"[\w:.]+", row[name_at].replace("`", "").replace("\\", ""))
            if status is None or name is None:
                not_understood.append(f"{row[name_at]}: {row[status_at]!r}")
                continue
            rest = [
                f"{heads[i]}: {cell}"
                for i, cell in enumerate(row)
                if i not in (name_at, status_at) and cell and i < len(heads)
            ]
            seen.append(
                Observation(
                    operator_name(name[0]), "native", "eager", status, note="; ".join(rest)[:200]
                )
            )
    return Report(
        tuple(seen), "TorchNeuron's table of API compatibility", "documented", tuple(not_understood)
    )
