"""A ``torch.export`` archive: the graph is there already."""

from __future__ import annotations

import torch

from neuronport.graph.capture.model import InputSet, Model, NamingError
from neuronport.graph.capture.sources import Request

ORDER = 10
_LONGEST = 160


def accepts(request: Request) -> bool:
    return request.named.endswith(".pt2") and request.is_path


def model(request: Request) -> Model:
    try:
        program = torch.export.load(request.named)
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise NamingError(
            f"no archive of torch.export that torch {torch.__version__} reads ({said[:_LONGEST]}):"
            " save it again with this version of torch, or name an interpreter that has the one it"
            " was saved with (--python)"
        ) from error
    args, kwargs = program.example_inputs or ((), {})
    return Model(
        request.named,
        "exported",
        program.module,
        lambda _: [InputSet("forward", tuple(args), dict(kwargs))],
        on_meta=False,
        exported=program,
    )
