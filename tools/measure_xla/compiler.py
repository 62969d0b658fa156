"""From the HLO of a lowering to what the compiler behind it makes of it, on both paths.

A lowering on XLA's CPU backend succeeds with complex numbers, float64 or integer matrix products;
neuronx-cc has limits there that it documents. ``compiler.toml`` holds the limits that look at more
than an opcode; the list of opcodes is that of the operator tables.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuronport.operators.tables import Row, Status
from neuronport.xla_environment.hlo import FRAME, parts
from tools.measure_xla.outcomes import Outcome

LIMITS = Path(__file__).with_name("compiler.toml")


@dataclass(frozen=True, slots=True)
class Limit:
    id: str
    xla: str
    native: str
    evidence: tuple[str, ...]
    says: str
    opcodes: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    all_marks: frozenset[str] = frozenset()
    dtypes: frozenset[str] = frozenset()
    chips: tuple[str, ...] = ()
    asked: str = ""
    """Only of calls whose arguments name this dtype."""

    def fits(self, token: str) -> bool:
        opcode, marks, dtypes = parts(token)
        return (
            (not self.opcodes or opcode in self.opcodes)
            and (not self.marks or bool(self.marks & set(marks)))
            and self.all_marks <= set(marks)
            and (not self.dtypes or bool(self.dtypes & set(dtypes)))
        )


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing the compiler's documentation says of the lowering of a call."""

    operator: str
    direction: str
    dtype: str
    varied: str
    limit: Limit
    token: str


def read_limits(file: Path = LIMITS) -> list[Limit]:
    return [limit_of(row) for row in tomllib.loads(file.read_text(encoding="utf-8"))["limit"]]


def limit_of(row: Mapping[str, Any]) -> Limit:
    known = dict(row)
    for name in ("opcodes", "marks", "all_marks", "dtypes"):
        known[name] = frozenset(known.get(name, ()))
    known["evidence"] = tuple(known["evidence"])
    known["chips"] = tuple(known.get("chips", ()))
    return Limit(**known)


def opcode_limits(rows: Mapping[tuple[str, str], Sequence[Row]]) -> list[Limit]:
    """Opcodes that the operator tables call unsupported, as limits."""
    found = []
    for (path, name), statements in sorted(rows.items()):
        opcode = name.removeprefix("hlo::")
        if path != "xla" or opcode == name:
            continue
        for row in statements:
            if row.status is Status.UNSUPPORTED and row.when is None:
                found.append(
                    Limit(
                        opcode,
                        "unsupported",
                        "unsupported",
                        row.evidence,
                        row.note or "is not among the opcodes the compiler lists",
                        opcodes=frozenset({opcode}),
                    )
                )
    return found


def listed(rows: Mapping[tuple[str, str], Sequence[Row]]) -> frozenset[str]:
    """Opcodes that the operator tables know at all."""
    return frozenset(
        n.removeprefix("hlo::") for p, n in rows if p == "xla" and n.startswith("hlo::")
    )


def unlisted(outcomes: Iterable[Outcome], known: frozenset[str]) -> dict[str, int]:
    """Opcodes of lowerings that the tables do not know, with the number of calls they occur in."""
    found: dict[str, int] = {}
    for outcome in outcomes:
        for opcode in {parts(t)[0] for t in outcome.hlo} - known - FRAME:
            found[opcode] = found.get(opcode, 0) + 1
    return found


def facts(outcomes: Iterable[Outcome], limits: Sequence[Limit]) -> Iterator[Fact]:
    """The limits that lowerings run into; frame of a rare dtype counts where nothing else tells."""
    for outcome in outcomes:
        if outcome.status not in ("lowered", "reads-back"):
            continue
        seen: set[str] = set()
        given = str(dict(outcome.arguments))
        for token in sorted(outcome.hlo, key=lambda t: parts(t)[0] in FRAME):
            for limit in limits:
                if limit.id not in seen and limit.fits(token) and limit.asked in given:
                    seen.add(limit.id)
                    yield Fact(
                        outcome.operator,
                        outcome.direction,
                        outcome.dtype,
                        outcome.varied,
                        limit,
                        token,
                    )
                    break


def read_sources(file: Path = LIMITS) -> dict[str, dict[str, str]]:
    """The sources that limits cite and the operator tables do not have."""
    found: dict[str, dict[str, str]] = tomllib.loads(file.read_text(encoding="utf-8"))["source"]
    return found
