"""Lowering by torch_xla, and XLA's compiler for the CPU behind it: not Neuron's compiler.

What it shows of Neuron is the lowering, which the `xla` path shares: what is lowered, what is cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from neuronport.compile.drivers import Looked, _ended
from neuronport.compile.drivers._lowering import Lowered, at, graphs, lower
from neuronport.compile.here import Here
from neuronport.compile.job import Job
from neuronport.compile.result import XLA_CPU, Artifact, Attempt, Measured, Seconds
from neuronport.graph.record import Graph
from neuronport.xla_environment import XlaEnvironmentError, XlaPython

ORDER = 90
TITLE = "torch_xla's lowering and XLA's compiler for the CPU"
COMPILER = XLA_CPU
PATH = "xla"

_PEAK = (
    "the most that its process had in memory (getrusage), torch and torch_xla and the model's"
    " parameters among it"
)


def look(here: Here) -> Looked:
    try:
        versions = here.xla
    except XlaEnvironmentError as error:
        return Looked(False, str(error))
    return Looked(True, here.xla_python, {k: versions[k] for k in ("torch", "torch_xla")})


def for_chip(here: Here) -> bool:
    return False


def compile(job: Job, here: Here) -> list[Attempt]:
    python = XlaPython(here.xla_python)
    return list(_attempts(job, python))


def _attempts(job: Job, python: XlaPython) -> Iterator[Attempt]:
    for number, graph, data, values, _record in graphs(job):
        file = job.workdir("xla_cpu") / f"{number}.hlo.pb"
        capture = data.get("seconds")
        if data.get("unvalued"):
            found = lower_nothing(graph, str(data["unvalued"]), capture)
        else:
            lowered = lower(job, python, graph, data, values, file, and_run=True)
            found = _attempt(lowered, capture)
        if file.is_file():
            kept = job.keep(file, "hlo", f"xla_cpu-{number}.hlo.pb")
            found = _with(found, kept)
        yield found


def lower_nothing(graph: Graph, why: str, capture: float | None) -> Attempt:
    from neuronport.compile.drivers._lowering import inputs_of

    return Attempt(
        "xla_cpu",
        XLA_CPU,
        graph.title,
        graph.mode,
        inputs_of(graph),
        "not-tried",
        why,
        "capture",
        Seconds(capture),
        device="CPU",
    )


def _with(attempt: Attempt, artifact: Artifact) -> Attempt:
    from dataclasses import replace

    return replace(attempt, artifacts=(artifact,))


def _attempt(found: Lowered, capture: float | None) -> Attempt:
    status, because, ended_in = "compiled", "", ""
    if found.failed:
        status, because, ended_in = "failed", f"not lowered: {found.refused}", "lowering"
    elif not found.compiled or found.done.why:
        status, because = _ended.status(found.done.why)
        because = _ended.with_last(because, found.done.tail)
        ended_in = found.phase if not found.compiled else "first_run"
        if _ended.is_memory(because):
            status = "over-memory"
    elif found.cuts:
        first = found.cuts[0]
        more = f" and at {len(found.cuts) - 1} more" if len(found.cuts) > 1 else ""
        status = "cut"
        because = (
            f"{', '.join(first.because)} runs on the host at {first.operator}{at(first)}{more}"
        )
        ended_in = "lowering"
    return Attempt(
        "xla_cpu",
        XLA_CPU,
        found.graph.title,
        found.graph.mode,
        found.inputs,
        status,
        because,
        ended_in,
        _seconds(found, capture),
        Measured(found.peak, _PEAK) if found.peak else None,
        _cache(found.compiled),
        found.compiled.get("executed"),
        found.again.get("compiled"),
        found.cuts,
        (),
        found.lowered.get("opcodes", {}),
        (),
        "CPU",
        (),
        _notes(found),
        found.done.tail if status in ("crashed", "timed-out", "over-memory") else (),
    )


def _seconds(found: Lowered, capture: float | None) -> Seconds:
    lowering, run = _rounded(found.lowered, "seconds"), _rounded(found.compiled, "run")
    compiling = _rounded(found.compiled, "compile")
    if not found.cuts:
        return Seconds(capture, lowering, compiling, run)
    # what was pending at a cut was run there, while the rest was still to be lowered
    together = (
        (((("lowering", "first_run")), round(lowering + run, 4)),) if lowering and run else ()
    )
    return Seconds(capture, None, compiling, None, together)


def _cache(compiled: Mapping[str, Any]) -> Measured:
    if not compiled:
        return Measured("not known", "")
    if compiled["compiled"]:
        return Measured("miss", "a process of its own: torch_xla's cache in memory was empty")
    return Measured("hit", "torch_xla compiled nothing")


def _notes(found: Lowered) -> tuple[str, ...]:
    notes = []
    if found.again:
        notes.append(f"a second run takes {found.again['run']:.3g} s on XLA:CPU")
    if found.compiled and not found.compiled["finite"]:
        notes.append("its results are not all finite numbers")
    return tuple(notes)


def _rounded(row: Mapping[str, Any], key: str) -> float | None:
    value = row.get(key)
    return None if value is None else round(float(value), 4)
