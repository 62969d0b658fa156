"""A worker: ``torch.compile(backend="neuron")`` of every call of the model, on the device.

The backend is wrapped, so that what Dynamo takes to capture is told from what follows. The backend
may compile when it is called or when its result is first run: lowering, compiling and the first run
are not told apart, and a second run says what running takes.
"""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from neuronport.compile.workers import model, said
from neuronport.graph.capture import training
from neuronport.graph.capture.placement import Redirects

_DEVICE = "neuron"
_CACHE = ("TORCH_NEURONX_NEFF_CACHE_DIR", "/tmp/neff_cache")
_KEPT = ("TORCH_NEURONX_DEBUG_DIR", "")
"""Variables with the folders of NEFFs, and what they are when they are not set."""


def main(request: dict[str, Any], write: Callable[[dict[str, Any]], None]) -> None:
    redirects = Redirects("cpu")
    number = -1
    try:
        import torch_neuronx  # noqa: F401 - registers the device and the backend, as torch itself does

        for number, call in enumerate(model.calls(request, redirects, write)):
            write({"call": number, "phase": "capture"})
            watched = _Backend(number, write)
            try:
                redirects.device = _DEVICE
                with redirects.active():
                    done = _compiled(call, watched)
            except BaseException as error:
                write({"call": number, "failed": said.error(error, watched.phase)})
            else:
                write({"call": number, "done": done})
            finally:
                redirects.device = "cpu"
                torch._dynamo.reset()
    except BaseException as error:
        write({"fatal": said.error(error, "capture")})


class _Backend:
    """Neuron's backend, and when it was called."""

    def __init__(self, number: int, write: Callable[[dict[str, Any]], None]) -> None:
        self.number, self.write = number, write
        self.inner: Any = torch._dynamo.lookup_backend("neuron")
        self.graphs = 0
        self.first = 0.0
        self.inside = 0.0
        self.phase = "capture"

    def __call__(self, graph: Any, inputs: Any, **options: Any) -> Any:
        began = time.monotonic()
        self.first = self.first or began
        self.graphs += 1
        if self.phase == "capture":
            self.phase = "compile"
            self.write({"call": self.number, "phase": "compile"})
        try:
            return self.inner(graph, inputs, **options)
        finally:
            self.inside += time.monotonic() - began


def _compiled(call: model.Call, backend: _Backend) -> dict[str, Any]:
    module = call.module.to(_DEVICE)
    args, kwargs = pytree.tree_map(
        lambda v: v.to(_DEVICE) if isinstance(v, torch.Tensor) else v, (call.args, call.kwargs)
    )
    cached, kept = _neffs(_CACHE), _neffs(_KEPT)
    compiled = torch.compile(module, backend=backend, dynamic=False)
    began = time.monotonic()
    how = _run(compiled, call, args, kwargs)
    ended = time.monotonic()
    if not backend.graphs:
        raise RuntimeError("torch.compile handed no graph to the backend: nothing was compiled")
    first = backend.graphs
    _run(compiled, call, args, kwargs)
    again = time.monotonic() - ended
    new = sorted(_neffs(_CACHE) - cached)
    found: dict[str, Any] = {
        "capture": backend.first - began,
        "together": [[["lowering", "compile", "first_run"], ended - backend.first]],
        "second_run": again,
        "programs": first,
        "again": backend.graphs - first,
        "neff": new or sorted(_neffs(_KEPT) - kept),
        "cache": _cache(cached, new),
        "notes": [
            f"a second run takes {again:.3g} s on the device",
            *([f"the loss is {how}"] if how else []),
        ],
        "peak": 1024
        * max(
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss,
        ),
    }
    with contextlib.suppress(Exception):
        import torch_neuronx

        fell = sorted(str(n) for n in torch_neuronx.get_fallback_ops())
        if fell:
            found["notes"].append(f"ran on the CPU: {', '.join(fell[:20])}")
    return found


def _run(compiled: Any, call: model.Call, args: Any, kwargs: Any) -> str:
    how = ""
    if call.mode == "training":
        loss, how = training.loss_of(compiled(*args, **kwargs), call.loss, args, kwargs)
        torch.autograd.backward(loss)
    else:
        with torch.no_grad():
            compiled(*args, **kwargs)
    native = getattr(torch, "neuron", None)
    if native is not None:
        native.synchronize()
    return how


def _neffs(folder: tuple[str, str]) -> set[str]:
    name = os.environ.get(*folder)
    return {str(f) for f in Path(name).rglob("*.neff")} if name else set()


def _cache(before: set[str], new: list[str]) -> list[str]:
    if new:
        return ["miss", "NEFFs were added to the cache"]
    if before:
        return ["hit", "the cache has NEFFs, and none was added: inferred"]
    return ["not known", "no NEFF was found in the cache's folder"]
