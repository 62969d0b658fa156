"""``timm:NAME``: a model of the timm library by its name."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from neuronport.graph.capture.model import InputSet, Model, NamingError
from neuronport.graph.capture.sources import Request
from neuronport.graph.capture.sources import _given as given

ORDER = 15


def accepts(request: Request) -> bool:
    return request.named.startswith("timm:")


def model(request: Request) -> Model:
    try:
        import timm
    except ImportError:
        raise NamingError("a timm name needs the package timm") from None
    name = request.named.removeprefix("timm:")
    if not timm.is_model(name):
        raise NamingError(f"timm {timm.__version__} has no model {name!r}")

    def build() -> torch.nn.Module:
        built = timm.create_model(name, pretrained=False)
        assert isinstance(built, torch.nn.Module)
        return built

    def sets(module: torch.nn.Module) -> Sequence[InputSet]:
        if request.inputs:
            return given.written(request)
        size = getattr(module, "default_cfg", {}).get("input_size", (3, 224, 224))
        return [InputSet("forward", (torch.randn(request.batch, *size),))]

    return Model(request.named, "timm", build, sets)
