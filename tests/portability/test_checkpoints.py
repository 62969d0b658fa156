"""Checkpoints: what is read, what is refused, and that nothing in one is ever run."""

from __future__ import annotations

import json
import os
import pickle
import struct
import sys
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuronport.portability.checkpoints import formats
from neuronport.portability.checkpoints.pickles import interpret
from neuronport.portability.checkpoints.roundtrip import compare, roundtrip
from neuronport.portability.checkpoints.tensors import (
    Checkpoint,
    CheckpointError,
    Storage,
    Tensor,
)
from tests.portability.making import pickled, safetensors, zipped

# ---- safetensors ----------------------------------------------------------------------------------

F32 = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def test_a_plain_file(tmp_path: Path) -> None:
    header = {"__metadata__": {"format": "pt"}, "a": F32}
    file = safetensors(tmp_path / "a.safetensors", header, struct.pack("<ff", 1, 2))
    read = formats.read(str(file))
    (tensor,) = read.tensors
    assert (tensor.name, tensor.dtype, tensor.shape) == ("a", "float32", (2,))
    assert b"".join(read.chunks(tensor)) == struct.pack("<ff", 1, 2)


@pytest.mark.parametrize(
    ("header", "data", "says"),
    [
        ({"a": F32}, b"1234567", "truncated"),
        ({"a": F32}, b"123456789", "followed by something else"),
        ({"a": {**F32, "data_offsets": [1, 9]}}, b"123456789", "leaves a hole"),
        ({"a": F32, "b": F32}, b"12345678", "overlaps another"),
        ({"a": {**F32, "shape": [3]}}, b"12345678", "has 8 bytes for the shape [3]"),
        ({"a": {**F32, "shape": [-2]}}, b"12345678", "impossible"),
        ({"a": {**F32, "shape": [True, 2]}}, b"12345678", "impossible"),
        ({"a": {**F32, "dtype": "F7"}}, b"12345678", "unknown dtype 'F7'"),
        ({"a": 3}, b"", "malformed"),
        ({"a": {"dtype": ["F32"], "shape": [1], "data_offsets": [0, 4]}}, b"1234", "malformed"),
        ([], b"", "no JSON object"),
        (b'{"a": {}, "a": {}}', b"", "twice"),
        (b"{\xff}", b"", "not JSON"),
        (b"{" * 100_000, b"", "not JSON"),
    ],
)
def test_a_broken_file_is_told_in_one_line(
    tmp_path: Path, header: Any, data: bytes, says: str
) -> None:
    file = safetensors(tmp_path / "a.safetensors", header, data)
    with pytest.raises(CheckpointError, match=says.replace("[", r"\[")) as caught:
        formats.read(str(file))
    assert "\n" not in str(caught.value)


