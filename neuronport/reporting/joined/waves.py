"""The work in an order: what the tool can write, what makes it run, compute right, fast, and leave.

A cause is in one wave as a whole, the first that one of its places asks for, so that the waves'
efforts add up to the audit's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neuronport.findings import Confidence, Verdict
from neuronport.reporting.summary import EffortRange, Group


@dataclass(frozen=True, slots=True)
class Wave:
    key: str
    title: str
    why: str
    verdicts: tuple[Verdict, ...]


WRITTEN = Wave(
    "written",
    "Take what the tool writes",
    "Every place of these causes has a proposed change that is safe on CUDA and on the CPU. "
    "neuronport port --write makes them; read the diff.",
    (),
)
WAVES = (
    Wave(
        "run",
        "Make it run on the chip",
        "Each cause has a place that raises, does not compile, or leaves the program or an operator on the host CPU; its other places may only name CUDA.",
        (Verdict.BREAKS, Verdict.FALLS_BACK),
    ),
    Wave(
        "compute",
        "Make it compute the same",
        "These places run and may give other numbers. Compare losses and outputs with CUDA here.",
        (Verdict.DIVERGES,),
    ),
    Wave(
        "speed",
        "Make it fast",
        "Each cause has a place that compiles anew, waits for the host or uses the device badly in every step.",
        (Verdict.RECOMPILES, Verdict.SYNCS, Verdict.SLOW),
    ),
    Wave(
        "portable",
        "Keep it able to leave",
        "These places name one vendor. They stop nothing today and keep two code paths apart.",
        (Verdict.LOCKS_IN,),
    ),
)
POSSIBLE = Wave(
    "possible",
    "Look at what is only possible",
    "The code could not be understood well enough to be sure. Look first; mend if it is so.",
    (),
)


def wave_of(group: Group, written: frozenset[str]) -> Wave:
    """``written``: the fingerprints that a safe proposed change is for."""
    if group.places and all(f.fingerprint in written for f in group.places):
        return WRITTEN
    if group.confidence is Confidence.POSSIBLE:
        return POSSIBLE
    return next(w for w in WAVES if group.verdict in w.verdicts)


def waves(groups: Sequence[Group], written: frozenset[str]) -> list[dict[str, Any]]:
    """The waves that have something to do, in order, their causes as indexes into ``groups``."""
    members: dict[str, list[int]] = {}
    for number, group in enumerate(groups):
        members.setdefault(wave_of(group, written).key, []).append(number)
    found = []
    for wave in (WRITTEN, *WAVES, POSSIBLE):
        chosen = members.get(wave.key, [])
        if not chosen:
            continue
        effort = sum((groups[i].effort_range for i in chosen), EffortRange())
        found.append(
            {
                "wave": wave.key,
                "title": wave.title,
                "why": wave.why,
                "causes": len(chosen),
                "places": sum(len(groups[i].places) for i in chosen),
                "files": len({f.location.path for i in chosen for f in groups[i].places}),
                "written_by_tool": sum(
                    f.fingerprint in written for i in chosen for f in groups[i].places
                ),
                "effort": effort.as_json(),
                "groups": chosen,
            }
        )
    return found
