"""What a compiler said, with code, cause and remedy as ``rules/compile`` has them.

A code that no row has is shown all the same, and that nothing is known of it. Operators that a log
names are read by what reads such logs for the operator table.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from neuronport.compile.result import Problem
from neuronport.data import data_folder

_CODE = re.compile(r"\b(?:NCC_[A-Z]{2,5}\d{3}|EBVF\d{3})\b")
_OLD = re.compile(r"\[([A-Z]{3}\d{3})\]")
"""As compilers before 2.2x write it: ``[TEN404] Internal tensorizer error``."""
_LONGEST = 300
_MOST = 12


@dataclass(frozen=True, slots=True)
class Row:
    code: str
    pattern: re.Pattern[str] | None
    cause: str
    when: str
    remedy: str
    chips: str
    inferred: tuple[str, ...]
    kind: str
    source: str


@cache
def rows() -> tuple[Row, ...]:
    found = []
    for file in sorted((data_folder("rules") / "compile").glob("*.tsv")):
        with file.open(encoding="utf-8", newline="") as stream:
            lines = (line for line in stream if not line.startswith("#"))
            for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
                found.append(
                    Row(
                        row["code"],
                        re.compile(row["pattern"]) if row["pattern"] else None,
                        row["cause"],
                        row["when"],
                        row["remedy"],
                        row["chips"],
                        tuple(x for x in row["inferred"].split(",") if x),
                        row["kind"],
                        row["source"],
                    )
                )
    return tuple(found)


@cache
def _by_code() -> dict[str, Row]:
    return {row.code: row for row in rows()}


def diagnose(text: str) -> tuple[Problem, ...]:
    """The problems that a log or a message names, each once, in order."""
    found: dict[str, Problem] = {}
    for place, code, row in sorted(_hits(text), key=lambda hit: hit[0]):
        if code not in found:
            found[code] = _problem(code, row, _line(text, place), text)
    return tuple(found.values())[:_MOST]


def _hits(text: str) -> Iterator[tuple[int, str, Row | None]]:
    known = _by_code()
    for match in _CODE.finditer(text):
        code = match[0] if match[0].startswith("NCC_") else f"NCC_{match[0]}"
        yield match.start(), code, known.get(code)
    patterns = [row for row in rows() if row.pattern is not None]
    for row in patterns:
        assert row.pattern is not None
        first = row.pattern.search(text)
        if first is not None:
            yield first.start(), row.code, row
    for match in _OLD.finditer(text):
        if not any(r.pattern is not None and r.pattern.search(match[0]) for r in patterns):
            yield match.start(), match[1], None


def _problem(code: str, row: Row | None, said: str, text: str) -> Problem:
    if row is None:
        return Problem(code, said, operators=_operators(said))
    return Problem(
        code,
        said,
        row.cause,
        row.when,
        row.remedy,
        row.chips,
        row.inferred,
        row.kind,
        row.source,
        _operators(said),
    )


def _line(text: str, place: int) -> str:
    begin = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    line = text[begin : end if end >= 0 else len(text)].strip()
    if len(line) <= _LONGEST:
        return line
    start = max(place - begin - _LONGEST // 3, 0)
    return line[start : start + _LONGEST]


_HLO = re.compile(r"\b(?:[Oo]perat(?:ion|or)) '?([a-z][a-z0-9\-]+)'? is not supported")


def _operators(line: str) -> tuple[str, ...]:
    """The operators that a line names, as the operator table spells them."""
    from neuronport.operators.observed import logs

    found = (
        [seen.operator for seen in logs.read(line).observations] if logs.recognises(line) else []
    )
    return tuple(dict.fromkeys([*found, *(f"hlo::{name}" for name in _HLO.findall(line))]))
