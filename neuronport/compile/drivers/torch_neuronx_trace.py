"""``torch_neuronx.trace``: the compiler of the `xla` path, for inference.

Where no Neuron device is, it traces and compiles on the CPU alone (``cpu_backend=True``) for the
target's chip, and nothing is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from neuronport.compile.drivers import DriverError, Looked, _inside
from neuronport.compile.here import Here
from neuronport.compile.job import Job
from neuronport.compile.result import NEURON, Attempt, Measured

ORDER = 20
TITLE = "torch_neuronx.trace"
COMPILER = NEURON
PATH = "xla"

_NOT_CACHED = Measured(
    "none", "traced graphs are not kept in Neuron's persistent cache (neuron-caching.rst)"
)


def look(here: Here) -> Looked:
    found = here.torch
    versions = found.versions("torch", "torch-neuronx", "torch-xla", "neuronx-cc")
    if found.error:
        return Looked(False, found.error, versions)
    if not found.trace:
        return Looked(False, _missing(here, found.packages), versions)
    if here.neuronx_cc.error:
        return Looked(False, f"torch_neuronx is here, but {here.neuronx_cc.error}", versions)
    how = "on the device" if here.device_files else "on the CPU alone: no Neuron device is here"
    return Looked(
        True, f"{here.python}, {how}", {**versions, "neuronx-cc": here.neuronx_cc.version}
    )


def _missing(here: Here, packages: Mapping[str, str]) -> str:
    if "torch-neuronx" in packages:
        return (
            f"the torch-neuronx {packages['torch-neuronx']} of {here.python} has no trace: it is the"
            " native path's, or the empty package of that name on PyPI"
        )
    return f"{here.python} has no torch_neuronx"


def for_chip(here: Here) -> bool:
    return not here.device_files


def compile(job: Job, here: Here) -> list[Attempt]:
    on_cpu = not here.device_files
    modes = tuple(m for m in job.request.modes if m == "inference")
    if not modes:
        raise DriverError("torch_neuronx.trace compiles for inference; --mode training was asked")
    extra: dict[str, Any] = {"cpu_backend": on_cpu, "modes": list(modes)}
    found = _inside.attempts(
        "torch_neuronx_trace",
        job,
        here,
        "neuronport.compile.workers.trace",
        "none: cpu_backend=True, nothing was run" if on_cpu else "NeuronCore",
        extra,
        {},
    )
    return [replace(a, cache=_NOT_CACHED) if a.cache.value == "not known" else a for a in found]