def test_a_header_longer_than_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.safetensors"
    for raw in (b"", b"1234", (1 << 62).to_bytes(8, "little") + b"{}"):
        file.write_bytes(raw)
        with pytest.raises(CheckpointError):
            formats.read(str(file))


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_checkpoint_or_an_error(raw: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.safetensors", "a.pt", "a.index.json", "a"):
            file = Path(folder, name)
            for data in (raw, len(raw).to_bytes(8, "little") + raw, b"PK\x03\x04" + raw):
                file.write_bytes(data)
                with suppress(CheckpointError):
                    formats.read(str(file)).table()


# ---- pickles --------------------------------------------------------------------------------------


class Evil:
    def __init__(self, target: Any, *arguments: Any) -> None:
        self.call = (target, arguments)

    def __reduce__(self) -> Any:
        return self.call


def test_a_hostile_pickle_is_refused_by_name_and_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    payloads = {
        "system": Evil(os.system, f"touch {mark}"),
        "exec": Evil(exec, f"open({str(mark)!r}, 'w')"),
        "getattr": Evil(getattr, "text", "upper"),
    }
    for word, payload in payloads.items():
        file = zipped(tmp_path / f"{word}.pt", pickled({"a": [payload]}))
        result = roundtrip(str(file))
        assert result.status == "refused"
        assert any(word in name for name in result.refused)
        assert not mark.exists()


def test_every_name_that_is_refused_is_told(tmp_path: Path) -> None:
    import argparse
    import fractions

    value = {"a": argparse.Namespace(x=1), "b": fractions.Fraction(1, 2), "c": 3}
    result = roundtrip(str(zipped(tmp_path / "a.pt", pickled(value))))
    assert result.refused == ("argparse.Namespace", "fractions.Fraction")
    assert "state_dict" in result.remedy


def _bomb() -> bytes:
    """A list of lists … that would be 2**60 long, in some hundred bytes."""
    code = b"\x80\x02]"
    for _ in range(60):
        code += b"q\x00]h\x00ah\x00a"
    return code + b"."


def _hash_bomb() -> bytes:
    code = b"\x80\x02)"
    for _ in range(60):
        code += b"2\x86"
    return code


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "does not end|malformed"),
        (b"garbage", "malformed"),
        (b"\x80\x02", "cut off|end"),
        (pickled({"a": 1})[:-1], "cut off|end"),
        (b"\x80\x02N.", None),
        (b"\x80\x02\x8b\xff\xff\xff\x7f.", "cut off"),
        (b"\x80\x02N\x72\xff\xff\xff\xff.", None),
        (b"\x80\x02\x82\x01.", "uses EXT1"),
        (b"\x80\x02(\x81.", "malformed|no arguments"),
        (b"\x80\x02u.", "malformed"),
        (b"\x80\x02}]K\x01s.", "for a key"),
        (b"\x80\x02}" + _hash_bomb()[2:] + b"K\x01s.", "for a key"),
        (b"\x80\x02c__builtin__\nset\n" + _hash_bomb()[2:] + b"\x85R.", "for a key"),
        (b"\x80\x02ctorch\ndevice\n" + _bomb()[2:-1] + b"\x85R.", None),
        (b"\x80\x02K\x01Q.", "something else than a storage"),
        (b"\x80\x02c__builtin__\nlist\nJ\xff\xff\xff\x7f\x85R.", "makes a container"),
    ],
)
def test_odd_pickles_do_no_harm(data: bytes, says: str | None) -> None:
    if says is None:
        interpret(data)
        return
    with pytest.raises(CheckpointError, match=says):
        interpret(data)


def test_a_small_pickle_that_names_a_billion_is_walked_once(tmp_path: Path) -> None:
    result = roundtrip(str(zipped(tmp_path / "a.pt", _bomb())))
    assert result.status in ("same", "unreadable", "not-tried")


def test_deep_nesting(tmp_path: Path) -> None:
    data = b"\x80\x02" + b"]" * 1 + b"".join(b"q\x00]h\x00a" for _ in range(200)) + b"."
    result = roundtrip(str(zipped(tmp_path / "a.pt", data)))
    assert result.status == "unreadable"
    assert "nested more than" in result.problem


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.tuples(inner, inner)
        | st.sets(st.integers())
    ),
    max_leaves=20,
)


@settings(deadline=None)
@given(plain, st.integers(0, 5))
def test_plain_values_are_what_python_makes_of_them(value: Any, protocol: int) -> None:
    built = interpret(pickle.dumps(value, protocol=protocol))
    assert not built.refused
    assert built.value == value


@settings(deadline=None)
@given(plain, st.integers(0, 4), st.data())
def test_a_damaged_pickle_is_an_error_or_a_value(value: Any, protocol: int, data: Any) -> None:
    raw = bytearray(pickle.dumps(value, protocol=protocol))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with suppress(CheckpointError):
        interpret(bytes(raw))


# ---- zip files ------------------------------------------------------------------------------------


def storage(key: str, count: int, kind: str = "FloatStorage", location: str = "cpu") -> bytes:
    """Opcodes that push a storage."""
    words = f"X\x07\x00\x00\x00storagectorch\n{kind}\n".encode()
    for word in (key, location):
        raw = word.encode()
        words += b"X" + len(raw).to_bytes(4, "little") + raw
    return b"(" + words + b"J" + count.to_bytes(4, "little") + b"tQ"


