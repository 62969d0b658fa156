"""What reaches the frameworks before and after: the same words on CUDA, none that raise elsewhere."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest

from neuronport.codemods.engine.seam import functions, new_module

torch = pytest.importorskip("torch")
FOLDER = Path(__file__).parent / "framework_arguments"


class Recorder:
    """Stands in for everything a framework has: notes the calls and their arguments."""

    def __init__(self, name: str, calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]]) -> None:
        self.name = name
        self.calls = calls

    def __getattr__(self, name: str) -> Any:
        return Recorder(f"{self.name}.{name}", self.calls)

    def __call__(self, *args: Any, **words: Any) -> Any:
        self.calls.append((self.name, args, words))
        return Recorder(f"{self.name}()", self.calls)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recorder) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


def calls(path: Path, device: str, monkeypatch: Any) -> dict[str, dict[str, Any]]:
    """Each call's words, by what is called, when a program's ``main`` runs on a device."""
    made: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
    seam = types.ModuleType("neuron_device")
    exec(compile(new_module(functions()), "neuron_device.py", "exec"), seam.__dict__)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: device == "cuda")
    monkeypatch.setattr(
        torch,
        "neuron",
        types.SimpleNamespace(is_available=lambda: device == "neuron"),
        raising=False,
    )
    assert seam.device_name() == device
    if device == "neuron":
        # This build of PyTorch has no device of that name.
        monkeypatch.setitem(seam.__dict__, "get_device", lambda index=None: "neuron")
    monkeypatch.setitem(sys.modules, "neuron_device", seam)
    for name in ("transformers", "diffusers", "accelerate", "sentence_transformers"):
        monkeypatch.setitem(sys.modules, name, Recorder(name, made))
    program: dict[str, Any] = {}
    exec(compile(path.read_text("utf-8"), path.name, "exec"), program)
    program["main"]("name")
    return {f"{i} {name}": {"": args, **words} for i, (name, args, words) in enumerate(made)}


@pytest.mark.parametrize("name", ["hub", "half.review"])
def test_on_cuda_the_frameworks_get_what_they_got(name: str, monkeypatch: Any) -> None:
    old = calls(FOLDER / f"{name}.in.py", "cuda", monkeypatch)
    new = calls(FOLDER / f"{name}.out.py", "cuda", monkeypatch)
    assert list(old) == list(new)
    # Arguments that are written now and were left out: what their default stands for.
    defaults = {"bf16": False, "torch_compile_backend": None, "device": None}
    for key, words in old.items():
        assert set(words) <= set(new[key])
        for word, value in new[key].items():
            before = words.get(word, defaults.get(word))
            if isinstance(value, torch.device):
                before = torch.device("cuda", before)
            assert value == before, (key, word)


def test_on_the_cpu_only_what_raised_is_different(monkeypatch: Any) -> None:
    old = calls(FOLDER / "half.review.in.py", "cpu", monkeypatch)
    new = calls(FOLDER / "half.review.out.py", "cpu", monkeypatch)
    for key, words in old.items():
        for word, value in words.items():
            assert new[key][word] == value, (key, word)
    words = dict(calls(FOLDER / "hub.out.py", "cpu", monkeypatch))
    flat = {k: v for w in words.values() for k, v in w.items()}
    # flash_attention_2, TF32 and NCCL raise without CUDA.
    assert flat["attn_implementation"] == "sdpa"
    assert flat["tf32"] is None
    assert flat["ddp_backend"] is None
    assert not any("xformers" in key for key in words)


def test_on_neuron_nothing_of_cuda_is_asked_for(monkeypatch: Any) -> None:
    for name in ("hub", "half.review"):
        for key, words in calls(FOLDER / f"{name}.out.py", "neuron", monkeypatch).items():
            text = repr((key, words)).lower()
            for word in (
                "cuda",
                "nccl",
                "flash_attention_2': true",
                "'flash",
                "apex",
                "paged",
                "bitsandbytes",
            ):
                assert word not in text, (key, word)
    last = calls(FOLDER / "half.review.out.py", "neuron", monkeypatch)
    flat = {k: v for w in last.values() for k, v in w.items()}
    assert flat["bf16"] is True
    assert flat["fp16"] is False
    assert flat["mixed_precision"] == "bf16"
    assert any(".to" in key for key in last), "the model is moved"
