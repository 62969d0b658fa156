"""``module:factory``: a function, a class or an instance of a module that can be imported."""

from __future__ import annotations

import importlib
import os
import re
import sys

import torch

from neuronport.graph.capture.model import Model, NamingError
from neuronport.graph.capture.sources import Request
from neuronport.graph.capture.sources._given import for_model

ORDER = 40
_NAMED = re.compile(r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")


def accepts(request: Request) -> bool:
    return bool(_NAMED.match(request.named)) and not request.is_path


def model(request: Request) -> Model:
    name, _, attribute = request.named.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise NamingError(f"no module {name!r} from the current folder") from None
        raise
    found = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise NamingError(f"{name} has no {attribute!r}")
        found = getattr(found, part)

    def build() -> torch.nn.Module:
        built = found if isinstance(found, torch.nn.Module) else found()  # type: ignore[operator]
        if not isinstance(built, torch.nn.Module):
            raise NamingError(f"{request.named} gives a {type(built).__name__}, no torch.nn.Module")
        return built

    return Model(
        request.named,
        "factory",
        build,
        for_model(request, getattr(module, "inputs", None)),
        loss=getattr(module, "loss", None),
        on_meta=not isinstance(found, torch.nn.Module),
    )