def tensor(
    count: int = 2,
    shape: bytes = b"K\x02\x85",
    stride: bytes = b"K\x01\x85",
    offset: bytes = b"K\x00",
    **more: str,
) -> bytes:
    """A pickle of one tensor."""
    function = b"ctorch._utils\n_rebuild_tensor_v2\n("
    rest = b"\x89ccollections\nOrderedDict\n)Rt"
    made = function + storage("0", count, **more) + offset + shape + stride + rest + b"R"
    return b"\x80\x02}X\x01\x00\x00\x00w" + made + b"s."


def test_a_tensor_of_a_device(tmp_path: Path) -> None:
    file = zipped(tmp_path / "a.pt", tensor(location="cuda:3"), {"0": struct.pack("<ff", 1, 2)})
    (found,) = formats.read(str(file)).tensors
    assert (found.name, found.shape, found.location) == ("w", (2,), "cuda:3")


@pytest.mark.parametrize(
    ("data", "raw", "says"),
    [
        (tensor(), b"1234567", "has 7 bytes of 8"),
        (tensor(count=1), b"1234", "needs 8 bytes of a storage of 4"),
        (tensor(offset=b"K\x01"), b"12345678", "needs 12 bytes"),
        (tensor(offset=b"J\xff\xff\xff\xff"), b"12345678", "impossible"),
        (tensor(shape=b"J\xff\xff\xff\xff\x85"), b"12345678", "impossible"),
        (tensor(shape=b"X\x01\x00\x00\x00a\x85"), b"12345678", "no list of numbers"),
        (tensor(shape=b"J\xff\xff\xff\x7f\x85", stride=b"K\x00\x85"), b"12345678", "would be"),
        (tensor(kind="QInt8Storage"), b"12345678", "not read here: torch.QInt8Storage"),
    ],
)
def test_a_tensor_that_cannot_be(tmp_path: Path, data: bytes, raw: bytes, says: str) -> None:
    with pytest.raises(CheckpointError, match=says):
        formats.read(str(zipped(tmp_path / "a.pt", data, {"0": raw})))


def test_a_storage_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="'0' is not in it"):
        formats.read(str(zipped(tmp_path / "a.pt", tensor())))


