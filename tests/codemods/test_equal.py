"""Old and new side by side on a build without CUDA, and with CUDA and Neuron played by stand-ins."""

from __future__ import annotations

import inspect
import types
from typing import Any

import pytest

from neuronport.codemods import device_api
from neuronport.codemods.engine.seam import functions, new_module

torch = pytest.importorskip("torch")
DEFAULT_BACKEND = inspect.signature(torch.compile).parameters["backend"].default
WITHOUT_CUDA = pytest.mark.skipif(torch.cuda.is_available(), reason="compares builds without CUDA")


@pytest.fixture
def seam() -> Any:
    module = types.ModuleType("neuron_device")
    exec(compile(new_module(functions()), "neuron_device.py", "exec"), module.__dict__)
    return module


class Cuda:
    """Stands in for ``torch.cuda`` with a GPU: notes what it is called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def is_available(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any) -> str:
            self.calls.append((name, args))
            return f"{name}{args}"

        return call


ARGUMENTS: dict[str, list[tuple[Any, ...]]] = {
    "manual_seed": [(3,)],
    "manual_seed_all": [(3,)],
    "empty_cache": [()],
}


@pytest.mark.parametrize("name", device_api.NAMES)
def test_with_cuda_the_same_call_is_made(name: str, seam: Any, monkeypatch: Any) -> None:
    cuda = Cuda()
    monkeypatch.setattr(torch, "cuda", cuda)
    for args in ARGUMENTS.get(name, [(), (1,)]):
        expected = getattr(cuda, name)(*args)
        cuda.calls.clear()
        result = getattr(seam, name)(*args)
        assert cuda.calls == [(name, args)]
        assert result in (expected, None)
        if "memory_" in name and name != "reset_peak_memory_stats":
            assert result == expected


def test_with_cuda_devices_are_what_was_written(seam: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(torch, "cuda", Cuda())
    assert seam.device_name() == "cuda"
    assert seam.device_name(1) == "cuda:1"
    assert seam.get_device() == torch.device("cuda")
    assert seam.get_device(1) == torch.device("cuda:1") == torch.device("cuda", 1)
    assert seam.get_device("cuda:2") == seam.get_device(torch.device("cuda:2"))
    assert seam.is_accelerated() is True
    assert seam.distributed_backend() == "nccl"
    assert seam.compile_backend() == DEFAULT_BACKEND
    assert seam.half_dtype() is torch.float16
    assert seam.is_bf16_supported() == "is_bf16_supported()"
    assert seam.device_count() == "device_count()"


@WITHOUT_CUDA
@pytest.mark.parametrize("name", device_api.NAMES)
def test_without_cuda_what_answered_answers_the_same(name: str, seam: Any) -> None:
    args = ARGUMENTS.get(name, [()])[0]
    state = torch.get_rng_state()
    try:
        old = getattr(torch.cuda, name)(*args)
    except Exception:
        old = None  # what raised does nothing now
    assert getattr(seam, name)(*args) in ((old,) if old is not None else (None, 0))
    assert torch.equal(torch.get_rng_state(), state)


@WITHOUT_CUDA
def test_without_cuda_choices_are_the_same(seam: Any) -> None:
    assert seam.device_name() == ("cuda" if torch.cuda.is_available() else "cpu")
    assert seam.device_name(2) == ("cuda:2" if torch.cuda.is_available() else "cpu")
    assert seam.get_device() == torch.device("cuda" if torch.cuda.is_available() else "cpu")
    assert seam.is_accelerated() is torch.cuda.is_available()
    supported = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    assert seam.is_bf16_supported() is supported
    assert seam.device_count() == torch.cuda.device_count()
    assert seam.device_module() is torch.get_device_module(seam.get_device())


@WITHOUT_CUDA
def test_compile_keeps_its_defaults(seam: Any) -> None:
    parameters = inspect.signature(torch.compile).parameters
    assert seam.compile_backend() == parameters["backend"].default
    assert parameters["mode"].default is None
    assert parameters["options"].default is None


def step(autocast: Any, scaler: Any) -> list[Any]:
    """One training step; everything it computes."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    with autocast:
        out = model(torch.randn(4, 8))
        loss = out.square().mean()
    scaler.scale(loss).backward()
    gradients = [p.grad.clone() for p in model.parameters()]
    scaler.step(optimizer)
    scaler.update()
    return [out.detach(), loss.detach(), *gradients, *(p.detach() for p in model.parameters())]


