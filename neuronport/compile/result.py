"""What came of compiling: one attempt for each graph, shape of inputs and driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from neuronport.compile.neff import Neff

NEURON, XLA_CPU = "neuron", "xla-cpu"
"""Kinds of compilers. What one takes says nothing of the other."""
COMPILER_WORDS = {NEURON: "Neuron", XLA_CPU: "XLA:CPU"}

PHASES = ("capture", "lowering", "compile", "first_run")
STATUSES = ("compiled", "cut", "failed", "timed-out", "over-memory", "crashed", "not-tried")
"""``cut``: not one program; a part of it ran on the host between several."""


@dataclass(frozen=True, slots=True)
class Input:
    name: str
    dtype: str
    shape: tuple[int | str, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype, "shape": list(self.shape)}


@dataclass(frozen=True, slots=True)
class Seconds:
    """By phase; ``None``: not measured. ``together`` holds phases that cannot be told apart."""

    capture: float | None = None
    lowering: float | None = None
    compile: float | None = None
    first_run: float | None = None
    together: tuple[tuple[tuple[str, ...], float], ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            **{phase: getattr(self, phase) for phase in PHASES},
            "not_separable": [
                {"phases": list(phases), "seconds": seconds} for phases, seconds in self.together
            ],
        }


@dataclass(frozen=True, slots=True)
class Measured:
    """A number or a word, and how it was had."""

    value: Any
    how: str


@dataclass(frozen=True, slots=True)
class Artifact:
    kind: str
    """``neff``, ``hlo``, ``torchscript``."""
    bytes: int
    file: str = ""
    """Where it was kept; empty: it was not."""
    neff: Neff | None = None
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "bytes": self.bytes,
            "file": self.file,
            "neff": self.neff.as_json() if self.neff else None,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing a tool said, with what is known of it."""

    code: str
    said: str
    """The line."""
    cause: str = ""
    when: str = ""
    remedy: str = ""
    chips: str = ""
    inferred: tuple[str, ...] = ()
    """Which of these fields are deduced, not stated by the source."""
    kind: str = ""
    source: str = ""
    """Empty: nothing is known of this code."""
    operators: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "said": self.said,
            "cause": self.cause,
            "when": self.when,
            "remedy": self.remedy,
            "chips": self.chips,
            "inferred": list(self.inferred),
            "evidence": {"kind": self.kind, "source": self.source} if self.source else None,
            "operators": list(self.operators),
        }


@dataclass(frozen=True, slots=True)
class Place:
    """A node at which the host has to step in, with its line."""

    node: str
    operator: str
    because: tuple[str, ...] = ()
    file: str = ""
    line: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "node": self.node,
            "operator": self.operator,
            "because": list(self.because),
            "file": self.file,
            "line": self.line,
        }


@dataclass(frozen=True, slots=True)
class Attempt:
    driver: str
    compiler: str
    """``neuron`` or ``xla-cpu``."""
    graph: str
    mode: str
    inputs: tuple[Input, ...]
    status: str
    because: str = ""
    """One line: why it is not ``compiled``."""
    ended_in: str = ""
    """The phase in which it ended, if it is not ``compiled``."""
    seconds: Seconds = field(default_factory=Seconds)
    peak: Measured | None = None
    cache: Measured = field(default_factory=lambda: Measured("not known", ""))
    """``hit``, ``miss``, ``none`` (nothing is kept) or ``not known``."""
    programs: int | None = None
    """Programs that one run executes."""
    again: int | None = None
    """Programs that a second run with the same inputs compiles."""
    cuts: tuple[Place, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    opcodes: Mapping[str, int] = field(default_factory=dict)
    """HLO instructions by kind."""
    flags: tuple[str, ...] = ()
    device: str = ""
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        seconds = self.seconds.as_json()
        return {
            "driver": self.driver,
            "compiler": self.compiler,
            "graph": self.graph,
            "mode": self.mode,
            "inputs": [i.as_json() for i in self.inputs],
            "status": self.status,
            "because": self.because,
            "ended_in": self.ended_in,
            "neuron_seconds": seconds if self.compiler == NEURON else None,
            "xla_cpu_seconds": seconds if self.compiler == XLA_CPU else None,
            "peak_memory": None
            if self.peak is None
            else {"bytes": self.peak.value, "how": self.peak.how},
            "cache": {"word": self.cache.value, "how": self.cache.how},
            "programs": self.programs,
            "programs_compiled_by_a_second_run": self.again,
            "cuts": [c.as_json() for c in self.cuts],
            "artifacts": [a.as_json() for a in self.artifacts],
            "hlo_instructions": dict(self.opcodes),
            "flags": list(self.flags),
            "device": self.device,
            "problems": [p.as_json() for p in self.problems],
            "notes": list(self.notes),
            "last_lines": list(self.tail),
        }


@dataclass(frozen=True, slots=True)
class Tool:
    """A driver, and whether it can be used here."""

    driver: str
    title: str
    compiler: str
    usable: bool
    because: str
    """Why not; or what was found."""
    versions: Mapping[str, str] = field(default_factory=dict)
    get: tuple[str, ...] = ()
    """How to get it."""
    used: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "driver": self.driver,
            "title": self.title,
            "compiler": self.compiler,
            "usable": self.usable,
            "because": self.because,
            "versions": dict(self.versions),
            "get": list(self.get),
            "used": self.used,
        }


@dataclass(frozen=True)
class Result:
    model: str
    target: str
    chip: str
    """The chip that was compiled for; empty: the one that is here, or none."""
    tools: tuple[Tool, ...]
    attempts: tuple[Attempt, ...]
    seconds_limit: int
    megabytes_limit: int
    model_class: str = ""
    notes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    """Why there is no attempt where one was meant to be."""
    asked: tuple[str, ...] = ()
    """Drivers that were named."""
    files: tuple[str, ...] = ()
    """Of the user's code, as far as they are known."""

    @property
    def neuron(self) -> bool:
        """Whether a compiler of Neuron's can be used here."""
        return any(t.usable and t.compiler == NEURON for t in self.tools)

    @property
    def status(self) -> int:
        """The exit status: see ``docs/compile.md``."""
        if any(a.status != "compiled" for a in self.attempts):
            return 1
        if not self.attempts:
            return 3 if self.failures or self.neuron else 4
        if not self.asked and all(a.compiler != NEURON for a in self.attempts):
            return 4
        return 3 if self.failures else 0


def by_driver(attempts: Sequence[Attempt]) -> dict[str, list[Attempt]]:
    found: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        found.setdefault(attempt.driver, []).append(attempt)
    return found
