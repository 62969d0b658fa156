"""What ``torch.save`` writes since PyTorch 1.6: a zip of one pickle and the storages."""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from neuronport.portability.checkpoints.pickles import (
    Built,
    Opaque,
    StorageRef,
    TensorRef,
    interpret,
)
from neuronport.portability.checkpoints.tensors import (
    SIZES,
    Checkpoint,
    CheckpointError,
    Storage,
    Tensor,
)

NAME = "torch.save"
ORDER = 30
_MOST_PICKLE = 512_000_000
_LOCAL_HEADER = 30
_DEEPEST = 64
_ITEMS = (dict, list, tuple, set, frozenset)


def fits(path: str, head: bytes) -> bool:
    return head[:4] == b"PK\x03\x04" or path.endswith((".pt", ".pth", ".bin", ".ckpt"))


def read(path: str) -> Checkpoint:
    with open(path, "rb") as stream:
        if stream.read(4) != b"PK\x03\x04":
            raise CheckpointError(
                "not the zip that torch.save writes since PyTorch 1.6",
                "where its program runs, load it and save it again, or save it as safetensors",
            )
    try:
        with zipfile.ZipFile(path) as archive:
            if any(n.endswith("/constants.pkl") for n in archive.namelist()):
                raise CheckpointError(
                    "a TorchScript program: code, and not a checkpoint",
                    "keep the state_dict that it was made from: that is what other devices load",
                    refused=["TorchScript"],
                )
            entries = _entries(archive, os.path.getsize(path))
            folder = _folder(entries)
            order = _small(archive, entries, f"{folder}/byteorder")
            if order not in (b"", b"little"):
                raise CheckpointError(f"its byte order is {order[:10]!r}, and only little is read")
            info = entries[f"{folder}/data.pkl"]
            if info.file_size > _MOST_PICKLE:
                raise CheckpointError(f"its pickle is larger than {_MOST_PICKLE:,} bytes")
            built = interpret(archive.read(info))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, struct.error) as error:
        raise CheckpointError(
            f"truncated, or no zip that can be read ({error})", "copy or save it again"
        ) from None
    if built.refused:
        raise _refusal(built)
    if built.unread:
        raise CheckpointError(
            f"it holds tensors of a kind that is not read here: {_listed(built.unread)}",
            "save them as plain tensors to have them compared",
        )
    tensors, others = _found(built.value, path, folder, entries)
    return Checkpoint(path, NAME, tensors, [path], others)


def _entries(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    found = {}
    total = 0
    for info in archive.infolist():
        if info.compress_type != zipfile.ZIP_STORED:
            raise CheckpointError(
                f"{info.filename!r} in it is compressed, which torch.save never does",
                "save it again with torch.save",
            )
        if info.filename in found:
            raise CheckpointError(f"{info.filename!r} is in it twice")
        total += info.file_size
        found[info.filename] = info
    if total > size:
        raise CheckpointError("its entries overlap: together they are larger than the file")
    return found


def _folder(entries: Mapping[str, zipfile.ZipInfo]) -> str:
    found = [n.removesuffix("/data.pkl") for n in entries if n.count("/") == 1]
    folders = [n for n in found if f"{n}/data.pkl" in entries]
    if len(folders) != 1:
        raise CheckpointError("a zip that torch.save did not write: it has no data.pkl")
    return folders[0]


def _small(archive: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo], name: str) -> bytes:
    info = entries.get(name)
    return archive.read(info) if info is not None and info.file_size < 100 else b""


def _refusal(built: Built) -> CheckpointError:
    return CheckpointError(
        f"only running its pickle would load it: it asks for {_listed(built.refused)}",
        "where its program runs, save the tensors alone (a state_dict), and what else it holds "
        "as numbers and text",
        refused=built.refused,
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (" …" if len(names) > 5 else "")


def _found(
    value: Any, path: str, folder: str, entries: Mapping[str, zipfile.ZipInfo]
) -> tuple[list[Tensor], dict[str, str]]:
    tensors: list[Tensor] = []
    others: dict[str, str] = {}
    starts: dict[str, Storage] = {}
    names: dict[str, int] = {}
    with open(path, "rb") as stream:

        def storage(ref: StorageRef) -> Storage:
            if ref.key not in starts:
                info = entries.get(f"{folder}/data/{ref.key}")
                if info is None:
                    raise CheckpointError(f"the storage {ref.key!r} is not in it")
                starts[ref.key] = Storage(path, _start(stream, info), info.file_size)
            found = starts[ref.key]
            if ref.dtype and ref.count * SIZES[ref.dtype] > found.size:
                raise CheckpointError(
                    f"the storage {ref.key!r} has {found.size:,} bytes of "
                    f"{ref.count * SIZES[ref.dtype]:,}: truncated, or not what it says"
                )
            return found

        for name, item in _walk(value):
            count = names[name] = names.get(name, 0) + 1
            unique = name if count == 1 else f"{name}#{count}"
            if isinstance(item, TensorRef):
                if not item.dtype:
                    raise CheckpointError(f"nothing says what dtype {unique!r} has")
                tensors.append(
                    Tensor(
                        unique,
                        item.dtype,
                        item.shape,
                        storage(item.storage),
                        item.offset,
                        item.stride,
                        item.location,
                    )
                )
            else:
                others[unique] = type(item).__name__
    return tensors, others


def _walk(value: Any) -> Iterator[tuple[str, Any]]:
    """Tensors and other leaves by name: keys of one dictionary in another joined by ``/``. What is
    referred to more than once is gone through once, or a small pickle could name a billion."""
    pending: list[tuple[str, int, Any]] = [("", 0, value)]
    seen: set[int] = set()
    while pending:
        name, depth, item = pending.pop()
        if depth > _DEEPEST:
            raise CheckpointError(f"its values are nested more than {_DEEPEST} deep")
        if isinstance(item, _ITEMS):
            if id(item) in seen and item:
                continue
            seen.add(id(item))
            rows = item.items() if isinstance(item, dict) else enumerate(item)
            below = [
                (f"{name}/{key}" if name else str(key), depth + 1, inner) for key, inner in rows
            ]
            pending.extend(reversed(below))
        elif isinstance(item, Opaque):  # refused before
            raise CheckpointError(f"only running its pickle would load it: {item.name}")
        else:
            yield name or "(the whole)", item


def _start(stream: Any, info: zipfile.ZipInfo) -> int:
    """Where the bytes of an entry begin: behind its own header, which has its own length."""
    stream.seek(info.header_offset)
    header = stream.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
        raise CheckpointError(f"the entry {info.filename!r} is not where it should be")
    name, extra = struct.unpack("<HH", header[26:30])
    start = int(info.header_offset) + _LOCAL_HEADER + int(name) + int(extra)
    stream.seek(0, os.SEEK_END)
    if start + info.file_size > stream.tell():
        raise CheckpointError(f"the entry {info.filename!r} is cut off")
    return start
