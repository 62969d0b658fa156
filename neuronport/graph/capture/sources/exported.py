"""A ``torch.export`` archive: the graph is there already."""

from __future__ import annotations

import torch

from neuronport.graph.capture.model import InputSet, Model
from neuronport.graph.capture.sources import Request

ORDER = 10


def accepts(request: Request) -> bool:
    return request.named.endswith(".pt2") and request.is_path


def model(request: Request) -> Model:
    program = torch.export.load(request.named)
    args, kwargs = program.example_inputs or ((), {})
    return Model(
        request.named,
        "exported",
        program.module,
        lambda _: [InputSet("forward", tuple(args), dict(kwargs))],
        on_meta=False,
        exported=program,
    )
