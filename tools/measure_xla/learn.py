"""Conditions learned from outcomes: on which arguments an operator does not lower.

Every argument was varied alone, so a variation that comes out otherwise than the ordinary call
gives a candidate in the language of conditions (docs/operator-conditions.md). Candidates are tried
on everything that was recorded of the operator, example calls included. Kept are the fewest that
are true of every call that came out badly and of none that came out well; a bad call that nothing
explains is counted, not explained away.

Values that were not tried are not claimed, with two exceptions: when at least two values were bad
and the ordinary one alone was good, ``!= ordinary`` is; and sizes that do not divide.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from neuronport.operators.conditions import (
    Argument,
    CallFacts,
    Condition,
    ConditionError,
    parse,
)
from neuronport.operators.tables import Schema
from tools.measure_xla.outcomes import Outcome
from tools.measure_xla.plan import ALSO

CLASS_OF: Mapping[str, str] = {
    "lowered": "device",
    "reads-back": "reads-back",
    "falls-back": "cpu-fallback",
    "raises": "unsupported",
    "crash": "unsupported",
}
"""Status of an outcome → status of the operator tables; others say nothing."""
MOST_ATOMS = 4
MOST_SECONDS = 30
MOST_EXAMPLES = 12
SPATIAL = 3
"""Least rank of what has a batch, channels and places: N C L."""


@dataclass(frozen=True, slots=True)
class Learned:
    operator: str
    direction: str
    status: str
    when: str
    """Empty: on every call that was tried."""
    explained: int
    """Calls with this status of which the condition is true."""
    good: int
    """Calls without it of which the condition is false."""
    unexplained: int
    """Calls with this status of which it is not."""
    fallback: tuple[str, ...]
    dtypes: tuple[str, ...]


# -- what is known of a call ----------------------------------------------------------------------


def argument_of(value: Any) -> Argument:
    if _is_tensor(value):
        return Argument(
            dtype=value[1], shape=tuple(value[2]), contiguous="strided" not in value[3:]
        )
    if isinstance(value, list) and any(_is_tensor(v) for v in value):
        kinds = {v[1] for v in value if _is_tensor(v)}
        return Argument(dtype=kinds.pop() if len(kinds) == 1 else "")
    return Argument(value=value)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, list) and value[:1] == ["T"] and len(value) >= 3


def facts_of(outcome: Outcome, schema: Schema | None) -> CallFacts:
    return CallFacts(
        {name: argument_of(value) for name, value in outcome.arguments.items()},
        complete=True,
        defaults=schema.defaults if schema else {},
    )


# -- candidates -----------------------------------------------------------------------------------


def literal(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if value.isidentifier() else f'"{value}"'
    if isinstance(value, list):
        return "[" + ", ".join(literal(v) for v in value) + "]"
    return str(value)


def concerns(outcome: Outcome) -> str:
    """The argument that was varied; empty: the call speaks of all of its arguments."""
    return "" if outcome.varied.startswith(ALSO) else outcome.varied.partition("=")[0]


def _dtype_atoms(name: str, bad: Sequence[Outcome], good: Sequence[Any]) -> Iterator[str]:
    """Only where the dtype was what differed: not from other variations of an int64 case."""
    kinds = {o.arguments[name][1] for o in bad if not concerns(o) or "=T[" not in o.varied}
    only = sorted(kinds - {v[1] for v in good})
    if only:
        yield f"dtype({name}) in [{', '.join(only)}]" if only[1:] else f"dtype({name}) == {only[0]}"


def _tensor_atoms(name: str, bad: Sequence[Any], good: Sequence[Any]) -> Iterator[str]:
    def told(pick: Any) -> tuple[set[Any], set[Any]]:
        return {pick(v) for v in bad}, {pick(v) for v in good}

    bad_empty, good_empty = told(lambda v: 0 in v[2])
    if bad_empty == {True} and True not in good_empty:
        yield f"numel({name}) == 0"
    bad_strided, good_strided = told(lambda v: "strided" in v[3:])
    if bad_strided == {True} and True not in good_strided:
        yield f"not contiguous({name})"
    bad_ranks, good_ranks = told(lambda v: len(v[2]))
    ranks = sorted(bad_ranks - good_ranks)
    if ranks:
        yield f"rank({name}) in {ranks}" if ranks[1:] else f"rank({name}) == {ranks[0]}"


def _sizes(name: str, other: str, bad: Sequence[Outcome]) -> Iterator[str]:
    """That the last sizes of one tensor are no multiples of those of another: pooling's gradient."""
    ranks = {len(o.arguments[n][2]) for o in bad for n in (name, other)}
    if name == other or len(ranks) != 1 or not max(ranks) >= SPATIAL:
        return
    places = range(SPATIAL - 1 - max(ranks), 0)
    yield " or ".join(f"size({other}, {i}) % size({name}, {i}) != 0" for i in places)


