"""A TorchScript file: converted to an exported program, which is what torch offers for it."""

from __future__ import annotations

import zipfile

import torch

from neuronport.graph.capture.model import InputSet, Model, NamingError
from neuronport.graph.capture.sources import Request
from neuronport.graph.capture.sources import _given as given

ORDER = 20


def accepts(request: Request) -> bool:
    if not request.is_path or not zipfile.is_zipfile(request.named):
        return False
    with zipfile.ZipFile(request.named) as archive:
        return any("/code/" in name for name in archive.namelist())


def model(request: Request) -> Model:
    if not request.inputs:
        raise NamingError("a TorchScript file has no inputs: give --input")
    # not at the top: it imports much that other sources do not need
    from torch._export.converter import TS2EPConverter

    first: InputSet = given.written(request)[0]
    script = torch.jit.load(request.named, map_location="cpu")  # type: ignore[no-untyped-call]
    try:
        program = TS2EPConverter(script, first.args, dict(first.kwargs)).convert()
    except Exception as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise NamingError(f"torch cannot convert this TorchScript: {reason[0]}") from error
    return Model(
        request.named,
        "torchscript",
        program.module,
        lambda _: [first],
        on_meta=False,
        exported=program,
    )
