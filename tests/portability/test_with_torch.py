"""Round trips of what PyTorch itself saves, through PyTorch in processes of its own."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from neuronport.portability.checkpoints import formats, roundtrip
from tests.portability.making import safetensors

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with all that training leaves in one."""
    folder = tmp_path_factory.mktemp("saved")
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(4, 8)).sum().backward()
    optimizer.step()
    tied = torch.randn(3, 2)
    value = {
        "model": model.state_dict(),
        "parameter": model[0].weight,
        "optimizer": optimizer.state_dict(),
        "rng": torch.get_rng_state(),
        "epoch": 3,
        "best": 1.5,
        "view": torch.randn(4, 5, 6).permute(2, 0, 1)[1:, ::2],
        "scalar": torch.tensor(2.0),
        "empty": torch.empty(0, 3),
        "expanded": torch.ones(1).expand(5),
        "large": torch.tensor([2**40, -(2**31) - 1, 2**31 - 1]),
        "double": torch.randn(2).double(),
        "bfloat": torch.randn(3).bfloat16(),
        "float8": torch.randn(4).to(torch.float8_e4m3fn),
        "complex": torch.randn(2, dtype=torch.complex64),
        "nan": torch.tensor([float("nan"), float("-inf"), -0.0]),
        "bool": torch.tensor([True, False]),
        "tied": [tied, tied],
        "dtype": torch.float32,
        "device": torch.device("cpu"),
        "size": torch.Size([1, 2]),
        "a": {"b": torch.ones(1)},
        "a/b": torch.zeros(1),
    }
    torch.save(value, folder / "full.pt")
    torch.save(model, folder / "module.pt")
    return folder


def test_all_that_training_leaves_comes_back(saved: Path) -> None:
    result = roundtrip.roundtrip(str(saved / "full.pt"))
    assert [leg.as_json() for leg in result.legs if not leg.same] == []
    assert result.status == "same"
    assert len(result.legs) == 4
    assert result.wide == 2
    assert ("tied/0", "tied/1") in result.shared
    assert result.dtypes["float64"] == 1
    assert result.others > 5


def test_the_values_are_those_that_torch_reads(saved: Path) -> None:
    ours = formats.read(str(saved / "full.pt"))
    theirs = torch.load(saved / "full.pt", weights_only=True)
    by_name = {t.name: t for t in ours.tensors}
    for name in ("view", "expanded", "nan", "large", "bfloat"):
        raw = b"".join(bytes(c) for c in ours.chunks(by_name[name]))
        value = theirs[name].contiguous()
        assert raw == value.view(torch.uint8).numpy().tobytes()
    assert {"a/b", "a/b#2"} <= set(by_name)


def test_a_whole_module_is_refused_by_the_names_of_its_classes(saved: Path) -> None:
    result = roundtrip.roundtrip(str(saved / "module.pt"))
    assert result.status == "refused"
    assert "torch.nn.modules.linear.Linear" in result.refused
    assert result.legs == ()


@pytest.mark.parametrize("kind", ["sparse", "quantized", "legacy"])
def test_what_is_not_read_here_is_not_said_to_fail(tmp_path: Path, kind: str) -> None:
    value = torch.eye(3)
    if kind == "sparse":
        value = value.to_sparse()
    if kind == "quantized":
        value = torch.quantize_per_tensor(value, 0.1, 0, torch.quint8)
    file = tmp_path / "a.pt"
    torch.save({"a": value}, file, _use_new_zipfile_serialization=kind != "legacy")
    result = roundtrip.roundtrip(str(file))
    assert result.status == "unreadable"
    assert result.problem
    assert result.remedy


def test_that_a_copy_differs_is_seen(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test itself is tested: a loader that changes one bit."""
    found = roundtrip._child

    def child(ask, *rest):  # type: ignore[no-untyped-def]
        answer = found(ask, *rest)
        for table in answer["devices"].values():
            table["scalar"]["sha256"] = "0" * 64
        return answer

    monkeypatch.setattr(roundtrip, "_child", child)
    result = roundtrip.roundtrip(str(saved / "full.pt"))
    assert result.status == "differs"
    assert {d.name for leg in result.legs for d in leg.differences} == {"scalar"}


def test_safetensors_by_its_own_library(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    rows = {
        "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "b": {"dtype": "BF16", "shape": [1, 1], "data_offsets": [8, 10]},
    }
    file = safetensors(tmp_path / "a.safetensors", rows, struct.pack("<ffH", 1, 2, 3))
    result = roundtrip.roundtrip(str(file))
    assert result.status == "same"
    assert any("safetensors.torch" in leg.how for leg in result.legs)


def test_shards_of_torch(tmp_path: Path) -> None:
    import json

    places = {}
    for number in (1, 2):
        name = f"pytorch_model-0000{number}-of-00002.bin"
        torch.save({f"layer.{number}": torch.randn(3, 3).t()}, tmp_path / name)
        places[f"layer.{number}"] = name
    index = tmp_path / "pytorch_model.bin.index.json"
    index.write_text(json.dumps({"weight_map": places}))
    result = roundtrip.roundtrip(str(tmp_path))
    assert result.status == "same"
    assert len(result.legs) == 4
    assert result.tensors == 2


def test_an_interpreter_that_is_not_there_says_nothing_of_the_checkpoint(saved: Path) -> None:
    result = roundtrip.roundtrip(str(saved / "full.pt"), python="/no/such/python")
    assert result.status == "same"
    assert "/no/such/python" in result.legs[-1].problem


def test_what_torch_refuses_is_a_difference(saved: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.pt"
    file.write_bytes((saved / "full.pt").read_bytes())
    answer = roundtrip._child(
        {"files": [str(tmp_path / "none.pt")], "save": []}, tmp_path / "x", "", 300, 8000
    )
    assert "FileNotFoundError" in answer["problem"]