def _list_atoms(
    name: str, bad: Sequence[Any], good: Sequence[Any], tensors: Iterable[str]
) -> Iterator[str]:
    if any(all(x == 1 for x in v) for v in good) and not any(all(x == 1 for x in v) for v in bad):
        yield f"not every({name}, 1)"
    if any(all(x == 0 for x in v) for v in good) and not any(all(x == 0 for x in v) for v in bad):
        yield f"not every({name}, 0)"
    count = min((len(v) for v in [*bad, *good]), default=0)
    for tensor in tensors:
        tests = [f"size({tensor}, {i - count}) % item({name}, {i}) != 0" for i in range(count)]
        if tests:
            yield " or ".join(tests)
    lengths = sorted({len(v) for v in bad} - {len(v) for v in good})
    for length in lengths:
        yield f"len({name}) == {length}"
    for place in range(count):
        values = {v[place] for v in bad} - {v[place] for v in good}
        if len(values) == 1:
            yield f"item({name}, {place}) == {literal(values.pop())}"


def _plain_atoms(name: str, bad: Sequence[Any], good: Sequence[Any]) -> Iterator[str]:
    values = _distinct(v for v in bad if v not in good)
    if not values:
        return
    if None in good and None not in values:
        yield f"given({name})"
    if values == [None]:
        yield f"not given({name})"
    others = _distinct(good)
    if len(others) == 1 and others[0] is not None and len(values) > 1 and None not in values:
        yield f"{name} != {literal(others[0])}"
    told = [v for v in values if v is not None and not isinstance(v, list)]
    if len(told) == 1:
        yield f"{name} == {literal(told[0])}"
    elif told:
        yield f"{name} in {literal(told)}"


def _distinct(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if not any(value == f and type(value) is type(f) for f in found):
            found.append(value)
    return found


def value_in(outcome: Outcome, name: str, schema: Schema | None) -> Any:
    if name in outcome.arguments:
        return outcome.arguments[name]
    return schema.defaults.get(name) if schema else None


def atoms(bad: Sequence[Outcome], good: Sequence[Outcome], schema: Schema | None) -> list[str]:
    """Candidates, simplest first."""
    names = list(dict.fromkeys(n for o in (*bad, *good) for n in o.arguments))
    tensors = [n for n in names if all(_is_tensor(o.arguments.get(n)) for o in bad)]
    found: list[str] = []
    varied = {concerns(o) for o in bad} - {""}
    for name in sorted(names, key=lambda n: (n not in varied, names.index(n))):
        # a variation speaks of the argument it varies; the ordinary call speaks of all of them
        bads = [o for o in bad if concerns(o) in ("", name)]
        if not bads:
            continue
        ours = [value_in(o, name, schema) for o in bads]
        theirs = [value_in(o, name, schema) for o in good]
        if all(_is_tensor(v) for v in ours):
            tensor_values = [v for v in theirs if _is_tensor(v)]
            found += _dtype_atoms(name, bads, tensor_values)
            found += _tensor_atoms(name, ours, tensor_values)
            found += [text for other in tensors for text in _sizes(name, other, bads)]
            if any(v is None for v in theirs):
                found.append(f"given({name})")
        elif any(isinstance(v, list) for v in ours):
            lists = [v for v in ours if _numbers(v)]
            found += _list_atoms(name, lists, [v for v in theirs if _numbers(v)], tensors)
            inner = [[t for t in v if _is_tensor(t)] for v in ours if isinstance(v, list)]
            kinds = {t[1] for ts in inner for t in ts}
            known = {t[1] for v in theirs if isinstance(v, list) for t in v if _is_tensor(t)}
            only = sorted(kinds - known)
            if only:
                found.append(f"dtype({name}) in [{', '.join(only)}]")
            if any(v is None for v in theirs) and not any(v is None for v in ours):
                found.append(f"given({name})")
        if not all(_is_tensor(v) or isinstance(v, list) for v in ours):
            found += _plain_atoms(name, ours, theirs)
    return list(dict.fromkeys(found))


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, (int, float)) for v in value)


def parsed(text: str) -> Condition | None:
    try:
        return parse(text)
    except ConditionError:
        return None


# -- choosing -------------------------------------------------------------------------------------


