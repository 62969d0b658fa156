"""Compiling in the user's own environment: a worker builds the model and calls the tool."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neuronport.compile import diagnosis
from neuronport.compile.drivers import DriverError, _ended
from neuronport.compile.here import Here, TorchPython
from neuronport.compile.job import Job
from neuronport.compile.result import NEURON, Artifact, Attempt, Input, Measured, Seconds
from neuronport.xla_environment import Done, run

_PEAK = (
    "the largest of the process and those that it started (getrusage), from its beginning:"
    " it does not shrink from one graph to the next"
)


def attempts(
    driver: str,
    job: Job,
    here: Here,
    worker: str,
    device: str,
    extra: Mapping[str, Any],
    variables: Mapping[str, str],
) -> list[Attempt]:
    """Raises XlaEnvironmentError and DriverError: nothing could be tried."""
    asked = job.request
    request = {
        "model": asked.model,
        "inputs": [list(s) for s in asked.inputs],
        "modes": list(asked.modes),
        "dtype": asked.dtype,
        "batch": asked.batch,
        "sequence": asked.sequence,
        "cache": asked.cache,
        "overrides": list(asked.overrides),
        "folder": str(job.workdir(driver)),
        "flags": list(job.flags),
        "chip": job.chip,
        **extra,
    }
    done = run(
        TorchPython(here.python, {"PATH": _path(here), **variables}),
        worker,
        request,
        seconds=asked.seconds,
        megabytes=asked.megabytes,
    )
    plan: list[Mapping[str, Any]] = []
    rows: dict[int, dict[str, Any]] = {}
    fatal: Mapping[str, Any] = {}
    for row in done.rows:
        plan += row.get("plan", ())
        job.files.update(row.get("files", ()))
        fatal = row.get("fatal", fatal)
        if "call" in row:
            rows.setdefault(int(row["call"]), {}).update(row)
    if not plan:
        raise DriverError(_nothing(fatal, done))
    return [
        _attempt(driver, job, number, call, rows.get(number), done, device, fatal)
        for number, call in enumerate(plan)
    ]


def _path(here: Here) -> str:
    """Where the tools look for neuronx-cc: an environment need not be activated."""
    programs = [here.neuronx_cc.file, shutil.which(here.python) or ""]
    folders = [str(Path(file).absolute().parent) for file in programs if file]
    return os.pathsep.join([*folders, os.environ.get("PATH", os.defpath)])


def _nothing(fatal: Mapping[str, Any], done: Done) -> str:
    if fatal:
        return f"the model cannot be built: {fatal['error']}"
    _, because = _ended.status(done.why)
    return "\n    ".join([because, *done.tail])


def _attempt(
    driver: str,
    job: Job,
    number: int,
    call: Mapping[str, Any],
    row: Mapping[str, Any] | None,
    done: Done,
    device: str,
    fatal: Mapping[str, Any],
) -> Attempt:
    inputs = tuple(Input(i["name"], i["dtype"], tuple(i["shape"])) for i in call["inputs"])
    found: Mapping[str, Any] = (row or {}).get("done", {})
    status, because, ended_in = "compiled", "", ""
    problems: tuple[Any, ...] = ()
    tail: Sequence[str] = ()
    if row is None:
        _, ended = _ended.status(done.why)
        status, because = "not-tried", f"it was not come to: {fatal.get('error') or ended}"
    elif "failed" in row:
        failed = row["failed"]
        status, because, ended_in = "failed", failed["error"], failed["phase"]
        if _ended.is_memory(because):
            status = "over-memory"
        problems = diagnosis.diagnose(f"{failed['text']}\n{done.text}")
        tail = done.tail
    elif not found and fatal:
        status, because, ended_in = "failed", fatal["error"], str(row.get("phase", ""))
        problems = diagnosis.diagnose(f"{fatal['text']}\n{done.text}")
    elif not found:
        status, because = _ended.status(done.why)
        because = _ended.with_last(because, done.tail)
        ended_in = str(row.get("phase", ""))
        problems = diagnosis.diagnose(done.text)
        tail = done.tail
    cache = found.get("cache")
    if cache is None and "Using a cached neff" in done.text:
        cache = ["hit", "the log says so"]
    return Attempt(
        driver,
        NEURON,
        str(call["graph"]),
        str(call["mode"]),
        inputs,
        status,
        because,
        ended_in,
        _seconds(found),
        Measured(found["peak"], _PEAK) if found.get("peak") else None,
        Measured(cache[0], cache[1]) if cache else Measured("not known", ""),
        found.get("programs"),
        found.get("again"),
        (),
        _artifacts(driver, job, number, found),
        {},
        tuple(found.get("flags", job.flags)),
        device,
        problems,
        tuple(found.get("notes", ())),
        tuple(tail),
    )


def _seconds(found: Mapping[str, Any]) -> Seconds:
    def rounded(key: str) -> float | None:
        value = found.get(key)
        return None if value is None else round(float(value), 4)

    return Seconds(
        rounded("capture"),
        rounded("lowering"),
        rounded("compile"),
        rounded("first_run"),
        tuple((tuple(phases), round(float(s), 4)) for phases, s in found.get("together", ())),
    )


def _artifacts(
    driver: str, job: Job, number: int, found: Mapping[str, Any]
) -> tuple[Artifact, ...]:
    files = [("neff", f) for f in found.get("neff", ())]
    files += [(kind, found[kind]) for kind in ("torchscript", "hlo") if found.get(kind)]
    endings = {"neff": "neff", "torchscript": "pt", "hlo": "hlo.pb"}
    made = []
    for place, (kind, name) in enumerate(files):
        file = Path(name)
        if file.is_file():
            made.append(job.keep(file, kind, f"{driver}-{number}-{place}.{endings[kind]}"))
    return tuple(made)
