"""Looking at what can compile here, choosing, and doing it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from neuronport.compile.drivers import DriverError, drivers
from neuronport.compile.here import Here, how_to_get
from neuronport.compile.job import Job
from neuronport.compile.result import NEURON, Attempt, Result, Tool
from neuronport.graph import run as graph_run
from neuronport.graph.record import RecordError
from neuronport.targets import Target
from neuronport.xla_environment import XlaEnvironmentError

_NATIVE_NOTE = (
    "lowered by torch_xla, as the xla path does; the native path lowers in another way, so that of"
    " native this says less"
)


def look(here: Here) -> list[Tool]:
    """Every driver, and whether it can be used."""
    found = []
    for name, driver in drivers().items():
        looked = driver.look(here)
        found.append(
            Tool(
                name,
                driver.TITLE,
                driver.COMPILER,
                looked.usable,
                looked.because,
                looked.versions,
                how_to_get(name),
            )
        )
    return found


def chosen(tools: Sequence[Tool], named: Sequence[str], path: str) -> list[str]:
    """The drivers to use: those named; else the first of Neuron's that can be used, those of the
    target's path before others; else what else there is."""
    if named:
        return list(dict.fromkeys(named))
    usable = [t for t in tools if t.usable]
    order = sorted(usable, key=lambda t: (t.compiler != NEURON, path != drivers()[t.driver].PATH))
    return [t.driver for t in order[:1]]


def statement(request: graph_run.Request, use: Sequence[str]) -> str:
    """What is about to happen, for people to read before it does."""
    return (
        f"runs the code of {request.model} with {request.interpreter} and compiles with"
        f" {', '.join(use)}; each process may take {request.seconds} s and {request.megabytes} MB of"
        " memory; no weights are downloaded"
    )


def run(
    request: graph_run.Request,
    target: Target,
    here: Here,
    named: Sequence[str] = (),
    flags: Sequence[str] = (),
    kept: Path | None = None,
    tools: Sequence[Tool] | None = None,
) -> Result:
    """Compiles with what is here. Why nothing came of it is in the result."""
    tools = list(look(here) if tools is None else tools)
    use = chosen(tools, named, target.path)
    by_name = {t.driver: t for t in tools}
    attempts: list[Attempt] = []
    failures: list[str] = []
    notes: list[str] = []
    with tempfile.TemporaryDirectory(prefix="neuronport-compile-") as folder:
        job = Job(request, target, Path(folder), tuple(flags), kept)
        for name in use:
            tool = by_name[name]
            if not tool.usable:
                failures.append(f"{name}: {tool.because}")
                continue
            try:
                found = drivers()[name].compile(job, here)
            except (DriverError, RecordError, XlaEnvironmentError) as error:
                failures.append(f"{name}: {error}")
                continue
            attempts += found
            attempts += _wholes(name, tool.compiler, job)
            if not found:
                failures.append(f"{name}: no graph could be captured{_why_no_graph(job)}")
            elif target.path == "native" and drivers()[name].PATH != "native":
                notes.append(f"{name}: {_NATIVE_NOTE}")
        cls = job.captured_class
        notes += job.captured_notes
    chip = job.chip if any(drivers()[a.driver].for_chip(here) for a in attempts) else ""
    if chip and not target.chip_named:
        others = ", ".join(target.chips[1:])
        notes.append(
            f"the target names no chip: {chip} was compiled for, {others} not"
            f" (--target {target.path}:{target.chips[-1]})"
        )
    used = {*use} & {a.driver for a in attempts}
    return Result(
        request.model,
        str(target),
        chip,
        tuple(
            Tool(t.driver, t.title, t.compiler, t.usable, t.because, t.versions, t.get, True)
            if t.driver in used
            else t
            for t in tools
        ),
        tuple(attempts),
        request.seconds,
        request.megabytes,
        cls,
        tuple(notes),
        tuple(failures),
        tuple(named),
        tuple(sorted(job.files)),
    )


def _wholes(driver: str, compiler: str, job: Job) -> list[Attempt]:
    """What was compiled in parts was not compiled."""
    return [
        Attempt(
            driver,
            compiler,
            graph,
            mode,
            (),
            "not-tried",
            f"as a whole it cannot be captured, only its parts{_why_no_graph(job)}",
            "capture",
        )
        for graph, mode in job.in_parts
    ]


def _why_no_graph(job: Job) -> str:
    reason = job.first_failure
    return f": {reason}" if reason else ""
