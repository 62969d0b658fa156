"""The artifact level: do the checkpoints move? From what the code saves and loads, and from trying.

Looking at code cannot show that values survive: without a round trip nothing is concluded that is
better than *not measured*, and what the code has to change for is listed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from neuronport.data import data_folder
from neuronport.findings import Role
from neuronport.portability import source
from neuronport.portability import verdict as words
from neuronport.portability.checkpoints.roundtrip import RoundTrip
from neuronport.portability.verdict import Ground, Holds
from neuronport.records import Record, Records

AREA = "checkpoints"
_MAPPING_RULE = "load-without-map-location"


@cache
def dtypes() -> Mapping[str, Mapping[str, Any]]:
    """Name → what becomes of it on a chip; only those that do not stay as they are."""
    with (data_folder("rules") / "targets" / "dtypes.toml").open("rb") as file:
        rows = tomllib.load(file)["dtype"]
    return {name: row for row in rows for name in row["names"]}


def conclude(records: Records, trips: Sequence[RoundTrip]) -> words.Level:
    """The artifact level, and what it rests on."""
    because: list[Ground] = []
    not_known: list[Ground] = []
    audit = records.audit
    usable = audit if audit is not None and not audit.stale else None
    code = _code(usable, because, not_known)
    tried: list[Holds] = []
    for trip in trips:
        known, grounds, open_ = _trip(trip, usable)
        tried.append(known)
        because += grounds
        not_known += open_
    if not trips:
        not_known.append(
            Ground(
                "whether checkpoints come back as they were: none was tried",
                "neuronport portability --roundtrip CHECKPOINT",
            )
        )
    level = words.weakest(tried)
    if level is Holds.HOLDS and code is Holds.WITH_CHANGES:
        level = code
    figures = {
        "places_that_save_or_load": None if usable is None else len(_rows(usable)),
        "roundtrips": [t.as_json() for t in trips],
    }
    return words.Level("artifact", level, because, not_known, {}, figures)


def _rows(audit: Record) -> list[Mapping[str, Any]]:
    rows = (*audit.body["findings"], *audit.body["references"])
    return [r for r in rows if r.get("area") == AREA and r["context"].get("role") == Role.CODE]


def _code(audit: Record | None, because: list[Ground], not_known: list[Ground]) -> Holds | None:
    """What the code has to change for its checkpoints to move; None: nothing is known."""
    if audit is None:
        not_known.append(
            Ground(
                "what the code saves and loads: no audit that holds", "neuronport audit --record"
            )
        )
        return None
    found: Holds | None = None
    by_rule: dict[str, list[Mapping[str, Any]]] = {}
    for row in _rows(audit):
        if row.get("by_target"):
            by_rule.setdefault(str(row["rule"]), []).append(row)
    for rule, rows in sorted(by_rule.items()):
        errors = [r for r in rows if any(source._is_error(r, t) for t in r["verdict"])]
        title = audit.body.get("rules", {}).get(rule, {}).get("title", rule)
        places = source._places(errors or rows)
        change = Holds.WITH_CHANGES if errors else None
        found = found or change
        because.append(Ground(f"{title} ({rule})", audit.file, change, places=places))
    if not by_rule:
        because.append(
            Ground("nothing that the code saves or loads is tied to a device", audit.file)
        )
    return found


def _trip(trip: RoundTrip, audit: Record | None) -> tuple[Holds, list[Ground], list[Ground]]:
    if trip.status == "refused":
        says = f"cannot be loaded without running it: {trip.problem}"
        return Holds.FAILS, [Ground(f"{says}; {trip.remedy}", trip.path, Holds.FAILS)], []
    if trip.status in ("unreadable", "not-tried"):
        says = trip.problem or "; ".join(trip.notes) or "nothing could be tried"
        remedy = f"; {trip.remedy}" if trip.remedy else ""
        return Holds.NOT_MEASURED, [], [Ground(f"not tried: {says}{remedy}", trip.path)]
    what = f"{trip.tensors} tensors, {trip.bytes:,} bytes, {trip.format}"
    if trip.status == "differs":
        grounds = []
        for leg in trip.legs:
            if leg.problem or leg.same:
                continue
            first = leg.differences[0]
            grounds.append(
                Ground(
                    f"{what}: {leg.how} ({leg.device}): {len(leg.differences)} differ, first "
                    f"{first.name}: {first.what} {first.before} {first.after}".rstrip(),
                    trip.path,
                    Holds.FAILS,
                )
            )
        return Holds.FAILS, grounds, []
    known = Holds.HOLDS
    back = [leg for leg in trip.legs if not leg.problem]
    ways = "; ".join(
        f"{leg.how} ({leg.device})" if leg.device != "cpu" else leg.how for leg in back
    )
    grounds = [
        Ground(f"{what}: names, shapes, dtypes and values are the same: {ways}", trip.path, known)
    ]
    open_ = [Ground(f"{leg.how}: {leg.problem}", trip.path) for leg in trip.legs if leg.problem]
    open_ += [Ground(note, trip.path) for note in trip.notes]
    for name, count in trip.dtypes.items():
        row = dtypes().get(name)
        if row is not None:
            known = Holds.WITH_CHANGES
            cited = "; ".join(e["source"] for e in row["evidence"])
            grounds.append(
                Ground(
                    f"{trip.path}: {count} tensors are {name}: {row['says']}; {row['change']}",
                    cited,
                    known,
                )
            )
    elsewhere = {k: n for k, n in trip.locations.items() if k.partition(":")[0] != "cpu"}
    if elsewhere:
        listed = ", ".join(f"{n} of {k}" for k, n in elsewhere.items())
        asks = audit is None or any(r["rule"] == _MAPPING_RULE for r in audit.body["findings"])
        change = Holds.WITH_CHANGES if asks else None
        known = words.weakest([known, change]) if change else known
        grounds.append(
            Ground(f"saved from a device ({listed}): loading needs map_location", trip.path, change)
        )
    if trip.wide:
        grounds.append(
            Ground(
                f"{trip.wide} values of 64-bit integers need more than 32 bits: on the device they "
                "may be taken as 32-bit ones",
                trip.path,
            )
        )
    if trip.shared:
        names = "; ".join(" = ".join(group[:3]) for group in trip.shared[:3])
        grounds.append(
            Ground(
                f"tensors that share their memory ({names}): a loader has to tie them again",
                trip.path,
            )
        )
    if trip.others:
        open_.append(
            Ground(f"{trip.others} values that are no tensors were not compared", trip.path)
        )
    if not any(d.startswith(("neuron", "xla")) for d in trip.devices):
        seen = ", ".join(sorted(trip.devices))
        open_.append(Ground(f"loading on a Neuron device: only {seen} was there", trip.path))
    return known, grounds, open_
