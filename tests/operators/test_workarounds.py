"""Every workaround computes what it replaces: values, dtypes, shapes and gradients."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from neuronport.operators import Status, lookup, shared, workarounds  # noqa: E402
from neuronport.operators.workarounds import Workaround  # noqa: E402

ALL = list(workarounds().values())


def _run(workaround: Workaround, code: str) -> tuple[Any, dict[str, Any]]:
    torch.manual_seed(0)
    scope: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
    exec(workaround.setup, scope)
    for name in workaround.gradients:
        scope[name] = scope[name].clone().requires_grad_(True)
    inputs = {name: scope[name] for name in workaround.inputs}
    exec(code, scope)
    if workaround.consumer:
        exec(workaround.consumer, scope)
    return scope["y"], inputs


def _tensors(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("workaround", ALL, ids=lambda w: w.id)
def test_same_result(workaround: Workaround) -> None:
    old, old_inputs = _run(workaround, workaround.old)
    new, new_inputs = _run(workaround, workaround.new)
    for one, other in zip(_tensors(old), _tensors(new), strict=True):
        assert other.dtype == one.dtype
        assert other.shape == one.shape
        torch.testing.assert_close(
            other, one, rtol=workaround.rtol, atol=workaround.atol, equal_nan=True
        )
    if not workaround.gradients:
        return
    results = []
    for value, inputs in ((old, old_inputs), (new, new_inputs)):
        leaves = [inputs[name] for name in workaround.gradients]
        outputs = [t for t in _tensors(value) if t.requires_grad]
        torch.manual_seed(1)
        seeds = [torch.randn(t.shape, dtype=t.dtype) for t in outputs]
        results.append(torch.autograd.grad(outputs, leaves, seeds))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(
            other, one, rtol=max(workaround.rtol, 1e-4), atol=max(workaround.atol, 1e-5)
        )


class _Names(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        schema = func._schema
        self.names.add(f"{schema.name}.{schema.overload_name}".rstrip("."))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("workaround", ALL, ids=lambda w: w.id)
def test_new_code_stays_on_the_device(workaround: Workaround) -> None:
    """What the new code reaches is not itself known to leave the device, on its paths."""
    torch.manual_seed(0)
    scope: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
    exec(workaround.setup, scope)
    with torch.no_grad(), _Names() as seen:
        exec(workaround.new, scope)
    once = {"aten::eye", "aten::rand", "aten::randn", "aten::uniform_"} | (
        _resizing(seen.names) if "on the host" in workaround.context else set()
    )
    bad = [
        f"{path}: {name} {answer.status}"
        for path in workaround.paths
        for name in sorted(seen.names - once)
        if (answer := lookup(name, path, stage="eager")).status
        in (Status.CPU_FALLBACK, Status.UNSUPPORTED)
    ]
    assert bad == []


def _resizing(names: set[str]) -> set[str]:
    """What only makes a constant, once and on the host, as the context says."""
    return {
        n for n in names if "upsample" in n or "adaptive" in n or n in ("aten::cos", "aten::sin")
    }


@pytest.mark.parametrize("workaround", ALL, ids=lambda w: w.id)
def test_replaces_something_known(workaround: Workaround) -> None:
    """Its operators exist, and one of them needs it on each of its paths."""
    index = shared()
    for operator in workaround.operators:
        base = operator.partition(".")[0]
        assert index.body(operator) is not None or index.family(base), operator
    wanting = (Status.CPU_FALLBACK, Status.UNSUPPORTED, Status.SLOW, Status.UNKNOWN)
    for path in workaround.paths:
        found = set()
        for operator in workaround.operators:
            for stage in ("eager", "compiled"):
                for direction in ("forward", "backward"):
                    answer = lookup(operator, path, stage=stage, direction=direction)
                    found |= {answer.status, *(p.status for p in answer.conditions_unknown)}
                    found |= set(answer.overloads.values())
        assert found & set(wanting), (path, found)


def test_enough_operators() -> None:
    families = {o.partition(".")[0].rstrip("_") for w in ALL for o in w.operators}
    assert len(families) >= 60
