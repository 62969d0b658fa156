"""The seam's attention beside the libraries' definitions, written out with softmax."""

from __future__ import annotations

import itertools
import math
import types
from typing import Any

import pytest

from neuronport.codemods.engine.seam import functions, new_module

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def seam() -> Any:
    module = types.ModuleType("neuron_device")
    exec(compile(new_module(functions()), "neuron_device.py", "exec"), module.__dict__)
    return module


def reference(
    q: Any,
    k: Any,
    v: Any,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    alibi_slopes: Any = None,
) -> Any:
    """What flash-attn's README and docstrings define, one row of scores after the other."""
    batch, rows, heads, size = q.shape
    columns = k.shape[1]
    scale = softmax_scale if softmax_scale is not None else 1 / math.sqrt(size)
    result = []
    for b, i, h in itertools.product(range(batch), range(rows), range(heads)):
        kv = h // (heads // k.shape[2])
        here = i + columns - rows
        seen = []
        for j in range(columns):
            if causal and j > here:
                continue
            if window_size[0] >= 0 and j < here - window_size[0]:
                continue
            right = 0 if causal else window_size[1]
            if right >= 0 and j > here + right:
                continue
            seen.append(j)
        if not seen:
            result.append(torch.zeros(size, dtype=q.dtype))
            continue
        scores = (k[b, seen, kv] @ q[b, i, h]) * scale
        if alibi_slopes is not None:
            slope = alibi_slopes[h] if alibi_slopes.dim() == 1 else alibi_slopes[b, h]
            scores = scores - slope * (torch.tensor(seen) - here).abs()
        result.append(torch.softmax(scores, 0) @ v[b, seen, kv])
    return torch.stack(result).view(batch, rows, heads, size)


CASES: list[dict[str, Any]] = [
    {},
    {"softmax_scale": 0.3},
    {"causal": True},
    {"causal": True, "window_size": (2, 0)},
    {"window_size": (1, 2)},
    {"window_size": (3, -1)},
    {"causal": True, "alibi_slopes": torch.tensor([0.5, 0.25, 0.125, 0.0625])},
    {"alibi_slopes": torch.linspace(0.9, 0.1, 8).reshape(2, 4)},
]


@pytest.mark.parametrize("words", CASES, ids=str)
@pytest.mark.parametrize(("rows", "columns"), [(5, 5), (3, 6), (6, 3), (1, 7)])
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_flash(seam: Any, words: dict[str, Any], rows: int, columns: int, kv_heads: int) -> None:
    torch.manual_seed(rows * 10 + columns)
    q = torch.randn(2, rows, 4, 8, dtype=torch.float64, requires_grad=True)
    k = torch.randn(2, columns, kv_heads, 8, dtype=torch.float64, requires_grad=True)
    v = torch.randn(2, columns, kv_heads, 8, dtype=torch.float64, requires_grad=True)
    old = reference(q, k, v, **words)
    expected = torch.autograd.grad(old.square().sum(), (q, k, v))
    new = seam.dense_attention(q, k, v, **words)
    gradients = torch.autograd.grad(new.square().sum(), (q, k, v))
    assert new.shape == old.shape
    assert new.dtype == old.dtype
    torch.testing.assert_close(new, old)
    for a, b in zip(gradients, expected, strict=True):
        torch.testing.assert_close(a, b)


def test_packed_is_taken_apart_in_order(seam: Any) -> None:
    qkv = torch.randn(2, 5, 3, 4, 8)
    q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
    assert torch.equal(
        seam.dense_attention(*qkv.unbind(dim=2), causal=True),
        seam.dense_attention(q, k, v, causal=True),
    )


def test_dropout_is_asked_for_whatever_the_mode(seam: Any) -> None:
    q = torch.randn(2, 64, 4, 8)
    assert not torch.equal(seam.dense_attention(q, q, q, 0.5), seam.dense_attention(q, q, q))
    torch.manual_seed(1)
    a = seam.biased_attention(q, q, q, None, 0.5)
    torch.manual_seed(1)
    assert torch.equal(a, seam.biased_attention(q, q, q, p=0.5))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("biased", [True, False])
def test_xformers(seam: Any, causal: bool, biased: bool) -> None:
    if causal and biased:
        pytest.skip("one or the other")
    q = torch.randn(2, 5, 4, 8, dtype=torch.float64)
    k = torch.randn(2, 7, 4, 8, dtype=torch.float64)
    v = torch.randn(2, 7, 4, 8, dtype=torch.float64)
    bias = torch.randn(2, 4, 5, 7, dtype=torch.float64) if biased else None
    # xFormers' docstring: scale, softmax of query @ key^T + bias, dropout, @ value.
    scores = q.transpose(1, 2) * 0.2 @ k.transpose(1, 2).transpose(-2, -1)
    if bias is not None:
        scores = scores + bias
    if causal:
        scores = scores.masked_fill(~torch.ones(5, 7).tril().bool(), float("-inf"))
    old = (scores.softmax(-1) @ v.transpose(1, 2)).transpose(1, 2)
    new = seam.biased_attention(q, k, v, bias, scale=0.2, causal=causal)
    torch.testing.assert_close(new, old)
    flat = seam.biased_attention(
        q[:, :, 0],
        k[:, :, 0],
        v[:, :, 0],
        None if bias is None else bias[:, 0],
        scale=0.2,
        causal=causal,
    )
    torch.testing.assert_close(flat, old[:, :, 0])
