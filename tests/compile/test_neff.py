from __future__ import annotations

import struct
from pathlib import Path

import pytest

from neuronport.compile import neff


def made(header: int = 1024, data: int = 500, version: tuple[int, int] = (2, 0)) -> bytes:
    """Written field by field at the offsets of the documented structure, not with its own layout."""
    raw = bytearray(1024)
    struct.pack_into("<QQQQQ", raw, 0, 3, header, data, *version)
    raw[40:51] = b"2.27.5334.0"
    struct.pack_into("<I", raw, 168, 2)
    raw[172:204] = b"h" * 32
    raw[204:220] = bytes(range(16))
    raw[220:225] = b"model"
    struct.pack_into("<I", raw, 476, 1)
    raw[480] = 1
    struct.pack_into("<QI", raw, 544, 5, 2)
    return bytes(raw)


def test_a_header(tmp_path: Path) -> None:
    file = tmp_path / "model.neff"
    file.write_bytes(made() + b"t" * 500)
    assert neff.read(file).as_json() == {
        "version": "2.0",
        "packaged_by": 3,
        "build": "2.27.5334.0",
        "name": "model",
        "uuid": "000102030405060708090a0b0c0d0e0f",
        "data_bytes": 500,
        "cores": 2,
        "lnc": 2,
        "feature_bits": 5,
    }


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "0 bytes: less than a header"),
        (b"x" * 1023, "less than a header"),
        (b"not a NEFF" * 200, "its header says that it is"),
        (made(header=2048) + b"t" * 500, "2048 bytes long"),
        (made(data=501) + b"t" * 500, "501 bytes of data; the file has 500"),
    ],
)
def test_what_is_none(content: bytes, why: str, tmp_path: Path) -> None:
    file = tmp_path / "model.neff"
    file.write_bytes(content)
    with pytest.raises(neff.NeffError, match=why):
        neff.read(file)
