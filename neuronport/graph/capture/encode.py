"""Tensors, numbers and arguments in the words of the record."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

Operand = Callable[[Any], Any]
"""What stands for a tensor or a node among arguments; ``None``: it is neither."""


def dtype(value: torch.dtype) -> str:
    return str(value).removeprefix("torch.")


def size(value: Any) -> int | str:
    """A number, or the name of a symbolic size."""
    if isinstance(value, int):
        return int(value)
    return str(value)


def tensor(value: torch.Tensor) -> dict[str, Any]:
    row: dict[str, Any] = {
        "dtype": dtype(value.dtype),
        "shape": [size(s) for s in value.shape],
        "contiguous": _contiguous(value),
    }
    if value.layout is not torch.strided:
        row["layout"] = str(value.layout).removeprefix("torch.")
    return row


def outputs(value: Any) -> list[Any]:
    """The tensors and sizes that an operator returns, in order; ``None`` for what is none."""
    if isinstance(value, torch.Tensor):
        return [tensor(value)]
    if isinstance(value, (list, tuple)):
        return [outputs(item)[0] if not isinstance(item, (list, tuple)) else None for item in value]
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return [{"symbol": str(value)}]
    return [None]


def argument(value: Any, operand: Operand) -> Any:
    found = operand(value)
    if found is not None:
        return found
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, (list, tuple)):
        return [argument(item, operand) for item in value]
    if isinstance(value, dict):
        return {"dict": {str(k): argument(v, operand) for k, v in value.items()}}
    if isinstance(value, torch.dtype):
        return {"dtype": dtype(value)}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return {"symbol": str(value)}
    if isinstance(value, (torch.layout, torch.memory_format)):
        return {"word": str(value).removeprefix("torch.")}
    return {"other": type(value).__name__}


def operator(target: Any) -> str:
    """``aten::index.Tensor``; ``higher_order::cond``; a Python function keeps its name."""
    if isinstance(target, torch._ops.OpOverload):
        name = str(target._schema.name)
        overload = target._schema.overload_name
        return f"{name}.{overload}" if overload else name
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"higher_order::{target._name}"
    return f"python::{getattr(target, '__name__', str(target))}"


def _contiguous(value: torch.Tensor) -> bool | None:
    try:
        return bool(value.is_contiguous())
    except Exception:  # a symbolic shape may not decide it
        return None
