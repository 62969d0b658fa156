"""Rotary embeddings by complex numbers and by angles: results, gradients and dtypes on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.codemods.porting import plan_for, plant, port
from tests.codemods.test_shapes_equal import both, gradients, same, seam  # noqa: F401

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_pairs_are_turned_alike(dtype: Any, seam: Any, monkeypatch: Any) -> None:  # noqa: F811
    torch.manual_seed(0)
    x = torch.randn(2, 5, 3, 8).to(dtype)
    old, new = both("complex_rotary/llama.review", seam, monkeypatch)
    same(gradients(old, x), gradients(new, x), exact=False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_form(dtype: Any, seam: Any, monkeypatch: Any) -> None:  # noqa: F811
    torch.manual_seed(0)
    x = torch.randn(2, 5, 3, 8, dtype=dtype)
    old, new = both("complex_rotary/forms.review", seam, monkeypatch)
    same(gradients(old, x), gradients(new, x), exact=False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_angles_have_gradients_too(dtype: Any, seam: Any, monkeypatch: Any) -> None:  # noqa: F811
    torch.manual_seed(0)
    x, freqs = torch.randn(2, 5, 3, 8), torch.randn(5, 1, 4, dtype=dtype)
    old, new = both("complex_rotary/given.review", seam, monkeypatch)
    same(gradients(old, x, freqs), gradients(new, x, freqs), exact=False)
    same(gradients(lambda f: old(x, f), freqs), gradients(lambda f: new(x, f), freqs), exact=False)


def test_rounded_angles_raise(seam: Any) -> None:  # noqa: F811
    with pytest.raises(TypeError, match="float32"):
        seam.turned(torch.ones(3, 2), torch.ones(3, dtype=torch.bfloat16))


ROPE = """import torch


def table(freqs):
    freqs_cis = torch.polar(torch.ones_like(freqs), freqs)
    return freqs_cis


def turn(x, freqs_cis):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * freqs_cis).flatten(-2)
"""
MODEL = """from .rope import table, turn


class Model:
    def __init__(self, freqs):
        self.freqs_cis = table(freqs)

    def forward(self, x):
        return turn(x, self.freqs_cis[: x.shape[0]]){}
"""


def test_files_are_rewritten_together(tmp_path: Path) -> None:
    plant(tmp_path, {"a/__init__.py": "", "a/rope.py": ROPE, "a/model.py": MODEL.format("")})
    texts = port(tmp_path, review=True)
    assert "polar" not in texts["a/rope.py"]
    assert "turned(pairs, freqs_cis)" in texts["a/rope.py"]
    assert port(tmp_path, review=True) == {}


def test_a_use_that_is_not_understood_in_another_file_keeps_all(tmp_path: Path) -> None:
    use = "\n\ndef spectrum(freqs):\n    return table(freqs).abs()\n"
    plant(tmp_path, {"a/__init__.py": "", "a/rope.py": ROPE, "a/model.py": MODEL.format(use)})
    _, plan = plan_for(tmp_path, review=True)
    assert not plan.changes
    assert any("is not seen" in left.says for left in plan.left)


def test_a_suppressed_place_keeps_all(tmp_path: Path) -> None:
    kept = ROPE.replace("-1, 2))", "-1, 2))  # neuronport: ignore[complex-tensor] as it is")
    plant(tmp_path, {"rope.py": kept})
    _, plan = plan_for(tmp_path, review=True)
    assert not plan.changes
