"""Tensors as they lie in files, and what a checkpoint is made of."""

from __future__ import annotations

import hashlib
import math
import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

SIZES: Mapping[str, int] = {
    **dict.fromkeys(("bool", "uint8", "int8", "float8_e5m2", "float8_e4m3fn"), 1),
    **dict.fromkeys(("float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e8m0fnu"), 1),
    **dict.fromkeys(("int16", "uint16", "float16", "bfloat16"), 2),
    **dict.fromkeys(("int32", "uint32", "float32"), 4),
    **dict.fromkeys(("int64", "uint64", "float64", "complex64"), 8),
    "complex128": 16,
}
"""Name of a dtype in PyTorch → bytes of one element."""
_CHUNK = 1 << 24
_CASTS: Mapping[int, Literal["B", "H", "I", "Q"]] = {1: "B", 2: "H", 4: "I", 8: "Q"}


class CheckpointError(ValueError):
    """A checkpoint that cannot be used: one line says why, another what to do."""

    def __init__(self, reason: str, remedy: str = "", *, refused: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.refused = tuple(refused)
        """Names that a pickle asks for and that only running it could give."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Bytes of a file."""

    file: str
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """A view of a storage; sizes, strides and the offset in elements."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    storage: Storage
    offset: int = 0
    stride: tuple[int, ...] | None = None
    """None: contiguous."""
    location: str = "cpu"
    """The device it says it was on when it was saved."""

    @property
    def itemsize(self) -> int:
        return SIZES[self.dtype]

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.count * self.itemsize

    def check(self) -> None:
        """Raises CheckpointError: it reaches out of its storage, or means more than is there."""
        if self.dtype not in SIZES:
            raise CheckpointError(f"{self.name!r} has the unknown dtype {self.dtype!r}")
        stride = _contiguous(self.shape) if self.stride is None else self.stride
        numbers = (*self.shape, *stride, self.offset)
        if len(stride) != len(self.shape) or any(n < 0 or n >= 1 << 62 for n in numbers):
            raise CheckpointError(f"{self.name!r} has an impossible shape or stride")
        if not self.count:
            return
        last = self.offset + sum((n - 1) * s for n, s in zip(self.shape, stride, strict=True))
        if (last + 1) * self.itemsize > self.storage.size:
            raise CheckpointError(
                f"{self.name!r} needs {(last + 1) * self.itemsize:,} bytes of a storage of "
                f"{self.storage.size:,}: the file is truncated or not what it says"
            )
        if self.bytes > 16 * max(self.storage.size, 4096):
            raise CheckpointError(
                f"{self.name!r} would be {self.bytes:,} bytes, out of {self.storage.size:,}"
            )


def _contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    stride: list[int] = []
    step = 1
    for size in reversed(shape):
        stride.append(step)
        step *= max(size, 1)
    return tuple(reversed(stride))


@dataclass(eq=False)
class Checkpoint:
    """What a checkpoint holds; its tensors stay in their files until they are asked for."""

    path: str
    format: str
    tensors: Sequence[Tensor]
    files: Sequence[str]
    others: Mapping[str, str] = field(default_factory=dict)
    """What is no tensor: name → the type of the value."""
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for tensor in self.tensors:
            tensor.check()
            if tensor.name in seen:
                raise CheckpointError(f"two tensors are called {tensor.name!r}")
            seen.add(tensor.name)

    @cached_property
    def _maps(self) -> dict[str, memoryview]:
        return {}

    def bytes_of(self, storage: Storage) -> memoryview:
        if not storage.size:
            return memoryview(b"")
        if storage.file not in self._maps:
            with open(storage.file, "rb") as stream:
                mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            self._maps[storage.file] = memoryview(mapped)
        return self._maps[storage.file][storage.start : storage.start + storage.size]

    def chunks(self, tensor: Tensor) -> Iterator[bytes | memoryview]:
        """The elements in row order, as bytes, a piece at a time."""
        if not tensor.count:
            return
        data = self.bytes_of(tensor.storage)
        size = tensor.itemsize
        begin = tensor.offset * size
        plain = _contiguous(tensor.shape)
        stride = tensor.stride
        if stride is None or _same_order(tensor.shape, stride, plain):
            for at in range(begin, begin + tensor.bytes, _CHUNK):
                yield data[at : min(at + _CHUNK, begin + tensor.bytes)]
            return
        yield from _gathered(data, tensor.shape, stride, tensor.offset, size)

    def digest(self, tensor: Tensor) -> str:
        found = hashlib.sha256()
        for chunk in self.chunks(tensor):
            found.update(chunk)
        return found.hexdigest()

    def table(self) -> dict[str, dict[str, Any]]:
        """Name → dtype, shape and the SHA-256 of the values."""
        return {
            t.name: {"dtype": t.dtype, "shape": list(t.shape), "sha256": self.digest(t)}
            for t in self.tensors
        }

    @property
    def bytes(self) -> int:
        return sum(t.bytes for t in self.tensors)

    def shared(self) -> list[list[str]]:
        """Names whose tensors lie in the same bytes: tied weights, views."""
        by_storage: dict[Storage, list[str]] = {}
        for tensor in self.tensors:
            if tensor.count:
                by_storage.setdefault(tensor.storage, []).append(tensor.name)
        return [sorted(names) for names in by_storage.values() if len(names) > 1]


def _same_order(shape: Sequence[int], stride: Sequence[int], plain: Sequence[int]) -> bool:
    return all(n == 1 or s == p for n, s, p in zip(shape, stride, plain, strict=True))


def _gathered(
    data: memoryview, shape: Sequence[int], stride: Sequence[int], offset: int, size: int
) -> Iterator[bytes]:
    """A view in row order: the innermost dimension by a slice, the others one at a time."""
    cast = _CASTS.get(size)
    usable = data[: len(data) // size * size]
    items = usable.cast(cast) if cast else usable
    inner, step = (shape[-1], stride[-1]) if shape else (1, 1)
    outer = list(zip(shape[:-1], stride[:-1], strict=True))
    index = [0] * len(outer)
    held: list[bytes] = []
    kept = 0
    while True:
        at = offset + sum(i * s for i, (_, s) in zip(index, outer, strict=True))
        if not cast:
            piece = b"".join(
                bytes(items[(at + k * step) * size : (at + k * step + 1) * size])
                for k in range(inner)
            )
        elif step:
            piece = items[at : at + (inner - 1) * step + 1 : step].tobytes()
        else:
            piece = items[at : at + 1].tobytes() * inner
        held.append(piece)
        kept += len(piece)
        if kept >= _CHUNK:
            yield b"".join(held)
            held, kept = [], 0
        for axis in range(len(outer) - 1, -1, -1):
            index[axis] += 1
            if index[axis] < outer[axis][0]:
                break
            index[axis] = 0
        else:
            break
    yield b"".join(held)
