"""``neuronx-cc compile`` on the HLO that torch_xla lowers a captured graph to.

The compiler runs on any host: no device is needed, and nothing is run with what it makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from neuronport import children
from neuronport.compile import diagnosis
from neuronport.compile.drivers import DriverError, Looked, _ended
from neuronport.compile.drivers._lowering import Lowered, at, graphs, inputs_of, lower
from neuronport.compile.here import Here
from neuronport.compile.job import Job
from neuronport.compile.result import NEURON, Artifact, Attempt, Measured, Seconds
from neuronport.graph.record import Graph
from neuronport.xla_environment import XlaEnvironmentError, XlaPython

ORDER = 30
TITLE = "neuronx-cc on HLO that torch_xla lowers"
COMPILER = NEURON
PATH = "xla"

_LOG = "log-neuron-cc.txt"
_LOG_BYTES = 262144
_PEAK = (
    "the most that the compiler's processes were seen to have together, looked at twice a second"
)


def look(here: Here) -> Looked:
    compiler = here.neuronx_cc
    if compiler.error:
        return Looked(False, compiler.error)
    versions = {"neuronx-cc": compiler.version}
    try:
        versions.update({k: here.xla[k] for k in ("torch", "torch_xla")})
    except XlaEnvironmentError as error:
        return Looked(
            False, f"{compiler.file} is here, but nothing lowers to HLO: {error}", versions
        )
    return Looked(True, compiler.file, versions)


def for_chip(here: Here) -> bool:
    return True


def compile(job: Job, here: Here) -> list[Attempt]:
    return list(_attempts(job, here))


def _attempts(job: Job, here: Here) -> Iterator[Attempt]:
    python = XlaPython(here.xla_python)
    for number, graph, data, values, _record in graphs(job):
        base = _base(graph, data.get("seconds"))
        if data.get("unvalued"):
            yield replace(base, because=str(data["unvalued"]), ended_in="capture")
            continue
        folder = job.workdir(f"neuronx_cc-{number}")
        hlo = folder / "model.hlo.pb"
        lowered = lower(job, python, graph, data, values, hlo)
        base = replace(
            base,
            seconds=replace(base.seconds, lowering=_rounded(lowered.lowered)),
            opcodes=lowered.lowered.get("opcodes", {}),
            cuts=lowered.cuts,
        )
        why_not = _not_lowered(lowered, hlo)
        if why_not is not None:
            status, because = why_not
            yield replace(base, status=status, because=because, ended_in="lowering")
            continue
        kept = job.keep(hlo, "hlo", f"neuronx_cc-{number}.hlo.pb")
        yield _compiled(job, here, base, folder, hlo, kept, number)


def _base(graph: Graph, capture: float | None) -> Attempt:
    return Attempt(
        "neuronx_cc",
        NEURON,
        graph.title,
        graph.mode,
        inputs_of(graph),
        "not-tried",
        seconds=Seconds(capture),
        cache=Measured("none", "neuronx-cc called directly keeps nothing: inferred"),
        device="none: compiling needs no device, and nothing was run",
    )


def _not_lowered(found: Lowered, hlo: Path) -> tuple[str, str] | None:
    if found.failed:
        return "failed", f"not lowered: {found.refused}"
    if found.done.why or not found.lowered:
        status, because = _ended.status(found.done.why)
        return status, f"lowering: {_ended.with_last(because, found.done.tail)}"
    if found.cuts:
        first = found.cuts[0]
        return (
            "cut",
            f"no one HLO module: {', '.join(first.because)} runs on the host at"
            f" {first.operator}{at(first)}",
        )
    if not hlo.is_file():
        return "failed", "the graph has no result on the device: there is no HLO"
    return None


def _compiled(
    job: Job, here: Here, base: Attempt, folder: Path, hlo: Path, kept: Artifact, number: int
) -> Attempt:
    neff = folder / "model.neff"
    flags = (
        "--framework", "XLA", "--target", job.chip, "--output", str(neff),
        "--logfile", str(folder / _LOG), *job.flags,
    )  # fmt: skip
    try:
        ended = children.run(
            [here.neuronx_cc.file, "compile", str(hlo), *flags],
            folder / "output",
            job.request.seconds,
            job.request.megabytes,
            folder=folder,
        )
    except children.NotStartedError as error:
        raise DriverError(str(error)) from None
    log = f"{_end_of(folder / _LOG)}\n{ended.text}"
    problems = diagnosis.diagnose(log) if ended.why or not neff.is_file() else ()
    status, because = "compiled", ""
    if not ended.why and not neff.is_file():
        status, because = "failed", "neuronx-cc ended with status 0 and wrote no NEFF"
    elif ended.why.startswith("ended with status"):
        status = "failed"
        because = problems[0].said if problems else _ended.with_last(ended.why, ended.tail)
    elif ended.why:
        status, because = _ended.status(ended.why)
    artifacts: tuple[Artifact, ...] = (kept,)
    if status == "compiled":
        artifacts = (job.keep(neff, "neff", f"neuronx_cc-{number}.neff"), kept)
    return replace(
        base,
        status=status,
        because=because,
        ended_in="" if status == "compiled" else "compile",
        seconds=replace(base.seconds, compile=round(ended.seconds, 4)),
        peak=Measured(ended.peak, _PEAK) if ended.peak else None,
        artifacts=artifacts,
        flags=tuple(_plain(f, folder) for f in flags),
        problems=problems,
        tail=ended.tail if status != "compiled" else (),
    )


def _plain(flag: str, folder: Path) -> str:
    """Without the folder, which is another each time."""
    return Path(flag).name if flag.startswith(f"{folder}/") else flag


def _end_of(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            stream.seek(max(file.stat().st_size - _LOG_BYTES, 0))
            return stream.read().decode("utf-8", errors="replace")
    except OSError:
        return ""


def _rounded(lowered: Mapping[str, Any]) -> float | None:
    value = lowered.get("seconds")
    return None if value is None else round(float(value), 4)
