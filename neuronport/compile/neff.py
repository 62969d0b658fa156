"""The header of a NEFF: 1024 bytes before a tarball, as Neuron's runtime documentation lays it out.

What the fields mean beyond their names is told where the documentation tells it. A header that
contradicts the file (sizes that do not fit) is not read.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = "neuron-runtime/explore/work-with-neff-files.rst"
HEADER = 1024
_LAYOUT = struct.Struct("<5Q128sI32s16s256sI64sQI468x")
"""Every field is where it would be aligned anyway, so that packed and unpacked are the same."""
assert _LAYOUT.size == HEADER


class NeffError(ValueError):
    """The file has no header of the documented form; the message says why."""


@dataclass(frozen=True, slots=True)
class Neff:
    version: str
    """Of the format, ``major.minor``."""
    packaged_by: int
    """Version of the tool that made it."""
    build: str
    name: str
    uuid: str
    data_bytes: int
    """Of the tarball behind the header."""
    cores: int
    """NeuronCores, ``num_tpb``."""
    lnc: int
    """Physical cores that make one logical core; 0: not said."""
    feature_bits: int

    def as_json(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "packaged_by": self.packaged_by,
            "build": self.build,
            "name": self.name,
            "uuid": self.uuid,
            "data_bytes": self.data_bytes,
            "cores": self.cores,
            "lnc": self.lnc,
            "feature_bits": self.feature_bits,
        }


def read(file: Path) -> Neff:
    """The header of ``file``.

    Raises NeffError: it has none of the documented form. Raises OSError.
    """
    with file.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        data = stream.read(HEADER)
    if len(data) < HEADER:
        raise NeffError(f"{size} bytes: less than a header")
    (
        packaged_by,
        header_size,
        data_size,
        major,
        minor,
        build,
        cores,
        _hash,
        uuid,
        name,
        _requested,
        _per_node,
        features,
        lnc,
    ) = _LAYOUT.unpack(data)
    if header_size != HEADER:
        raise NeffError(f"its header says that it is {header_size} bytes long, not {HEADER}")
    if header_size + data_size > size:
        raise NeffError(f"its header says {data_size} bytes of data; the file has {size - HEADER}")
    return Neff(
        f"{major}.{minor}",
        packaged_by,
        _text(build),
        _text(name),
        uuid.hex(),
        data_size,
        cores,
        lnc,
        features,
    )


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode("utf-8", errors="replace")
