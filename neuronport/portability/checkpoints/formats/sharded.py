"""Hugging Face checkpoints: an index that says which file holds which tensor, or a folder."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any

from neuronport.portability.checkpoints.tensors import Checkpoint, CheckpointError, Tensor
from neuronport.workspace import Unreadable
from neuronport.workspace.files import read_regular

NAME = "Hugging Face index (*.index.json) or folder"
ORDER = 10
_MOST_INDEX = 500_000_000
_FILES = (
    "model.safetensors.index.json",
    "pytorch_model.bin.index.json",
    "diffusion_pytorch_model.safetensors.index.json",
    "model.safetensors",
    "pytorch_model.bin",
    "diffusion_pytorch_model.safetensors",
    "diffusion_pytorch_model.bin",
    "adapter_model.safetensors",
    "adapter_model.bin",
)


def fits(path: str, head: bytes) -> bool:
    return path.endswith(".index.json") or head == b"/"


def read(path: str) -> Checkpoint:
    if not os.path.isdir(path):
        return _joined(path)
    from neuronport.portability.checkpoints import formats

    for name in _FILES:
        inside = os.path.join(path, name)
        if os.path.isfile(inside):
            return formats.read(inside)
    raise CheckpointError("a folder without a checkpoint of a known name", f"known: {_FILES[0]} …")


def _joined(path: str) -> Checkpoint:
    from neuronport.portability.checkpoints import formats

    places = _places(path)
    folder = os.path.dirname(path)
    tensors: list[Tensor] = []
    files = [path]
    notes = []
    missing = dict(places)
    for shard in sorted(set(places.values())):
        file = os.path.join(folder, shard)
        if not os.path.isfile(file):
            raise CheckpointError(f"the shard {shard!r} is not there")
        try:
            part = formats.read(file)
        except CheckpointError as error:
            raise CheckpointError(
                f"the shard {shard!r}: {error.reason}", error.remedy, refused=error.refused
            ) from None
        files.append(file)
        for tensor in part.tensors:
            if places.get(tensor.name) != shard:
                notes.append(f"{tensor.name!r} is in {shard} and the index does not say so")
            missing.pop(tensor.name, None)
            tensors.append(replace(tensor))
    if missing:
        name, shard = next(iter(sorted(missing.items())))
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise CheckpointError(f"{name!r}{more} should be in {shard} and is not")
    return Checkpoint(path, "Hugging Face index", tensors, files, {}, notes)


def _places(path: str) -> dict[str, str]:
    try:
        document: Any = json.loads(read_regular(os.path.realpath(path), _MOST_INDEX))
        places = document["weight_map"]
        if not isinstance(places, dict) or not places:
            raise TypeError
    except Unreadable as error:
        raise CheckpointError(f"cannot be read: {error.detail or error.reason}") from None
    except UnicodeDecodeError:
        raise CheckpointError("its index is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise CheckpointError(f"its index is not JSON ({error})") from None
    except (TypeError, KeyError):
        raise CheckpointError("its index has no weight_map") from None
    for name, shard in places.items():
        plain = isinstance(shard, str) and shard and not set(shard) & set("/\\\0")
        if not plain or shard in (".", "..") or shard.endswith(".index.json"):
            raise CheckpointError(
                f"the index says that {name!r} is in {shard!r}, no file beside it"
            )
    return places
