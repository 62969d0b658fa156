"""Apex's computations as its documentation defines them, beside PyTorch's that take their place."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
FOLDER = Path(__file__).parent / "apex"


class FusedAdam(torch.optim.Optimizer):  # type: ignore[misc]
    """Adam with the defaults and the two ways to decay that Apex documents."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        bias_correction: bool = True,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        adam_w_mode: bool = True,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        set_grad_none: bool = True,
    ) -> None:
        assert bias_correction
        assert not amsgrad
        words = {"lr": lr, "betas": betas, "eps": eps, "wd": weight_decay, "w": adam_w_mode}
        super().__init__(params, words)
        self.count = 0

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step(self) -> None:
        self.count += 1
        for group in self.param_groups:
            first, second = group["betas"]
            for p in group["params"]:
                gradient = p.grad if group["w"] else p.grad + group["wd"] * p
                state = self.state[p]
                if not state:
                    state["m"], state["v"] = torch.zeros_like(p), torch.zeros_like(p)
                state["m"] = first * state["m"] + (1 - first) * gradient
                state["v"] = second * state["v"] + (1 - second) * gradient**2
                m = state["m"] / (1 - first**self.count)
                v = state["v"] / (1 - second**self.count)
                update = m / (v.sqrt() + group["eps"])
                if group["w"]:
                    update = update + group["wd"] * p
                p -= group["lr"] * update


class FusedSGD(torch.optim.Optimizer):  # type: ignore[misc]
    def __init__(
        self, params: Any, lr: float, momentum: float = 0.0, weight_decay: float = 0.0
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "wd": weight_decay})

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step(self) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                gradient = p.grad + group["wd"] * p
                old = self.state[p].get("m")
                m = gradient.clone() if old is None else group["momentum"] * old + gradient
                self.state[p]["m"] = m
                p -= group["lr"] * m


class FusedAdagrad(torch.optim.Optimizer):  # type: ignore[misc]
    def __init__(self, params: Any, lr: float = 1e-2, eps: float = 1e-10) -> None:
        super().__init__(params, {"lr": lr, "eps": eps})

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step(self) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                h = self.state[p].get("h", torch.zeros_like(p)) + p.grad**2
                self.state[p]["h"] = h
                p -= group["lr"] * p.grad / (h.sqrt() + group["eps"])


def layer_norm(x: Any, weight: Any, bias: Any, shape: Any, eps: float = 1e-6) -> Any:
    assert tuple(shape) == tuple(x.shape[-1:])
    mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
    return (x - mean) / torch.sqrt(var + eps) * weight + bias


class FusedLayerNorm(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, size: int, eps: float = 1e-5, memory_efficient: bool = False) -> None:
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.ones(size))
        self.bias = torch.nn.Parameter(torch.zeros(size))

    def forward(self, x: Any) -> Any:
        return layer_norm(x, self.weight, self.bias, self.weight.shape, self.eps)


class FusedRMSNorm(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, size: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.ones(size))

    def forward(self, x: Any) -> Any:
        return x / torch.sqrt((x**2).mean(-1, keepdim=True) + self.eps) * self.weight


def clip(parameters: Any, most: float) -> Any:
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.stack([g.norm() for g in gradients]).norm()
    for g in gradients:
        g.mul_(torch.clamp(most / (norm + 1e-6), max=1.0))
    return norm


def run(path: Path) -> list[Any]:
    program: dict[str, Any] = {}
    exec(compile(path.read_text("utf-8"), path.name, "exec"), program)
    result: list[Any] = program["main"]()
    return result


def test_apex_and_torch_train_alike(monkeypatch: Any) -> None:
    parts = {
        "apex": {},
        "apex.optimizers": {
            "FusedAdam": FusedAdam,
            "FusedSGD": FusedSGD,
            "FusedAdagrad": FusedAdagrad,
        },
        "apex.normalization": {"FusedLayerNorm": FusedLayerNorm, "FusedRMSNorm": FusedRMSNorm},
        "apex.normalization.fused_layer_norm": {"fused_layer_norm_affine": layer_norm},
        "apex.contrib": {},
        "apex.contrib.clip_grad": {"clip_grad_norm_": clip},
    }
    modules = {name: types.ModuleType(name) for name in parts}
    for name, content in parts.items():
        modules[name].__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, modules[name])
        above, _, last = name.rpartition(".")
        if above:
            setattr(modules[above], last, modules[name])
    old = run(FOLDER / "training.review.in.py")
    new = run(FOLDER / "training.review.out.py")
    assert len(old) == len(new) > 30
    for a, b in zip(old, new, strict=True):
        assert a.dtype == b.dtype
        torch.testing.assert_close(a, b, rtol=2e-4, atol=2e-5)


def test_what_takes_the_place_of_fused_is_the_default() -> None:
    results = []
    for fused in (True, None):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 4)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1, fused=fused)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(2, 4)).square().sum().backward()
            optimizer.step()
        results.append([p.detach() for p in model.parameters()])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b)
