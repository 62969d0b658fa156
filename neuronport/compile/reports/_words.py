"""Words that the reports share: how numbers, sizes and shapes are said."""

from __future__ import annotations

from neuronport.compile.result import (
    COMPILER_WORDS,
    NEURON,
    PHASES,
    Attempt,
    Problem,
    Result,
    Tool,
)

_HEADS = {
    "capture": "capture",
    "lowering": "lowering",
    "compile": "compile",
    "first_run": "1st run",
}


def missing(result: Result) -> list[Tool]:
    return [t for t in result.tools if t.compiler == NEURON and not t.usable]


def no_compiler(result: Result) -> str:
    """What is said first where Neuron's compiler is not; empty: it is."""
    if result.neuron:
        return ""
    return (
        "no Neuron compiler here: whether this model compiles for Neuron, and how long it takes, is"
        " not known"
    )


def heads(compiler: str) -> list[str]:
    """Titles of the columns of seconds, each with the compiler's name."""
    name = COMPILER_WORDS[compiler]
    return ["capture s", *(f"{name} {_HEADS[phase]} s" for phase in PHASES[1:])]


def seconds(attempt: Attempt) -> list[str]:
    """One cell for each phase; phases that cannot be told apart share their number."""
    shared: dict[str, str] = {}
    for phases, value in attempt.seconds.together:
        for place, phase in enumerate(phases):
            shared[phase] = f"{value:.3g} (with {_HEADS[phases[-1]]})" if place == 0 else "…"
    cells = []
    for phase in PHASES:
        value = getattr(attempt.seconds, phase)
        cells.append(f"{value:.3g}" if value is not None else shared.get(phase, "-"))
    return cells


def size(count: int) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count = count / 1000  # type: ignore[assignment]
    return f"{count:.3g} GB"


def peak(attempt: Attempt) -> str:
    return size(attempt.peak.value) if attempt.peak else "-"


def shapes(attempt: Attempt) -> str:
    return " ".join(f"{i.name}={i}" for i in attempt.inputs) or "-"


def artifacts(attempt: Attempt) -> str:
    return ", ".join(f"{a.kind} {size(a.bytes)}" for a in attempt.artifacts) or "-"


def graph(attempt: Attempt) -> str:
    return f"{attempt.graph}, {attempt.mode}" if attempt.mode == "training" else attempt.graph


def problem(found: Problem) -> list[tuple[str, str]]:
    """What is known of an error, by kind: said, cause, when, remedy, source."""
    rows = [("said", found.said)]
    if not found.source:
        return [*rows, ("cause", "nothing is known of this code")]
    deduced = dict.fromkeys(found.inferred, " (inferred)")
    for name, value in (
        ("cause", found.cause),
        ("when", found.when),
        ("remedy", found.remedy),
        ("chips", found.chips),
    ):
        if value:
            rows.append((name, f"{value}{deduced.get(name, '')}"))
    if found.operators:
        rows.append(("operators", ", ".join(found.operators)))
    return [*rows, ("source", f"{found.kind}: {found.source}")]
