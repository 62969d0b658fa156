"""What was measured: in words that need no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

BACKEND = "XLA:CPU"
"""Where everything here ran, and whose every second is."""
STATUSES = (
    "lowered",
    "reads-back",
    "falls-back",
    "raises",
    "crash",
    "timeout",
    "missing",
    "refused",
    "skipped",
)


@dataclass(frozen=True, slots=True)
class Call:
    """What became of a call.

    ``lowered``: there is HLO; ``reads-back``: and a value went to the host; ``falls-back``: something
    ran on the CPU; ``raises``, ``crash``, ``timeout``; and not tried: ``missing`` (that torch has no
    such operator), ``refused`` (the CPU does not take it either), ``skipped`` (its arguments are
    not known).
    """

    status: str
    fallback: tuple[str, ...] = ()
    """The overloads that ran on the CPU."""
    hlo: tuple[str, ...] = ()
    """Opcodes with what they apply and the dtypes of their results."""
    error: str = ""

    @property
    def ran(self) -> bool:
        return self.status not in ("missing", "refused", "skipped", "timeout")

    def as_json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "fallback": list(self.fallback),
            "hlo": list(self.hlo),
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class Cut:
    """A node at which what was pending had to be compiled and executed."""

    node: str
    operator: str
    because: tuple[str, ...]
    """The overloads that ran on the CPU there."""


@dataclass(frozen=True, slots=True)
class Whole:
    """The graph run as lazy tensors, twice."""

    cuts: tuple[Cut, ...]
    executed: int
    """Programs that one run executes."""
    compiled: int
    """Programs that the first run compiles."""
    compiled_again: int
    """Programs that the second run, with the same inputs, compiles."""
    fallbacks: Mapping[str, int]
    hlo: Mapping[str, int]
    """Opcodes of what is left after the last cut → instructions."""
    instructions: int
    compile_seconds: float
    first_seconds: float
    second_seconds: float
    finite: bool

    def as_json(self) -> dict[str, Any]:
        return {
            "cuts": [
                {"node": c.node, "operator": c.operator, "because": list(c.because)}
                for c in self.cuts
            ],
            "programs_executed": self.executed,
            "programs_compiled": self.compiled,
            "programs_compiled_by_a_second_run": self.compiled_again,
            "fallbacks": dict(self.fallbacks),
            "hlo_of_the_last_program": dict(self.hlo),
            "hlo_instructions_of_the_last_program": self.instructions,
            "seconds_are": BACKEND,
            "compile_seconds": self.compile_seconds,
            "first_run_seconds": self.first_seconds,
            "second_run_seconds": self.second_seconds,
            "results_finite": self.finite,
        }


@dataclass(frozen=True)
class GraphLowering:
    """One graph."""

    graph: str
    mode: str
    nodes: Mapping[str, Call]
    """By the node's name; arithmetic on sizes is left out."""
    operators: Mapping[str, str] = field(default_factory=dict)
    """Of the nodes."""
    different: int = 0
    """Calls that are not alike."""
    whole: Whole | None = None
    why: str = ""
    """Why something is missing."""

    def count(self, status: str) -> int:
        return sum(call.status == status for call in self.nodes.values())

    def as_json(self) -> dict[str, Any]:
        return {
            "graph": self.graph,
            "mode": self.mode,
            "different_calls": self.different,
            "nodes": {name: call.as_json() for name, call in self.nodes.items()},
            "whole": self.whole.as_json() if self.whole else None,
            "missing_because": self.why,
        }


@dataclass(frozen=True)
class Lowering:
    """Every graph of a record."""

    versions: Mapping[str, str]
    graphs: tuple[GraphLowering, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        return {
            "measured_on": BACKEND,
            "versions": dict(self.versions),
            "graphs": [g.as_json() for g in self.graphs],
        }
