"""A worker: which of Neuron's packages an interpreter has, and whether they are the real ones."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from importlib import metadata
from typing import Any

_PACKAGES = ("torch", "torch-neuronx", "torch-xla", "neuronx-cc", "libneuronxla", "nki")


def main(request: dict[str, Any], write: Callable[[dict[str, Any]], None]) -> None:
    write({"packages": _packages()})
    if importlib.util.find_spec("torch") is None:
        return
    if importlib.util.find_spec("torch_neuronx") is None:
        return
    try:
        import torch
        import torch_neuronx
    except BaseException as error:  # a library of the driver's that is not there, SystemExit …
        write({"error": f"torch_neuronx cannot be imported: {type(error).__name__}: {error}"[:300]})
        return
    write({"trace": callable(getattr(torch_neuronx, "trace", None))})
    # torch.neuron is the native path's; a package of the same name without it is the XLA path's
    native = getattr(torch, "neuron", None)
    if native is None:
        return
    try:
        available = bool(native.is_available())
        write({"devices": int(native.device_count()) if available else 0})
        write({"backend": "neuron" in torch._dynamo.list_backends(())})
        if available:
            write({"device": str(native.get_device_name())})
    except Exception as error:
        write({"error": f"torch.neuron does not answer: {type(error).__name__}: {error}"[:300]})


def _packages() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
