"""Masks of fewer dimensions, labels left out and sizes said beforehand: both ways on the CPU."""

from __future__ import annotations

import types
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codemods.test_shapes_equal import both, gradients, same, seam  # noqa: F401

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_masks_of_the_first_dimensions(dtype: Any, seam: Any, monkeypatch: Any) -> None:  # noqa: F811
    torch.manual_seed(0)
    x, y = torch.randn(6, 6, 3, dtype=dtype), torch.randn(6, 6, 3, dtype=dtype)
    mask = torch.rand(6, 6) > 0.5
    tokens = torch.tensor([[2, 3, 3, 0, 2, 1], [5, 5, 5, 5, 5, 7]])
    # A mask of both dimensions everywhere but where the sum over the last is asked for.
    old, new = both("mask_assignment/leading.review", seam, monkeypatch)
    same(
        gradients(lambda x: old(x, tokens, y, mask)[0], x),
        gradients(lambda x: new(x, tokens, y, mask)[0], x),
        exact=True,
    )
    assert torch.equal(old(x, tokens, y, mask)[1], new(x, tokens, y, mask)[1])


_VALUES = [0, -1, 1.5, True, torch.tensor(2), torch.tensor(2.5), torch.ones(3), torch.ones(1)]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.sampled_from([torch.float32, torch.bfloat16, torch.int64, torch.bool]),
    st.sampled_from(_VALUES),
    st.integers(0, 2),
    st.integers(1, 2),
    st.integers(0, 2**30),
    st.booleans(),
)
def test_the_seam_fills_as_an_index_does(
    dtype: Any, value: Any, dim: int, size: int, seed: int, indices: bool
) -> None:
    from neuronport.codemods.engine.seam import functions, new_module

    names = types.ModuleType("neuron_device")
    exec(compile(new_module(functions()), "neuron_device.py", "exec"), names.__dict__)
    made = torch.Generator().manual_seed(seed)
    x = torch.randint(-3, 4, (2, 3, 3), generator=made).to(dtype)
    mask = torch.rand(tuple(x.shape[dim : dim + size]), generator=made) > 0.4
    if indices:
        mask = torch.tensor([0, 1])
    at = (slice(None),) * dim + (mask,)
    old, new = x.clone(), x.clone()
    try:
        old[at] = value
    except (RuntimeError, IndexError) as error:
        with pytest.raises(type(error)):
            names.fill_by_mask(new, mask, value, dim=dim)
        return
    names.fill_by_mask(new, mask, value, dim=dim)
    assert torch.equal(old, new)
    other = torch.randint(-3, 4, (2, 3, 3), generator=made).to(dtype)
    old[at] = other[at]
    names.copy_by_mask(new, mask, other, dim=dim)
    assert torch.equal(old, new)


def test_labels_left_out_of_a_loss(seam: Any, monkeypatch: Any) -> None:  # noqa: F811
    torch.manual_seed(0)
    scores, labels = torch.randn(4, 6, 5), torch.randint(5, (4, 6))
    labels[0, :2] = -100
    present = torch.randint(2, (4, 6))
    old, new = both("mask_reduction/active.review", seam, monkeypatch)
    labels_of_two = labels.clamp(min=0)
    for truth in (labels, labels_of_two):
        same(
            gradients(lambda x: old(x, truth, present)[0], scores),  # noqa: B023
            gradients(lambda x: new(x, truth, present)[0], scores),  # noqa: B023
            exact=False,
        )
    same(
        gradients(old, scores, labels_of_two, present),
        gradients(new, scores, labels_of_two, present),
        exact=False,
    )
    nothing = torch.zeros_like(present)
    assert old(scores, labels_of_two, nothing)[0].isnan()
    assert new(scores, labels_of_two, nothing)[0].isnan()


def test_counts_that_are_written_out(seam: Any, monkeypatch: Any) -> None:  # noqa: F811
    torch.manual_seed(0)
    x = torch.randn(3, 2)
    old, new = both("known_size/counts", seam, monkeypatch)
    same(gradients(old, x, "cpu"), gradients(new, x, "cpu"), exact=True)