def learn(
    outcomes: Sequence[Outcome], schemas: Mapping[str, Schema], calls: Sequence[Outcome] = ()
) -> list[Learned]:
    """For every operator and direction with a call that did not lower: when it does not."""
    groups: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        unrecorded = outcome.status == "crash" and not outcome.arguments
        if outcome.status in CLASS_OF and outcome.source == "ordinary" and not unrecorded:
            groups[outcome.operator, outcome.direction].append(outcome)
    for call in calls:
        if call.status in CLASS_OF:
            groups[call.operator, "forward"].append(call)
    found: list[Learned] = []
    for (operator, direction), members in sorted(groups.items()):
        for status in ("cpu-fallback", "unsupported", "reads-back"):
            schema = schemas.get(f"aten::{operator}")
            one = _learn_one(operator, direction, status, members, schema)
            if one is not None:
                found.append(one)
    return found


def _learn_one(
    operator: str, direction: str, status: str, members: Sequence[Outcome], schema: Schema | None
) -> Learned | None:
    bad = [o for o in members if CLASS_OF[o.status] == status]
    good = [o for o in members if CLASS_OF[o.status] != status]
    if not bad:
        return None
    chosen: list[str] = []
    left = bad
    if good:
        chosen, left = cover(bad, good, schema)
    return Learned(
        operator,
        direction,
        status,
        " or ".join(f"({c})" if " or " in c and len(chosen) > 1 else c for c in chosen)
        or ("" if not good else "?"),
        len(bad) - len(left) if good else len(bad),
        len(good),
        len(left) if good else 0,
        tuple(sorted({f for o in bad for f in o.fallback})),
        tuple(sorted({o.dtype for o in bad})),
    )


def cover(
    bad: Sequence[Outcome], good: Sequence[Outcome], schema: Schema | None
) -> tuple[list[str], list[Outcome]]:
    """The fewest candidates that explain ``bad`` and touch nothing of ``good``; what is left."""
    known_good = [facts_of(o, schema) for o in good]
    known_bad = [facts_of(o, schema) for o in bad]
    reach: dict[str, set[int]] = {}
    for text in _candidates(bad, good, schema):
        condition = parsed(text)
        if condition is None:
            continue
        touched = {i for i, f in enumerate(known_bad) if condition.holds(f)}
        wrong = [o for o, f in zip(good, known_good, strict=True) if condition.holds(f)]
        if not wrong:
            reach[text] = touched
        elif touched:
            both = _narrowed(text, [bad[i] for i in touched], wrong, known_good, schema)
            for narrower, holds in both:
                reach.setdefault(narrower, {i for i in touched if holds.holds(known_bad[i])})
    chosen: list[str] = []
    left = set(range(len(bad)))
    while left and len(chosen) < MOST_ATOMS:
        # a single candidate before a pair: pairs come later in the order of `reach`
        best = max(reach, key=lambda t: (len(reach[t] & left), " and " not in t), default="")
        if not best or not reach[best] & left:
            break
        chosen.append(best)
        left -= reach[best]
    return chosen, [bad[i] for i in sorted(left)]


def _narrowed(
    text: str,
    bad: Sequence[Outcome],
    wrong: Sequence[Outcome],
    known_good: Sequence[CallFacts],
    schema: Schema | None,
) -> Iterator[tuple[str, Condition]]:
    """``text and …`` that leaves ``wrong`` alone: two arguments have to come together."""
    whole = [replace(o, varied="") for o in bad]
    others = atoms(whole, [replace(o, varied="") for o in wrong], schema)
    others.sort(key=lambda a: a.startswith("dtype("))  # what all cases share is told last
    for other in others[:MOST_SECONDS]:
        both = " and ".join(f"({x})" if " or " in x else x for x in (text, other))
        condition = parsed(both)
        if condition is not None and not any(condition.holds(f) for f in known_good):
            yield both, condition


def _candidates(
    bad: Sequence[Outcome], good: Sequence[Outcome], schema: Schema | None
) -> list[str]:
    """From all bad calls together, then from those of each varied argument, then of each one."""
    found = atoms(bad, good, schema)
    by_argument: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in bad:
        by_argument[concerns(outcome)].append(outcome)
    for name, group in by_argument.items():
        if name:
            found += _about(name, group, good, schema)
    for outcome in bad[:MOST_EXAMPLES]:
        found += atoms([outcome], good, schema)
    for outcome in bad[:MOST_EXAMPLES]:  # true of good calls too: only together with another
        found += atoms([outcome], [], schema)
    return list(dict.fromkeys(found))


def _about(
    name: str, group: Sequence[Outcome], good: Sequence[Outcome], schema: Schema | None
) -> list[str]:
    return [a for a in atoms(group, good, schema) if f"{name}" in a]
