"""Static shapes, narrow indices, spellings and totals: results, gradients and dtypes on the CPU."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuronport.codemods.engine.seam import functions, new_module

torch = pytest.importorskip("torch")
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def seam() -> Any:
    module = types.ModuleType("neuron_device")
    exec(compile(new_module(functions()), "neuron_device.py", "exec"), module.__dict__)
    return module


def program(path: Path, seam: Any, monkeypatch: Any) -> Any:
    monkeypatch.setitem(sys.modules, "neuron_device", seam)
    names: dict[str, Any] = {}
    exec(compile(path.read_text("utf-8"), path.name, "exec"), names)
    return names["main"]


def both(name: str, seam: Any, monkeypatch: Any) -> tuple[Any, Any]:
    return (
        program(HERE / f"{name}.in.py", seam, monkeypatch),
        program(HERE / f"{name}.out.py", seam, monkeypatch),
    )


def gradients(f: Any, x: Any, *rest: Any) -> tuple[list[Any], Any]:
    x = x.clone().requires_grad_()
    results = f(x, *rest)
    results = [
        r for r in (results if isinstance(results, tuple) else (results,)) if hasattr(r, "sum")
    ]
    total = sum(r.double().nan_to_num(0, 0, 0).sum() for r in results)
    (gradient,) = torch.autograd.grad(total, x)
    return [r.detach() for r in results], gradient


def same(old: Any, new: Any, exact: bool) -> None:
    for a, b in zip([*old[0], old[1]], [*new[0], new[1]], strict=True):
        assert a.dtype == b.dtype
        if exact:
            assert torch.equal(a.nan_to_num(7), b.nan_to_num(7))
        else:
            torch.testing.assert_close(a, b, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_filling_by_a_mask_is_exact(dtype: Any, seam: Any, monkeypatch: Any) -> None:
    torch.manual_seed(0)
    x, y = torch.randn(4, 5, dtype=dtype), torch.randn(4, 5, dtype=dtype)
    x[0, 0] = float("nan")
    old, new = both("mask_assignment/own", seam, monkeypatch)
    same(gradients(old, x, y), gradients(new, x, y), exact=True)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from([torch.int64, torch.int32, torch.uint8, torch.float32, torch.bool]),
    st.sampled_from([0, 0.0, 1, 1.5, -1, True, float("inf"), 1e30]),
    st.lists(st.integers(0, 1), min_size=1, max_size=6),
)
def test_both_ways_to_fill_take_the_same_numbers(dtype: Any, value: Any, data: list[int]) -> None:
    a, b = torch.tensor(data).to(dtype), torch.tensor(data).to(dtype)
    try:
        a[a == 1] = value
    except (RuntimeError, OverflowError):
        with pytest.raises((RuntimeError, OverflowError)):
            b.masked_fill_(b == 1, value)
        return
    b.masked_fill_(b == 1, value)
    assert torch.equal(a, b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sums_and_means(dtype: Any, seam: Any, monkeypatch: Any) -> None:
    torch.manual_seed(0)
    x = torch.randn(6, 7, dtype=dtype)
    old, new = both("mask_reduction/sums.review", seam, monkeypatch)
    same(gradients(old, x, x > 0.5), gradients(new, x, x > 0.5), exact=False)
    none = torch.zeros(6, 7, dtype=torch.bool)
    assert new(x, none)[3].isnan()
    assert old(x, none)[3].isnan()


def test_a_mean_in_half_precision_does_not_overflow(seam: Any) -> None:
    x = torch.full((2000,), 60.0, dtype=torch.float16)
    assert seam.masked_mean(x, x > 0) == x[x > 0].mean() == 60
    assert seam.masked_mean(x, x > 0).dtype == torch.float16


@pytest.mark.parametrize("shape", [(9,), (3, 4)])
def test_losses_that_leave_labels_out(shape: Any, seam: Any, monkeypatch: Any) -> None:
    torch.manual_seed(0)
    scores = torch.randn(*shape, 5)
    labels = torch.randint(5, shape)
    labels.view(-1)[:3] = -100
    old, new = both("mask_reduction/loss.review", seam, monkeypatch)
    others = torch.randint(-1, 5, shape)
    same(
        gradients(old, scores, labels, others), gradients(new, scores, labels, others), exact=False
    )


def test_indices_stay_as_they_are_without_neuron(seam: Any, monkeypatch: Any) -> None:
    torch.manual_seed(0)
    x, index = torch.randn(3, 4, 2), torch.tensor([1, 0, 2])
    assert seam.narrow_index(index) is index
    old, new = both("narrow_index/gather.review", seam, monkeypatch)
    flat = x[:, :, 0].contiguous()
    for a, b in zip(old(flat, index), new(flat, index), strict=True):
        assert torch.equal(a, b)


def test_on_neuron_an_index_is_narrow_and_means_the_same(seam: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(seam, "device_name", lambda index=None: "neuron")
    index = torch.tensor([[1], [0]])
    narrow = seam.narrow_index(index)
    assert narrow.dtype in (torch.int32, torch.int64)
    x = torch.randn(2, 3)
    assert torch.equal(x.gather(1, narrow), x.gather(1, index))
    assert torch.equal(x.scatter(1, narrow, 0.0), x.scatter(1, index, 0.0))


def test_gelu_is_exact_but_on_neuron(seam: Any, monkeypatch: Any) -> None:
    x = torch.randn(3, 4)
    old, new = both("spelling/gelu.review", seam, monkeypatch)
    same(gradients(old, x), gradients(new, x), exact=True)
    monkeypatch.setattr(seam, "device_name", lambda index=None: "neuron")
    new = program(HERE / "spelling" / "gelu.review.out.py", seam, monkeypatch)
    torch.testing.assert_close(new(x), old(x), rtol=0, atol=2e-3)
    assert not torch.equal(new(x), old(x))


def test_squares_written_out() -> None:
    a, b = torch.randn(3, 4), torch.randn(3, 4)
    old = gradients(lambda x, y: torch.nn.functional.mse_loss(x, y), a, b)
    new = gradients(lambda x, y: ((x - y) ** 2).mean(), a, b)
    same(old, new, exact=False)


def test_totals_are_the_numbers_they_were(seam: Any, monkeypatch: Any) -> None:
    old, new = both("host_reads/totals.review", seam, monkeypatch)
    before, after = old(), new()
    assert len(before) == len(after)
    for a, b in zip(before, after, strict=True):
        assert type(a) is type(b)
        assert a == b if isinstance(a, str | int) else a == pytest.approx(b, rel=1e-6)