def same(old: list[Any], new: list[Any]) -> None:
    assert len(old) == len(new)
    for a, b in zip(old, new, strict=True):
        assert a.dtype == b.dtype
        assert torch.equal(a, b)


@WITHOUT_CUDA
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("enabled", [True, False])
def test_without_cuda_autocast_and_scaler_stay_switched_off(
    seam: Any, dtype: Any, enabled: bool
) -> None:
    old = step(
        torch.cuda.amp.autocast(dtype=dtype, enabled=enabled),
        torch.cuda.amp.GradScaler(enabled=enabled),
    )
    new = step(
        torch.autocast(
            seam.device_name(), dtype=dtype, enabled=enabled and seam.device_name() != "cpu"
        ),
        torch.cuda.amp.GradScaler(enabled=seam.device_name() == "cuda" and enabled),
    )
    same(old, new)


@WITHOUT_CUDA
def test_autocast_by_device_without_the_guard_would_not_be_the_same(seam: Any) -> None:
    """Why ``enabled`` is written: this is the trap."""
    off = torch.amp.GradScaler("cuda", enabled=False)
    plain = step(torch.autocast("cpu", enabled=False), off)
    trapped = step(torch.autocast(seam.device_name(), dtype=torch.bfloat16), off)
    assert plain[0].dtype != trapped[0].dtype


@WITHOUT_CUDA
def test_moving_to_the_device_is_what_cpu_code_did(seam: Any) -> None:
    x = torch.randn(3, dtype=torch.float64)
    assert x.to(seam.get_device()) is x
    assert x.to(seam.get_device(1), non_blocking=True) is x
    model = torch.nn.Linear(2, 2)
    assert model.to(seam.get_device()) is model


@WITHOUT_CUDA
def test_on_neuron_the_chip_is_taken(seam: Any, monkeypatch: Any) -> None:
    calls: list[Any] = []
    neuron = types.SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: 4,
        synchronize=lambda *a: calls.append(("synchronize", a)),
        manual_seed_all=lambda *a: calls.append(("manual_seed_all", a)),
        max_memory_allocated=lambda *a: 7,
    )
    monkeypatch.setattr(torch, "neuron", neuron, raising=False)
    assert seam.device_name() == seam.device_name(3) == "neuron"
    assert seam.is_accelerated()
    assert seam.distributed_backend() == seam.compile_backend() == "neuron"
    assert seam.half_dtype() is torch.bfloat16
    assert seam.is_bf16_supported() is True
    assert seam.device_count() == 4
    seam.synchronize(2)  # a number is CUDA's; the process has one device
    seam.manual_seed_all(1)
    assert calls == [("synchronize", ()), ("manual_seed_all", (1,))]
    assert seam.max_memory_allocated() == 7
    assert seam.memory_reserved() == 0
    seam.set_device(3)
    seam.empty_cache()


@WITHOUT_CUDA
def test_a_plugin_without_a_chip_is_the_cpu(seam: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(
        torch, "neuron", types.SimpleNamespace(is_available=lambda: False), raising=False
    )
    assert seam.device_name() == "cpu"
    assert seam.get_device() == torch.device("cpu")


@WITHOUT_CUDA
def test_another_accelerator_is_not_taken(seam: Any, monkeypatch: Any) -> None:
    """On a Mac the accelerator is MPS: such machines do what they did before."""
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(
        torch.accelerator, "current_accelerator", lambda *a, **k: torch.device("mps")
    )
    assert seam.device_name() == "cpu"


@WITHOUT_CUDA
def test_a_process_group_starts_by_the_backend_of_the_cpu(seam: Any, tmp_path: Any) -> None:
    import torch.distributed as dist

    if not dist.is_available():
        pytest.skip("no torch.distributed")
    dist.init_process_group(
        seam.distributed_backend(),
        init_method=f"file://{tmp_path}/store",
        rank=0,
        world_size=1,
    )
    try:
        model = torch.nn.Linear(2, 2)
        ids = [0] if seam.device_name() == "cuda" else None
        wrapped = torch.nn.parallel.DistributedDataParallel(model, device_ids=ids)
        wrapped(torch.ones(1, 2)).sum().backward()
        assert model.weight.grad is not None
    finally:
        dist.destroy_process_group()
