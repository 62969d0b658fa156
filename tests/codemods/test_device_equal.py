"""Streams, events, random states and typed tensors: the same calls with CUDA, working ones without."""

from __future__ import annotations

import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest

from neuronport.codemods import random_state
from neuronport.codemods.engine.seam import extended, functions, new_module

torch = pytest.importorskip("torch")
HERE = Path(__file__).parent


@pytest.fixture
def seam() -> Any:
    module = types.ModuleType("neuron_device")
    exec(compile(new_module(functions()), "neuron_device.py", "exec"), module.__dict__)
    return module


class Cuda:
    """Stands in for ``torch.cuda`` with a GPU: answers what it is called with."""

    def is_available(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **words: (name, args, words)


def program(path: Path, seam: Any, monkeypatch: Any) -> dict[str, Any]:
    monkeypatch.setitem(sys.modules, "neuron_device", seam)
    names: dict[str, Any] = {}
    exec(compile(path.read_text("utf-8"), path.name, "exec"), names)
    return names


@pytest.mark.parametrize(
    ("old", "new", "args", "words"),
    [
        ("Event", "device_event", (), {"enable_timing": True}),
        ("Event", "device_event", (True, False), {}),
        ("Stream", "device_stream", (), {"device": "cuda:1"}),
        ("Stream", "device_stream", (), {}),
        ("stream", "on_stream", ("s",), {}),
        ("current_stream", "current_stream", ("cuda:1",), {}),
        ("default_stream", "default_stream", (1,), {}),
        *((o, n, (), {}) for o, n in random_state.NAMES.items() if o.startswith("get")),
        ("get_rng_state", "device_rng_state", ("cuda:1",), {}),
    ],
)
def test_with_cuda_the_same_call_is_made(
    old: str, new: str, args: Any, words: Any, seam: Any, monkeypatch: Any
) -> None:
    cuda = Cuda()
    monkeypatch.setattr(torch, "cuda", cuda)
    assert getattr(seam, new)(*args, **words) == getattr(cuda, old)(*args, **words)


def test_with_cuda_states_are_set_where_they_were(seam: Any, monkeypatch: Any) -> None:
    calls: list[Any] = []
    cuda = types.SimpleNamespace(
        is_available=lambda: True,
        set_rng_state=lambda *a: calls.append(("one", a)),
        set_rng_state_all=lambda *a: calls.append(("all", a)),
    )
    monkeypatch.setattr(torch, "cuda", cuda)
    seam.set_device_rng_state("s", "cuda:1")
    seam.set_device_rng_state("s")
    seam.set_device_rng_states(["s", "t"])
    assert calls == [("one", ("s", "cuda:1")), ("one", ("s",)), ("all", (["s", "t"],))]


@pytest.mark.skipif(torch.cuda.is_available(), reason="compares builds without CUDA")
def test_without_cuda_time_is_taken_and_order_is_kept(seam: Any, monkeypatch: Any) -> None:
    names = program(HERE / "streams" / "timing.out.py", seam, monkeypatch)
    trainer = names["Trainer"]()
    assert 0 <= trainer.step(torch.ones(3)) < 10_000
    start, end = seam.device_event(enable_timing=True), seam.device_event(enable_timing=True)
    start.record()
    time.sleep(0.02)
    end.record(seam.current_stream())
    assert 15 < start.elapsed_time(end) < 5_000
    assert end.query()
    end.synchronize()
    with seam.on_stream(None):
        pass
    stream = seam.default_stream()
    stream.wait_event(stream.record_event())
    assert stream.query()


@pytest.mark.skipif(torch.cuda.is_available(), reason="compares builds without CUDA")
def test_without_cuda_states_come_back(seam: Any, monkeypatch: Any) -> None:
    names = program(HERE / "random_state" / "checkpoint.out.py", seam, monkeypatch)
    torch.manual_seed(3)
    drawn = names["around"](lambda n: torch.rand(n), 2)
    assert torch.equal(torch.rand(2), drawn)
    # The list of all states is what it was, and a CUDA state of a checkpoint is passed over.
    assert seam.device_rng_states() == torch.cuda.get_rng_state_all() == []
    before = torch.get_rng_state()
    names["resume"]({"cpu": before, "cuda": [torch.zeros(16, dtype=torch.uint8)]})
    seam.set_device_rng_state(torch.zeros(16, dtype=torch.uint8))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.skipif(torch.cuda.is_available(), reason="compares builds without CUDA")
def test_typed_tensors_have_the_dtype_and_shape_of_their_types(seam: Any, monkeypatch: Any) -> None:
    # On this build torch.FloatTensor is to the CPU what torch.cuda.FloatTensor is to CUDA.
    text = (HERE / "typed_tensors" / "made.in.py").read_text("utf-8")
    old: dict[str, Any] = {}
    exec(text.replace("torch.cuda.", "torch."), old)
    new = program(HERE / "typed_tensors" / "made.out.py", seam, monkeypatch)
    x = torch.ones(2, 5)
    for a, b in zip(old["make"](2, 3, x), new["make"](2, 3, x), strict=True):
        assert a.dtype == b.dtype
        assert a.device == b.device
        assert torch.equal(a, b)
    cast = program(HERE / "typed_tensors" / "cast.review.out.py", seam, monkeypatch)["cast"]
    y = torch.arange(3)
    assert torch.equal(cast(y), y.type(torch.FloatTensor))
    assert cast(y).dtype == torch.float32


def test_a_seam_that_is_there_gets_classes_and_modules_it_lacks(seam: Any) -> None:
    old = new_module(["get_device"])
    text = extended(old, ["device_event", "on_stream"], "\n")
    assert text.startswith(old)
    module: dict[str, Any] = {}
    exec(text, module)
    module["device_event"]().record()
    with module["on_stream"](None):
        pass
    assert extended(text, ["device_event", "on_stream"], "\n") == text
