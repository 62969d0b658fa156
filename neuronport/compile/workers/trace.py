"""A worker: ``torch_neuronx.trace`` of every call of the model.

``trace`` lowers with torch_xla, hands the HLO to neuronx-cc and loads what it makes. It writes the
HLO to ``model/graph.hlo`` below its working folder before it starts the compiler, so that the time
of that file tells the two apart; where it is not there they are not told apart.
"""

from __future__ import annotations

import inspect
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from neuronport.compile.workers import model, said
from neuronport.graph.capture.placement import Redirects

_HLO = "model/graph.hlo"


def main(request: dict[str, Any], write: Callable[[dict[str, Any]], None]) -> None:
    redirects = Redirects("cpu")
    number = -1
    try:
        import torch_neuronx

        for number, call in enumerate(model.calls(request, redirects, write)):
            write({"call": number, "phase": "lowering"})
            folder = Path(request["folder"]) / f"trace-{number}"
            try:
                with redirects.active(), torch.no_grad():
                    done = _traced(torch_neuronx, call, folder, request)
            except BaseException as error:
                phase = "compile" if (folder / _HLO).is_file() else "lowering"
                write({"call": number, "failed": said.error(error, phase)})
            else:
                write({"call": number, "done": done})
    except BaseException as error:
        write({"fatal": said.error(error, "capture")})


def _traced(
    torch_neuronx: Any, call: model.Call, folder: Path, request: dict[str, Any]
) -> dict[str, Any]:
    options: dict[str, Any] = {
        "compiler_workdir": str(folder),
        "compiler_args": list(request["flags"]),
    }
    if request["cpu_backend"]:
        known = inspect.signature(torch_neuronx.trace).parameters
        if "cpu_backend" not in known:
            raise RuntimeError(
                "this torch_neuronx.trace has no cpu_backend: it compiles only where a NeuronCore is"
            )
        options["cpu_backend"] = True
        options["compiler_args"] += ["--target", request["chip"]]
    folder.mkdir(parents=True, exist_ok=True)
    tensors = tuple(call.tensors())
    began = time.time()
    traced = torch_neuronx.trace(model.OnTensors(call).eval(), tensors, **options)
    ended = time.time()
    found: dict[str, Any] = {"flags": options["compiler_args"]}
    hlo = folder / _HLO
    if hlo.is_file() and began <= hlo.stat().st_mtime <= ended:
        lowered = hlo.stat().st_mtime
        found["lowering"], found["compile"] = lowered - began, ended - lowered
        found["hlo"] = str(hlo)
    else:
        found["together"] = [[["lowering", "compile"], ended - began]]
    found["neff"] = [str(f) for f in sorted(folder.rglob("*.neff"))]
    saved = folder / "traced.pt"
    torch.jit.save(traced, str(saved))
    found["torchscript"] = str(saved)
    if not request["cpu_backend"]:
        began = time.monotonic()
        traced(*tensors)
        found["first_run"] = time.monotonic() - began
    found["peak"] = 1024 * max(
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss,
    )
    return found
