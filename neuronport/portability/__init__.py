"""Portability at three levels: source, artifact, performance; each with what it rests on.

It reads records and tries checkpoints; it audits, ports and compiles nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from neuronport.portability import artifact, performance, source
from neuronport.portability import runs as measured
from neuronport.portability.checkpoints.roundtrip import RoundTrip
from neuronport.portability.contract import Contract
from neuronport.portability.verdict import LEVELS, Ground, Holds, Level, Portability, Source
from neuronport.records import Record, Records

__all__ = ["LEVELS", "Ground", "Holds", "Level", "Portability", "Source", "conclude"]


def conclude(
    records: Records,
    *,
    contract: Contract | None = None,
    runs: Sequence[Record] = (),
    trips: Sequence[RoundTrip] = (),
    tree: str = "",
) -> Portability:
    """What holds on each level. ``runs``: run records besides those in the folder."""
    problems = [str(p) for p in records.problems]
    read = []
    given = (*records.of("run"), *runs)
    for record in given:
        try:
            read.append(measured.read(record.body, record.file))
        except measured.RunError as error:
            problems.append(f"{error}; mend it as schemas/run.json says")
    levels = (
        _tried("source", records, lambda: source.conclude(records, read)),
        _tried("artifact", records, lambda: artifact.conclude(records, trips)),
        performance.conclude(contract, read),
    )
    return Portability(
        {level.name: level for level in levels},
        contract.requires if contract else (),
        _sources(records, given),
        problems,
        tree,
        contract.file if contract else "",
    )


def _tried(name: str, records: Records, concluded: Callable[[], Level]) -> Level:
    """A record can be shaped otherwise than its schema says: nothing is concluded from it then."""
    try:
        return concluded()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if os.environ.get("NEURONPORT_DEBUG") == "raise":
            raise
        says = f"anything: a record is not as its schema says ({type(error).__name__}: {error})"
        return Level(name, Holds.NOT_MEASURED, not_known=[Ground(says, records.folder)])


def _sources(records: Records, runs: Sequence[Record]) -> list[Source]:
    """The records that were asked; of the kinds a conclusion needs, also those that are not there."""
    found = [
        Source(r.kind, r.file, r.state, r.made, tuple(str(c) for c in r.stale))
        for r in (*(r for r in records if r.kind not in ("portability", "run")), *runs)
    ]
    has_port = records.churn is not None or records.port is not None
    for kind, there in (
        ("audit", records.audit is not None),
        ("port", has_port),
        ("run", bool(runs)),
    ):
        if not there:
            found.append(Source(kind, "", "missing"))
    return sorted(found, key=lambda s: (s.state == "missing", s.kind, s.file))
