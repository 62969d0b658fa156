"""Doubles converted first, sums in float32, generators of samplers: values on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")
HERE = Path(__file__).parent


def function(path: str, name: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile((HERE / path).read_text("utf-8"), path, "exec"), names)
    return names[name]


def test_converting_first_gives_the_same_numbers(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "a.txt", np.random.default_rng(0).standard_normal((5, 4)) * 1e9)
    old = function("wide_numbers/moved.review.in.py", "main")(tmp_path / "a.txt", "cpu")
    new = function("wide_numbers/moved.review.out.py", "main")(tmp_path / "a.txt", "cpu")
    for a, b in zip(old, new, strict=True):
        assert a.dtype == b.dtype == torch.float32
        assert torch.equal(a, b)


def test_a_sum_in_float32_does_not_stop_growing() -> None:
    batches = [(torch.ones(2), torch.ones(2))] * 2000
    loss = lambda x, y: (x * y).mean()  # noqa: E731
    old = function("wide_numbers/total.review.in.py", "evaluate")(loss, batches, "cpu")
    new = function("wide_numbers/total.review.out.py", "evaluate")(loss, batches, "cpu")
    assert new == 1
    assert old < 0.5, "why the sum is begun in float32"
    assert new.dtype == torch.float32


def test_samplers_take_the_cpu_generator_and_draw_the_same() -> None:
    loaders = function("host_generator/sampler.review.out.py", "loaders")
    drawn = [[b.tolist() for b in loaders(list(range(64)), range(64), 7)] for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert sorted(i for b in drawn[0] for i in b) == list(range(64))
