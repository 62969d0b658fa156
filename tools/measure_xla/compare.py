"""Two runs side by side: what differs, and what kind of difference it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tools.measure_xla.outcomes import Outcome, Record


@dataclass(frozen=True, slots=True)
class Difference:
    key: tuple[str, str, str, str, str]
    kind: str
    """``versions``, ``only in one``, ``machine``, ``status``, ``fallback``, ``hlo``, ``message``."""
    detail: str


EXPLAINED: dict[str, str] = {
    "versions": "the two runs measured different versions",
    "only in one": "the other run did not get that far",
    "machine": "one run was cut off by its time limit; says nothing of the operator",
    "message": "the same outcome in other words",
}


def compare(one: Record, other: Record) -> Iterator[Difference]:
    if one.header.get("versions") != other.header.get("versions"):
        yield Difference(
            ("", "", "", "", ""),
            "versions",
            f"{one.header.get('versions')} and {other.header.get('versions')}",
        )
    left = {o.key: o for o in one.outcomes}
    right = {o.key: o for o in other.outcomes}
    for key in sorted(left.keys() | right.keys()):
        if key not in left or key not in right:
            yield Difference(key, "only in one", "second" if key not in left else "first")
        else:
            found = difference(left[key], right[key])
            if found:
                yield Difference(key, *found)


def difference(one: Outcome, other: Outcome) -> tuple[str, str] | None:
    if one.status != other.status:
        kind = "machine" if "timeout" in (one.status, other.status) else "status"
        return kind, f"{one.status} and {other.status}"
    if one.fallback != other.fallback:
        return "fallback", f"{' '.join(one.fallback)} and {' '.join(other.fallback)}"
    if one.hlo != other.hlo:
        return "hlo", " ".join(sorted(set(one.hlo) ^ set(other.hlo)))
    if (one.error, one.note) != (other.error, other.note):
        return "message", f"{one.error or one.note} / {other.error or other.note}"
    return None


def common(one: Record, other: Record) -> int:
    """How many outcomes both runs have."""
    return len({o.key for o in one.outcomes} & {o.key for o in other.outcomes})
