"""A guard that asks where a tensor lies answers as before where there is no Neuron."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.codemods.test_shapes_equal import gradients, same, seam  # noqa: F401

torch = pytest.importorskip("torch")
HERE = Path(__file__).parent / "cuda_guard"


def _focal(name: str, seam: Any, monkeypatch: Any) -> Any:  # noqa: F811
    monkeypatch.setitem(sys.modules, "neuron_device", seam)
    names: dict[str, Any] = {}
    exec(compile((HERE / name).read_text("utf-8"), name, "exec"), names)
    return names["Focal"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_on_the_cpu_nothing_moves(dtype: Any, seam: Any, monkeypatch: Any) -> None:  # noqa: F811
    old, new = (_focal(f"lies_on.{way}.py", seam, monkeypatch)() for way in ("in", "out"))
    x = torch.randn(2, 3, dtype=dtype)
    same(gradients(old, x, x), gradients(new, x, x), exact=True)


def test_a_tensor_elsewhere_is_followed_only_on_cuda_and_neuron(
    seam: Any,  # noqa: F811
    monkeypatch: Any,
) -> None:
    new = _focal("lies_on.out.py", seam, monkeypatch)()

    class Lies:
        def __init__(self, kind: str) -> None:
            self.device = torch.device(kind)

        def __mul__(self, other: Any) -> Any:
            return other

    for kind, moved in (("meta", False), ("cpu", False), ("cuda", True)):
        new.alpha = torch.ones(3)
        before = new.alpha
        monkeypatch.setattr(seam, "get_device", lambda index=None: torch.device("meta"))
        names = new.forward.__globals__
        monkeypatch.setitem(names, "get_device", seam.get_device)
        new(Lies(kind), torch.ones(1))
        assert (new.alpha is not before) is moved, kind
