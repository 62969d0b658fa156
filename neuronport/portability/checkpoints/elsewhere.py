"""Run by an interpreter that has torch, in a process of its own; nothing of neuronport is imported.

Loads the files of a checkpoint with ``weights_only`` or with safetensors, writes what it found as a
table of names, dtypes, shapes and digests, and, when it is asked to, saves them again or moves them
to every device there is and back.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import sys
from collections.abc import Iterator
from typing import Any


def main(request: str) -> None:
    with open(request, encoding="utf-8") as stream:
        ask = json.load(stream)
    import torch

    answer: dict[str, Any] = {"torch": torch.__version__, "devices": {}, "others": 0}
    try:
        loaded = [load(torch, file) for file in ask["files"]]
    except Exception as error:
        answer["problem"] = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:300]}"
        finish(ask, answer)
        return
    tensors: dict[str, Any] = {}
    for value in loaded:
        tensors.update(named(torch, value))
    answer["devices"]["cpu"] = table(tensors, "cpu")
    if ask["save"]:
        for value, file in zip(loaded, ask["save"], strict=True):
            save(torch, value, file)
    else:
        for device in devices(torch):
            answer["devices"][device] = table(tensors, device)
    finish(ask, answer)


def finish(ask: dict[str, Any], answer: dict[str, Any]) -> None:
    with open(ask["answer"], "w", encoding="utf-8") as stream:
        json.dump(answer, stream)


def load(torch: Any, file: str) -> Any:
    if file.endswith(".safetensors"):
        from safetensors.torch import load_file

        return load_file(file)
    return torch.load(file, map_location="cpu", weights_only=True)


def save(torch: Any, value: Any, file: str) -> None:
    if file.endswith(".safetensors"):
        from safetensors.torch import save_file

        save_file(value, file)
    else:
        torch.save(value, file)


def devices(torch: Any) -> list[str]:
    """The accelerator that PyTorch reports, whichever it is, and a Neuron device besides."""
    found = []
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None and accelerator.is_available():
        found.append(str(accelerator.current_accelerator().type))
    neuron = getattr(torch, "neuron", None)
    if neuron is not None and neuron.is_available() and "neuron" not in found:
        found.append("neuron")
    return found


def named(torch: Any, value: Any) -> dict[str, Any]:
    """Tensors by name, as ``formats/torch_zip.py`` names them."""
    found: dict[str, Any] = {}
    names: dict[str, int] = {}
    for name, item in walk(value):
        count = names[name] = names.get(name, 0) + 1
        if isinstance(item, torch.Tensor):
            found[name if count == 1 else f"{name}#{count}"] = item
    return found


def walk(value: Any) -> Iterator[tuple[str, Any]]:
    pending: list[tuple[str, Any]] = [("", value)]
    seen: set[int] = set()
    while pending:
        name, item = pending.pop()
        if isinstance(item, (dict, list, tuple, set, frozenset)):
            if id(item) in seen and item:
                continue
            seen.add(id(item))
            rows = item.items() if isinstance(item, dict) else enumerate(item)
            pending.extend(
                reversed([(f"{name}/{key}" if name else str(key), inner) for key, inner in rows])
            )
        else:
            yield name or "(the whole)", item


def table(tensors: dict[str, Any], device: str) -> dict[str, Any]:
    return {name: row(tensor, device) for name, tensor in tensors.items()}


def row(tensor: Any, device: str) -> dict[str, Any]:
    try:
        there = tensor.detach().to(device)
        dtype = str(there.dtype).removeprefix("torch.")
        back = there.to("cpu").resolve_conj().resolve_neg().contiguous()
    except Exception as error:
        return {"problem": f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200]}"}
    size = back.numel() * back.element_size()
    digest = hashlib.sha256()
    if size:
        digest.update((ctypes.c_ubyte * size).from_address(back.data_ptr()))
    return {"dtype": dtype, "shape": list(back.shape), "sha256": digest.hexdigest()}


if __name__ == "__main__":
    main(sys.argv[1])
