"""Inputs given on the command line, or by a function of the user's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from neuronport.graph.capture import inputs
from neuronport.graph.capture.model import InputSet, NamingError
from neuronport.graph.capture.sources import Request


def overridden(data: Mapping[str, Any], request: Request) -> dict[str, Any]:
    """A configuration with what ``--set`` says."""
    found = dict(data)
    for override in request.overrides:
        key, _, value = override.partition("=")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found


def written(request: Request) -> list[InputSet]:
    """The input sets of ``--input``."""
    sets = []
    for position, expressions in enumerate(request.inputs):
        try:
            values = [inputs.parse(text) for text in expressions]
        except inputs.InputError as error:
            raise NamingError(f"--input: {error}") from None
        args = tuple(value for name, value in values if not name)
        kwargs = {name: value for name, value in values if name}
        name = "forward" if position == 0 else f"forward-{position + 1}"
        sets.append(InputSet(name, args, kwargs))
    return sets


def returned(value: Any, name: str = "forward") -> list[InputSet]:
    """The input sets that a user's ``inputs()`` returns: a tensor; a tuple of arguments; a mapping
    of keyword arguments; a mapping of names to any of these."""
    if isinstance(value, Mapping):
        values = list(value.values())
        if values and all(isinstance(v, (tuple, Mapping)) for v in values):
            return [s for key, v in value.items() for s in returned(v, str(key))]
        return [InputSet(name, (), dict(value))]
    if isinstance(value, (tuple, list)):
        if len(value) == 2 and isinstance(value[0], tuple) and isinstance(value[1], Mapping):
            return [InputSet(name, value[0], dict(value[1]))]
        return [InputSet(name, tuple(value))]
    return [InputSet(name, (value,))]


def for_model(
    request: Request, made: Callable[[], Any] | None
) -> Callable[[torch.nn.Module], Sequence[InputSet]]:
    def sets(module: torch.nn.Module) -> Sequence[InputSet]:
        if request.inputs:
            return written(request)
        if made is not None:
            return returned(made())
        raise NamingError(
            "no inputs: give --input, for example --input 'randn(1,3,224,224)', or write inputs()"
        )

    return sets
