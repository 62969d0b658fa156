"""The operator tables against what was measured: rows of rules/operators/xla that do not agree.

Only what torch_xla decides is asked: a documented limit of the compiler behind it cannot be seen
here, and is told as such.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from neuronport.operators.tables import Row, Schema, Status
from tools.measure_xla.learn import CLASS_OF, facts_of
from tools.measure_xla.outcomes import Outcome

LOWERING = "xla/lowering.tsv"


@dataclass(frozen=True, slots=True)
class Disagreement:
    operator: str
    place: str
    says: str
    measured: str
    calls: int
    of: int
    example: str


def applying(rows: Sequence[Row], outcome: Outcome, schema: Schema | None) -> Row | None:
    """The row that speaks of this call: one whose condition is true, else the unconditional one."""
    call = facts_of(outcome, schema)
    fitting = [r for r in rows if r.direction == outcome.direction and r.stage in ("*", "eager")]
    for row in fitting:
        if row.when is not None and row.when.holds(call):
            return row
    return next((r for r in fitting if r.when is None), None)


def disagreements(
    rows: Mapping[tuple[str, str], Sequence[Row]],
    schemas: Mapping[str, Schema],
    outcomes: Sequence[Outcome],
) -> Iterator[Disagreement]:
    found: dict[tuple[str, str, str, str], list[Outcome]] = defaultdict(list)
    asked: Counter[tuple[str, str]] = Counter()
    for outcome in outcomes:
        status = CLASS_OF.get(outcome.status)
        if status is None or outcome.source == "opinfo":
            continue
        name = f"aten::{outcome.operator}"
        own = [r for r in rows.get(("xla", name), ()) if r.place.startswith(LOWERING)]
        row = applying(own, outcome, schemas.get(name))
        if row is None:
            continue
        asked[outcome.operator, row.place] += 1
        if not agrees(row.status, status):
            key = (outcome.operator, row.place, _said(row), status)
            found[key].append(outcome)
    for (operator, place, says, status), calls in sorted(found.items()):
        example = f"{calls[0].dtype} {calls[0].varied or 'ordinary'} {calls[0].error}".strip()
        yield Disagreement(
            operator, place, says, status, len(calls), asked[operator, place], example
        )


def _said(row: Row) -> str:
    return str(row.status) + (f" when {row.when}" if row.when is not None else "")


def agrees(says: Status, measured: str) -> bool:
    if measured == "reads-back":
        return says is not Status.UNSUPPORTED
    if says in (Status.DEVICE, Status.DECOMPOSES, Status.SLOW):
        return measured == "device"
    return says is Status.UNKNOWN or says == measured


@dataclass(frozen=True, slots=True)
class Confirmation:
    operator: str
    place: str
    says: str
    true: int
    """Calls of which the condition is true, and which came out as it says."""
    false: int
    """Calls of which it is false, and which came out otherwise."""


def confirmations(
    rows: Mapping[tuple[str, str], Sequence[Row]],
    schemas: Mapping[str, Schema],
    outcomes: Sequence[Outcome],
) -> Iterator[Confirmation]:
    """Conditional rows that calls on both sides of the condition bear out, and none contradicts."""
    calls: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.status in CLASS_OF and outcome.source != "opinfo":
            calls[outcome.operator, outcome.direction].append(outcome)
    for (path, name), statements in sorted(rows.items()):
        operator = name.removeprefix("aten::")
        for row in statements:
            if path != "xla" or row.when is None or not row.place.startswith(LOWERING):
                continue
            known = [
                (row.when.holds(facts_of(o, schemas.get(name))), CLASS_OF[o.status] == row.status)
                for o in calls.get((operator, row.direction), ())
            ]
            true, false = known.count((True, True)), known.count((False, False))
            if true and false and not known.count((True, False)) + known.count((False, True)):
                yield Confirmation(operator, row.place, _said(row), true, false)
