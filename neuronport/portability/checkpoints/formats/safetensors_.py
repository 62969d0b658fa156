"""safetensors: a length, a JSON header, bytes."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

from neuronport.portability.checkpoints.tensors import (
    SIZES,
    Checkpoint,
    CheckpointError,
    Storage,
    Tensor,
)

NAME = "safetensors"
ORDER = 20
DTYPES: Mapping[str, str] = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
}
WRITTEN = {dtype: word for word, dtype in DTYPES.items()}
_MOST_HEADER = 100_000_000


def fits(path: str, head: bytes) -> bool:
    return path.endswith(".safetensors") or head[8:9] == b"{"


def read(path: str) -> Checkpoint:
    size = os.path.getsize(path)
    with open(path, "rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > size - 8:
            raise CheckpointError(
                f"its header is said to be {length:,} bytes in a file of {size:,}: "
                "truncated, or no safetensors"
            )
        if length > _MOST_HEADER:
            raise CheckpointError(f"its header is larger than {_MOST_HEADER:,} bytes")
        raw = stream.read(length)
    begin = 8 + length
    try:
        header = json.loads(raw.decode("utf-8"), object_pairs_hook=_no_duplicates)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CheckpointError(f"its header is not JSON ({error})") from None
    if not isinstance(header, dict):
        raise CheckpointError("its header is no JSON object")
    header.pop("__metadata__", None)
    tensors = []
    spans = []
    for name, row in header.items():
        tensor, span = _tensor(path, name, row, begin)
        tensors.append(tensor)
        spans.append((*span, name))
    _check_spans(spans, size - begin)
    return Checkpoint(path, NAME, tensors, [path])


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise CheckpointError("a name is twice in its header")
    return found


def _tensor(path: str, name: str, row: Any, begin: int) -> tuple[Tensor, tuple[int, int]]:
    try:
        dtype, shape = DTYPES.get(row["dtype"]), tuple(row["shape"])
        first, last = row["data_offsets"]
    except (TypeError, KeyError, ValueError):
        raise CheckpointError(f"the header's row of {name!r} is malformed") from None
    if dtype is None:
        raise CheckpointError(f"{name!r} has the unknown dtype {row['dtype']!r}")
    if any(type(n) is not int or n < 0 for n in (*shape, first, last)):
        raise CheckpointError(f"{name!r} has an impossible shape or place")
    if last - first != math.prod(shape) * SIZES[dtype]:
        raise CheckpointError(f"{name!r} has {last - first:,} bytes for the shape {list(shape)}")
    return Tensor(name, dtype, shape, Storage(path, begin + first, last - first)), (first, last)


def _check_spans(spans: list[tuple[int, int, str]], size: int) -> None:
    at = 0
    for first, last, name in sorted(spans):
        if first != at:
            word = "overlaps another" if first < at else "leaves a hole before it"
            raise CheckpointError(f"the place of {name!r} {word}")
        at = last
    if at != size:
        word = "truncated" if at > size else "followed by something else"
        raise CheckpointError(f"{size:,} bytes of tensors where {at:,} are described: {word}")


def write(path: str, checkpoint: Checkpoint, tensors: Iterable[Tensor]) -> None:
    """Writes tensors of a checkpoint.

    Raises CheckpointError: the format has no word for a dtype, or a name is its own.
    """
    rows: dict[str, Any] = {}
    at = 0
    ordered = sorted(tensors, key=lambda t: t.name)
    for tensor in ordered:
        if tensor.dtype not in WRITTEN:
            raise CheckpointError(f"safetensors has no {tensor.dtype}, which {tensor.name!r} is")
        if tensor.name == "__metadata__":
            raise CheckpointError("a tensor is called __metadata__, which safetensors keeps")
        rows[tensor.name] = {
            "dtype": WRITTEN[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [at, at + tensor.bytes],
        }
        at += tensor.bytes
    header = json.dumps(rows, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as stream:
        stream.write(len(header).to_bytes(8, "little") + header)
        for tensor in ordered:
            for chunk in checkpoint.chunks(tensor):
                stream.write(chunk)