def test_archives_that_torch_did_not_write(tmp_path: Path) -> None:
    good = zipped(tmp_path / "good.pt", tensor(), {"0": b"12345678"}).read_bytes()
    file = tmp_path / "a.pt"
    for cut in range(0, len(good), 37):
        file.write_bytes(good[:cut])
        with pytest.raises(CheckpointError):
            formats.read(str(file))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"0" * 1_000_000)
    with pytest.raises(CheckpointError, match="is compressed"):
        formats.read(str(file))
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("readme", b"")
    with pytest.raises(CheckpointError, match=r"no data\.pkl"):
        formats.read(str(file))
    zipped(file, pickled({}), None, **{"constants.pkl": b""})
    assert roundtrip(str(file)).status == "refused"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickled({}))
        archive.writestr("archive/byteorder", b"big")
    with pytest.raises(CheckpointError, match="byte order"):
        formats.read(str(file))


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 255))
def test_a_damaged_archive_is_an_error_or_a_checkpoint(place: int, byte: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = zipped(Path(folder, "a.pt"), tensor(), {"0": b"12345678"})
        raw = bytearray(file.read_bytes())
        raw[place % len(raw)] = byte
        file.write_bytes(raw)
        with suppress(CheckpointError):
            formats.read(str(file)).table()


# ---- indexes --------------------------------------------------------------------------------------


def sharded(folder: Path, places: dict[str, Any]) -> str:
    for name in ("a", "b"):
        safetensors(folder / f"{name}.safetensors", {name: F32}, b"12345678")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": places}))
    return str(index)


def test_shards_are_read_together_and_by_their_folder(tmp_path: Path) -> None:
    index = sharded(tmp_path, {"a": "a.safetensors", "b": "b.safetensors"})
    for path in (index, str(tmp_path)):
        read = formats.read(path)
        assert sorted(t.name for t in read.tensors) == ["a", "b"]
        assert len(read.files) == 3


@pytest.mark.parametrize(
    ("places", "says"),
    [
        ({"a": "a.safetensors", "c": "b.safetensors"}, "'c' should be in b.safetensors"),
        ({"a": "gone.safetensors"}, "'gone.safetensors' is not there"),
        ({"a": "../a.safetensors"}, "no file beside it"),
        ({"a": "/etc/passwd"}, "no file beside it"),
        ({"a": "model.safetensors.index.json"}, "no file beside it"),
        ({"a": ["a.safetensors"]}, "no file beside it"),
        ({}, "no weight_map"),
    ],
)
def test_an_index_that_does_not_fit(tmp_path: Path, places: dict[str, Any], says: str) -> None:
    with pytest.raises(CheckpointError, match=says):
        formats.read(sharded(tmp_path, places))


def test_what_the_index_does_not_say_is_noted(tmp_path: Path) -> None:
    read = formats.read(sharded(tmp_path, {"a": "a.safetensors"}))
    assert read.notes == []
    safetensors(
        tmp_path / "a.safetensors",
        {"a": F32, "x": {**F32, "data_offsets": [8, 16]}},
        b"1234567812345678",
    )
    assert "'x' is in a.safetensors" in formats.read(str(tmp_path)).notes[0]


# ---- what is no checkpoint ------------------------------------------------------------------------


def test_files_of_other_kinds(tmp_path: Path) -> None:
    (tmp_path / "empty.pt").write_bytes(b"")
    (tmp_path / "text.txt").write_text("hello")
    (tmp_path / "old.pt").write_bytes(pickled(119547037146038801333356))
    (tmp_path / "folder").mkdir()
    for name in ("empty.pt", "text.txt", "old.pt", "folder", "none.pt"):
        result = roundtrip(str(tmp_path / name))
        assert result.status == "unreadable"
        assert result.problem
        assert "\n" not in result.problem


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.pt")
    assert "not a regular file" in roundtrip(str(tmp_path / "a.pt")).problem


# ---- values ---------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.data())
def test_views_are_gathered_in_row_order(data: st.DataObject) -> None:
    """Against the definition: element by element."""
    import tempfile
    from itertools import product

    dtype, size = data.draw(
        st.sampled_from(
            [("uint8", 1), ("int16", 2), ("float32", 4), ("int64", 8), ("complex128", 16)]
        )
    )
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=4)))
    stride = tuple(data.draw(st.integers(0, 5)) for _ in shape)
    offset = data.draw(st.integers(0, 3))
    last = offset + sum(max(n - 1, 0) * s for n, s in zip(shape, stride, strict=True))
    raw = os.urandom((last + 1) * size)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "data")
        file.write_bytes(raw)
        view = Tensor("a", dtype, shape, Storage(str(file), 0, len(raw)), offset, stride)
        found = b"".join(Checkpoint(str(file), "", [view], [str(file)]).chunks(view))
    expected = b""
    for index in product(*(range(n) for n in shape)):
        at = offset + sum(i * s for i, s in zip(index, stride, strict=True))
        expected += raw[at * size : (at + 1) * size]
    assert found == expected


def test_every_difference_is_told() -> None:
    row = {"dtype": "float32", "shape": [2], "sha256": "a"}
    before = dict.fromkeys("abcdef", row)
    after = {
        "a": row,
        "b": {**row, "shape": [1, 2]},
        "c": {**row, "dtype": "float16"},
        "d": {**row, "sha256": "b"},
        "e": {"problem": "no such dtype"},
        "z": row,
    }
    found = {d.name: d.what for d in compare(before, after)}
    assert found == {
        "b": "shape",
        "c": "dtype",
        "d": "values",
        "e": "not-loaded",
        "f": "missing",
        "z": "added",
    }
    assert compare(before, before) == ()
