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
from neuronport.graph.capture.sources._diffusers import CALLS, Sizes

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
    config = given.overridden(_config(request), request)
    cls = getattr(diffusers, config["_class_name"], None)
    if not (isinstance(cls, type) and issubclass(cls, torch.nn.Module)):
        raise NamingError(f"diffusers has no module {config['_class_name']!r}")

    def build() -> torch.nn.Module:
        factory: Any = cls
        built = factory.from_config(config)
        assert isinstance(built, torch.nn.Module)
        return built

    def sets(module: torch.nn.Module) -> Sequence[InputSet]:
        return given.written(request) if request.inputs else _inputs(module, request)

    return Model(f"diffusers: {cls.__name__}", "diffusers", build, sets)


def _inputs(module: torch.nn.Module, request: Request) -> list[InputSet]:
    """What denoisers, autoencoders and what controls them take."""
    sizes = Sizes(module.config, request)
    made = CALLS.get(type(module).__name__)
    if made is not None:
        return [InputSet("forward", (), made(sizes))]
    names = inspect.signature(module.forward).parameters
    found: dict[str, Any] = {next(iter(names)): sizes.image()}
    if "timestep" in names:
        found["timestep"] = sizes.step()
    if "encoder_hidden_states" in names:
        found["encoder_hidden_states"] = sizes.text(
            "caption_channels", "joint_attention_dim", "text_embed_dim", "cross_attention_dim"
        )
    required = [
        p.name
        for p in names.values()
        if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in found
    ]
    if required:
        raise NamingError(
            f"{type(module).__name__} takes {', '.join(required)}, which no configuration says:"
            " give --input NAME=EXPRESSION for each"
        )
    return [InputSet("forward", (), found)]
