"""CUDA where there is none: placement becomes the default device, and is noted with its line.

``.cuda()``, ``device="cuda"`` and the like raise on a machine without CUDA and would end every
capture. What they are for on Neuron is told by the audit; here they only must not hide the rest.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

from neuronport.graph.capture import sites

_CALLS: dict[str, Callable[..., Any]] = {
    "synchronize": lambda *a, **k: None,
    "empty_cache": lambda: None,
    "current_device": lambda: 0,
    "set_device": lambda *a, **k: None,
    "manual_seed": lambda *a, **k: None,
    "manual_seed_all": lambda *a, **k: None,
    "reset_peak_memory_stats": lambda *a, **k: None,
    "max_memory_allocated": lambda *a, **k: 0,
    "memory_allocated": lambda *a, **k: 0,
}
"""Functions of torch.cuda that raise without CUDA and whose result no operator depends on."""


_Noted = dict[tuple[str, tuple[sites.Frame, ...]], int]

_READS: dict[Any, str] = {
    torch.Tensor.__bool__: "bool",
    torch.Tensor.__int__: "int",
    torch.Tensor.__float__: "float",
    torch.Tensor.__index__: "index",
    torch.Tensor.item: "item",
    torch.Tensor.tolist: "tolist",
    torch.Tensor.numpy: "numpy",
    torch.Tensor.__array__: "numpy",
}
LEAVING = ("numpy", "tolist")
"""Reads after which Python computes with the values: no graph has what it does."""


def _is_cuda(value: Any) -> bool:
    if isinstance(value, torch.device):
        return bool(value.type == "cuda")
    return isinstance(value, str) and (value == "cuda" or value.startswith("cuda:"))


class Redirects(TorchFunctionMode):
    """Turns CUDA placement into ``device``; ``noted`` says what and where.

    It also sees where a capture reads a value of a tensor: what export says of it later no longer
    has the line.
    """

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device = device
        self.noted: _Noted = {}
        self.reads: _Noted = {}
        self._reading = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.Tensor.cuda, torch.nn.Module.cuda):
            self.note("cuda()")
            return args[0]
        if self._reading and func in _READS:
            self.note(_READS[func], self.reads)
        hit = False
        if kwargs and _is_cuda(kwargs.get("device")):
            kwargs = {**kwargs, "device": self.device}
            hit = True
        for value in args:  # every operator passes here: no generator
            kind = type(value)
            if (kind is str or kind is torch.device) and _is_cuda(value):
                args = tuple(self.device if _is_cuda(a) else a for a in args)
                hit = True
                break
        if hit:
            self.note(getattr(func, "__name__", str(func)))
        return func(*args, **kwargs) if kwargs else func(*args)

    def note(self, what: str, into: _Noted | None = None) -> None:
        noted = self.noted if into is None else into
        frames = tuple(f for f in sites.split(sites.here()) if f is not None)
        noted[what, frames] = noted.get((what, frames), 0) + 1

    @contextlib.contextmanager
    def active(self, reading: bool = False) -> Iterator[None]:
        """The mode, and the functions of ``torch.cuda`` and modules that no mode sees.

        ``reading``: values that are read are noted, too.
        """

        def module_cuda(module: torch.nn.Module, device: Any = None) -> torch.nn.Module:
            self.note("Module.cuda()")
            return module

        def noted(name: str) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                self.note(f"torch.cuda.{name}")
                return _CALLS[name](*args, **kwargs)

            return call

        original_to = torch.nn.Module.to

        def module_to(module: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.nn.Module:
            if any(_is_cuda(a) for a in args) or _is_cuda(kwargs.get("device")):
                self.note("Module.to")
                args = tuple(a for a in args if not _is_cuda(a))
                kwargs = {k: v for k, v in kwargs.items() if not _is_cuda(v)}
                if not args and not kwargs:
                    return module
            return original_to(module, *args, **kwargs)

        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.object(torch.nn.Module, "cuda", module_cuda))
            stack.enter_context(mock.patch.object(torch.nn.Module, "to", module_to))
            for name in _CALLS:
                stack.enter_context(mock.patch.object(torch.cuda, name, noted(name)))
            stack.enter_context(self)
            self._reading = reading
            try:
                yield
            finally:
                self._reading = False


def as_json(noted: _Noted, numbers: sites.Sites) -> list[dict[str, Any]]:
    return [
        {"what": what, "count": count, **numbers.of(frames)}
        for (what, frames), count in noted.items()
    ]
