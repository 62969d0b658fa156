"""What a source of a model gives: something that can be built, and inputs for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch


class NamingError(Exception):
    """The model cannot be had as it was named; the message says why."""


@dataclass(frozen=True)
class InputSet:
    """One call of the model."""

    name: str
    """``forward``, ``prefill``, ``decode``, or what the user calls it."""
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    training: bool = False
    cache: bool = False
    """Tensors among the inputs that are a KV cache are counted as such."""
    following: Callable[[Any], InputSet | None] | None = None
    """The call that comes after this one, made from its output: a decode step."""


@dataclass(frozen=True)
class Model:
    """A model by name. ``build`` and ``inputs`` run under the default device of the moment."""

    name: str
    kind: str
    build: Callable[[], torch.nn.Module]
    inputs: Callable[[torch.nn.Module], Sequence[InputSet]]
    training_inputs: Callable[[torch.nn.Module], Sequence[InputSet]] | None = None
    """Inputs of a training step; ``None``: those of the forward."""
    loss: Callable[..., Any] | None = None
    """``loss(output, *args, **kwargs)``; ``None``: what the output offers."""
    on_meta: bool = True
    """Whether it may be built without storage."""
    exported: Any = None
    """A finished ``ExportedProgram``: nothing is to be captured."""
