"""A component of a diffusers pipeline: its ``config.json`` with ``_class_name``."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Sequence
from typing import Any

import torch

from neuronport.graph.capture.model import InputSet, Model, NamingError
from neuronport.graph.capture.sources import Request
from neuronport.graph.capture.sources import _given as given

ORDER = 24


def _config(request: Request) -> dict[str, Any]:
    file = request.named
    if os.path.isdir(file):
        file = os.path.join(file, "config.json")
    if not (file.endswith(".json") and os.path.isfile(file)):
        return {}
    with open(file, encoding="utf-8") as stream:
        data = json.load(stream)
    return data if isinstance(data, dict) else {}


def accepts(request: Request) -> bool:
    return "_class_name" in _config(request)


def model(request: Request) -> Model:
    try:
        import diffusers
    except ImportError:
        raise NamingError("a diffusers configuration needs the package diffusers") from None
    config = _config(request)
    cls = getattr(diffusers, config["_class_name"], None)
    if cls is None or not issubclass(cls, torch.nn.Module):
        raise NamingError(f"diffusers has no module {config['_class_name']!r}")

    def build() -> torch.nn.Module:
        built = cls.from_config(config)
        assert isinstance(built, torch.nn.Module)
        return built

    def sets(module: torch.nn.Module) -> Sequence[InputSet]:
        return given.written(request) if request.inputs else _inputs(module, request)

    return Model(f"diffusers: {cls.__name__}", "diffusers", build, sets)


def _inputs(module: torch.nn.Module, request: Request) -> list[InputSet]:
    """What denoisers and autoencoders take, by the names of their arguments."""
    config: Any = module.config
    names = inspect.signature(module.forward).parameters
    channels = getattr(config, "in_channels", 4)
    side = getattr(config, "sample_size", None) or 32
    height, width = (side, side) if isinstance(side, int) else tuple(side)[-2:]
    image = torch.randn(request.batch, channels, height, width)
    if "timestep" not in names:
        return [InputSet("forward", (image,))]
    found: dict[str, Any] = {
        next(iter(names)): image,
        "timestep": torch.zeros(request.batch, dtype=torch.long),
    }
    if "encoder_hidden_states" in names:
        width_of_text = getattr(config, "cross_attention_dim", None) or getattr(
            config, "joint_attention_dim", None
        )
        if isinstance(width_of_text, int):
            found["encoder_hidden_states"] = torch.randn(request.batch, 77, width_of_text)
    required = [
        p.name
        for p in names.values()
        if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in found
    ]
    if required:
        raise NamingError(f"give --input for {', '.join(required)}")
    return [InputSet("forward", (), found)]
