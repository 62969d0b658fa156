"""The formats of checkpoints: every module here, with ``NAME``, ``fits(path)`` and ``read(path)``.

``ORDER`` says which is asked first, where it matters.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Protocol, cast

from neuronport.portability.checkpoints.tensors import Checkpoint, CheckpointError
from neuronport.workspace import Unreadable
from neuronport.workspace.files import read_regular


class Format(Protocol):
    NAME: str
    ORDER: int

    def fits(self, path: str, head: bytes) -> bool: ...

    def read(self, path: str) -> Checkpoint: ...


@cache
def formats() -> tuple[Format, ...]:
    found = [
        cast(Format, importlib.import_module(f"{__name__}.{info.name}"))
        for info in pkgutil.iter_modules(__path__)
        if not info.name.startswith("_")
    ]
    return tuple(sorted(found, key=lambda f: f.ORDER))


def read(path: str) -> Checkpoint:
    """The checkpoint at ``path``, a file or a folder.

    Raises CheckpointError.
    """
    try:
        head = head_of(path)
        if not head:
            raise CheckpointError("an empty file", "copy or save it again")
        for form in formats():
            if form.fits(path, head):
                return form.read(path)
    except OSError as error:
        raise CheckpointError(f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except (RecursionError, MemoryError):
        raise CheckpointError(
            "it is nested too deeply or wants more memory than there is"
        ) from None
    raise CheckpointError(
        "no checkpoint of a known format",
        "known: " + ", ".join(form.NAME for form in formats()),
    )


def head_of(path: str) -> bytes:
    """The first bytes of a file; of a folder none."""
    import os

    if os.path.isdir(path):
        return b"/"
    try:
        return read_regular(os.path.realpath(path), 64)
    except Unreadable as error:
        raise CheckpointError(f"cannot be read: {error.detail or error.reason}") from None
