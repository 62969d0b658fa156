"""``torch.compile(backend="neuron")``: the compiler of the `native` path. It needs the device."""

from __future__ import annotations

from neuronport.compile.drivers import Looked, _inside
from neuronport.compile.here import Here
from neuronport.compile.job import Job
from neuronport.compile.result import NEURON, Attempt

ORDER = 10
TITLE = 'torch.compile(backend="neuron")'
COMPILER = NEURON
PATH = "native"


def look(here: Here) -> Looked:
    found = here.torch
    versions = found.versions("torch", "torch-neuronx", "neuronx-cc", "nki")
    if found.error:
        return Looked(False, found.error, versions)
    if not found.backend:
        return Looked(False, f"{here.python} has no backend `neuron` for torch.compile", versions)
    if not found.devices:
        return Looked(
            False,
            f"{here.python} has the backend, but torch.neuron shows no device, which it needs",
            versions,
        )
    return Looked(True, f"{here.python}, {found.devices} cores", versions)


def for_chip(here: Here) -> bool:
    return False


def compile(job: Job, here: Here) -> list[Attempt]:
    variables = {
        # a graph that fails must say so, not run eagerly
        "TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION": "1",
        "TORCH_NEURONX_PRESERVE_COMPILATION_ARTIFACTS": "1",
        "TORCH_NEURONX_DEBUG_DIR": str(job.workdir("torch_compile_neuron") / "debug"),
    }
    if job.flags:
        import os

        given = os.environ.get("NEURON_CC_FLAGS", "")
        variables["NEURON_CC_FLAGS"] = " ".join([given, *job.flags]).strip()
    return _inside.attempts(
        "torch_compile_neuron",
        job,
        here,
        "neuronport.compile.workers.native",
        here.torch.device or "neuron",
        {},
        variables,
    )
