"""The user's model with values, call by call, for workers that compile it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from neuronport.graph.capture import encode, ladder, sites
from neuronport.graph.capture.placement import Redirects
from neuronport.graph.capture.sources import Request, find

_TOOL = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@dataclass
class Call:
    name: str
    mode: str
    module: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    loss: Callable[..., Any] | None = None

    def tensors(self) -> list[torch.Tensor]:
        return [v for v in pytree.tree_leaves((self.args, self.kwargs)) if _is_tensor(v)]

    def inputs(self) -> list[dict[str, Any]]:
        named = [(str(n), v) for n, v in enumerate(self.args)] + list(self.kwargs.items())
        return [
            {
                "name": name,
                "dtype": encode.dtype(leaf.dtype),
                "shape": [int(s) for s in leaf.shape],
            }
            for name, value in named
            for leaf in pytree.tree_leaves(value)
            if _is_tensor(leaf)
        ]

    def as_json(self) -> dict[str, Any]:
        return {"graph": self.name, "mode": self.mode, "inputs": self.inputs()}


class OnTensors(torch.nn.Module):
    """A call as a module whose arguments and results are tensors and nothing else."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self.module = call.module
        leaves, self._spec = pytree.tree_flatten((call.args, call.kwargs))
        self._fixed = [None if _is_tensor(v) else v for v in leaves]
        self._places = [n for n, v in enumerate(leaves) if _is_tensor(v)]

    def forward(self, *tensors: torch.Tensor) -> Any:
        leaves = list(self._fixed)
        for place, tensor in zip(self._places, tensors, strict=True):
            leaves[place] = tensor
        args, kwargs = pytree.tree_unflatten(leaves, self._spec)
        found = [v for v in pytree.tree_leaves(self.module(*args, **kwargs)) if _is_tensor(v)]
        return found[0] if len(found) == 1 else tuple(found)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _user_files() -> list[str]:
    """What was imported and is neither installed nor part of this tool."""
    found = {str(getattr(m, "__file__", None) or "") for m in list(sys.modules.values())}
    return sorted(
        f
        for f in found
        if f.endswith(".py") and sites.kind(f) == "user" and not f.startswith(_TOOL + os.sep)
    )


def calls(
    request: dict[str, Any], redirects: Redirects, write: Callable[[dict[str, Any]], None]
) -> Iterator[Call]:
    """The calls, one after the other; a following call is made when the one before is done with.

    Raises what the user's code raises, SystemExit too.
    """
    sys.path.insert(0, os.getcwd())
    wanted = Request(
        request["model"],
        request["inputs"],
        request["dtype"],
        request["batch"],
        request["sequence"],
        request["cache"],
        request["overrides"],
    )
    with redirects.active():
        model = find(wanted)
    builder = ladder.Builder(model, ladder.Attempt(sites.Sites()), redirects)
    builder.device = "cpu"
    for mode in request["modes"]:
        training = mode == "training"
        module = builder.module("cpu")
        module.train(training)
        sets = builder.inputs(training, "cpu")
        made = [Call(s.name, mode, module, tuple(s.args), dict(s.kwargs), model.loss) for s in sets]
        write({"plan": [c.as_json() for c in made], "files": _user_files()})
        for given, call in zip(sets, made, strict=True):
            yield call
            current = ladder.followed(builder, module, given)
            while current is not None:
                following = Call(
                    current.name, mode, module, tuple(current.args), dict(current.kwargs)
                )
                write({"plan": [following.as_json()]})
                yield following
                current = ladder.followed(builder, module, current)
