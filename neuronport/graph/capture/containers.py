"""Objects that hold tensors and that torch does not know how to take apart: caches, output classes.

``torch.export`` names the class it stumbles over. Told how to take it apart, it goes on: any object
is its tensors, in the order of its attributes, and the rest of it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

_NAMED = re.compile(r"(?:Found|Unsupported input type) <class '([\w.]+)'>")
_DEEPEST = 12
_Leaf = object()


class _Rest:
    """An object without its tensors; equal to one that looks the same."""

    __slots__ = ("items", "kind", "value")

    def __init__(self, kind: Any, items: Any = (), value: Any = None) -> None:
        self.kind, self.items, self.value = kind, items, value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Rest) or self.kind is not other.kind:
            return False
        if self.items != other.items:
            return False
        if self.value is other.value:
            return True
        try:
            return bool(self.value == other.value)
        except Exception:  # objects that cannot be compared are not the same
            return False

    __hash__ = None  # type: ignore[assignment]


def wanted(message: str) -> type | None:
    """The class that an error of torch's names, if it is loaded and not yet known to it."""
    match = _NAMED.search(message)
    if match is None:
        return None
    path, _, name = match[1].rpartition(".")
    found = getattr(sys.modules.get(path), name, None)
    if not isinstance(found, type) or found in pytree.SUPPORTED_NODES:
        return None
    return found


def known(cls: type) -> None:
    """The same as ``register``, where torch does not know it yet."""
    if cls not in pytree.SUPPORTED_NODES:
        register(cls)


def register(cls: type) -> None:
    """Tells torch how to take objects of a class apart and put them together."""
    pytree.register_pytree_node(
        cls,
        _flatten,
        _unflatten,
        serialized_type_name=f"{cls.__module__}.{cls.__qualname__}",
        flatten_with_keys_fn=_with_keys,
    )


def mapped(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """An object with every tensor in it changed."""
    tensors, rest = _flatten(value)
    return _unflatten([change(t) for t in tensors], rest)


def _flatten(value: Any) -> tuple[list[torch.Tensor], _Rest]:
    tensors: list[torch.Tensor] = []
    return tensors, _strip(value, tensors, 0, top=True)


def _with_keys(value: Any) -> tuple[list[tuple[Any, torch.Tensor]], _Rest]:
    tensors, rest = _flatten(value)
    return [(pytree.SequenceKey(i), t) for i, t in enumerate(tensors)], rest


def _unflatten(tensors: Any, rest: _Rest) -> Any:
    return _fill(rest, iter(tensors))


def _strip(value: Any, tensors: list[torch.Tensor], depth: int, top: bool = False) -> _Rest:
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return _Rest(_Leaf)
    if depth > _DEEPEST or isinstance(value, (torch.nn.Module, type)) or callable(value):
        return _Rest(None, (), value)
    if isinstance(value, (list, tuple)):
        return _Rest(type(value), [_strip(v, tensors, depth + 1) for v in value])
    if isinstance(value, dict) and not top:
        return _Rest(type(value), {k: _strip(v, tensors, depth + 1) for k, v in value.items()})
    if hasattr(value, "__dict__") and (top or _holds(value, depth)):
        items = {k: _strip(v, tensors, depth + 1) for k, v in vars(value).items()}
        return _Rest(type(value), items, "object")
    return _Rest(None, (), value)


def _holds(value: Any, depth: int) -> bool:
    """Whether there is a tensor anywhere below an object."""
    found: list[torch.Tensor] = []
    for item in vars(value).values():
        _strip(item, found, depth + 1)
        if found:
            return True
    return False


def _fill(rest: _Rest, tensors: Any) -> Any:
    if rest.kind is _Leaf:
        return next(tensors)
    if rest.kind is None:
        return rest.value
    if rest.value == "object":
        made = rest.kind.__new__(rest.kind)
        for name, item in rest.items.items():
            made.__dict__[name] = _fill(item, tensors)
        return made
    if isinstance(rest.items, dict):
        return rest.kind((k, _fill(v, tensors)) for k, v in rest.items.items())
    items = [_fill(item, tensors) for item in rest.items]
    return rest.kind(*items) if hasattr(rest.kind, "_fields") else rest.kind(items)