def test_classes_said_beforehand(seam: Any, monkeypatch: Any) -> None:  # noqa: F811
    torch.manual_seed(0)
    old, new = both("known_size/classes.review", seam, monkeypatch)
    config = types.SimpleNamespace(num_labels=3)
    x = torch.randn(40, 3)
    batch = {
        "experts": torch.arange(40) % 4,
        "actions": torch.arange(40) % 4,
    }
    full = torch.arange(40) % 3
    same(gradients(old, x, full, batch, config), gradients(new, x, full, batch, config), exact=True)
    # Where the last class is missing, the result is as wide as ever and otherwise the same.
    few = torch.arange(40) % 2
    before, after = old(x, few, batch, config), new(x, few, batch, config)
    for a, b in zip(before, after, strict=True):
        assert a.dtype == b.dtype
        if a.shape != b.shape:
            assert b.shape[-1] == 3
            assert torch.equal(a, b[..., : a.shape[-1]])
            assert not b[..., a.shape[-1] :].any()
        else:
            assert torch.equal(a, b)


@pytest.mark.parametrize(
    ("name", "shape"),
    [("counts", (9,)), ("counts", (1,)), ("plane", (3, 4)), ("plane", (9,)), ("plane", (2, 2, 3))],
)
@pytest.mark.parametrize("empty", [False, True])
def test_masks_in_place_of_lists(
    name: str,
    shape: Any,
    empty: bool,
    seam: Any,  # noqa: F811
    monkeypatch: Any,
) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape)
    ids = torch.arange(x.numel()).view(shape) % 7
    if empty:
        x, ids = x.clamp(max=0.5), torch.ones_like(ids)
    mask = ids == 90
    old, new = both(f"index_lists/{name}", seam, monkeypatch)
    a, b = old(x, mask, ids), new(x, mask, ids)
    assert torch.equal(a[0], b[0])
    assert repr(a[1:]) == repr(b[1:])
    same(gradients(old, x, mask, ids), gradients(new, x, mask, ids), exact=True)


@pytest.mark.parametrize("device", ["cpu", "neuron"])
def test_where_the_first_is(device: str, seam: Any, monkeypatch: Any) -> None:  # noqa: F811
    monkeypatch.setattr(seam, "device_name", lambda index=None: device)
    torch.manual_seed(0)
    x = torch.randn(6)
    ids = torch.tensor([1, 4, 3, 5, 3, 3])
    old, new = both("index_lists/first.review", seam, monkeypatch)
    a, b = old(x, ids), new(x, ids)
    assert repr(a) == repr(b)
    same(gradients(old, x, ids), gradients(new, x, ids), exact=True)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.lists(st.booleans(), min_size=6, max_size=6), st.sampled_from([(6,), (2, 3), (3, 2, 1)]))
def test_first_and_rows_of_masks_of_any_shape(data: list[bool], shape: Any) -> None:
    from neuronport.codemods.engine.seam import functions, new_module

    names: dict[str, Any] = {}
    exec(compile(new_module(functions()), "neuron_device.py", "exec"), names)
    mask = torch.tensor(data).view(shape)
    x = torch.randn(shape[0], 4)
    old, new = x.clone(), x.clone()
    old[torch.where(mask)[0]] = 3
    names["fill_by_mask"](new, names["true_rows"](mask), 3)
    assert torch.equal(old, new)
    names["device_name"] = lambda index=None: "neuron"
    first = names["first_true"](mask)
    assert first.dtype == torch.int64
    assert first.dim() == 0
    if mask.any():
        assert first == mask.nonzero()[0, 0]
    else:
        assert first == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("device", ["cpu", "neuron"])
def test_all_tokens_to_each_expert(
    device: str,
    dtype: Any,
    seam: Any,  # noqa: F811
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr(torch.nn.functional, "linear", _linear_of_any_dtype)
    torch.manual_seed(0)
    x = torch.randn(7, 4, dtype=dtype)
    scores = torch.randn(7, 5, dtype=dtype)
    scores[:, 3] = -9  # an expert that no token chooses
    weights, chosen = torch.topk(scores.softmax(-1), 2)
    old, new = both("expert_loops/mixtures.review", seam, monkeypatch)
    before = gradients(old, x, chosen, weights), gradients(lambda w: old(x, chosen, w), weights)
    monkeypatch.setattr(seam, "device_name", lambda index=None: device)
    after = gradients(new, x, chosen, weights), gradients(lambda w: new(x, chosen, w), weights)
    for a, b in zip(before, after, strict=True):
        same(a, b, exact=device == "cpu")


_plain_linear = torch.nn.functional.linear


def _linear_of_any_dtype(x: Any, weight: Any, bias: Any = None) -> Any:
    return _plain_linear(x, weight.to(x.dtype), bias if bias is None else bias.to(x.dtype))
