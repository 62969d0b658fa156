"""Ways to name a model: one file each, found by being there.

A source has ``accepts(request) -> bool`` and ``model(request) -> Model``; the lowest ``ORDER``
that accepts wins.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from neuronport.graph.capture.model import Model, NamingError

_LONGEST = 300


@dataclass(frozen=True)
class Request:
    """What the user named."""

    named: str
    inputs: Sequence[Sequence[str]] = ()
    """Input sets, each a list of expressions."""
    dtype: str = ""
    batch: int = 1
    sequence: int = 128
    cache: int = 0
    """Tokens in the cache of a decode step; 0: as long as ``sequence``."""
    overrides: Sequence[str] = ()
    """``key=value`` into a configuration."""

    @property
    def is_path(self) -> bool:
        return os.path.exists(self.named)


def sources() -> list[ModuleType]:
    found = [
        importlib.import_module(f"{__name__}.{i.name}")
        for i in pkgutil.iter_modules(__path__)
        if not i.name.startswith("_")
    ]
    return sorted(found, key=lambda m: m.ORDER)


def find(request: Request) -> Model:
    """The model that ``request`` names.

    Raises NamingError: no source knows it, or the one that does cannot make it.
    """
    try:
        for source in sources():
            if source.accepts(request):
                model = source.model(request)
                assert isinstance(model, Model)
                return model
    except Exception as error:
        # a file of data, not of code: what is wrong is the file
        if not request.is_path or request.named.endswith(".py"):
            raise
        what = "" if isinstance(error, NamingError) else f"{type(error).__name__}: "
        said = " ".join(str(error).split())
        raise NamingError(f"{request.named}: {what}{said[:_LONGEST]}") from error
    raise NamingError(
        f"{request.named!r} is no model: name `module:factory`, a Python file with model(), a"
        " folder or file with a Hugging Face configuration, `timm:NAME`, a .pt2 or a TorchScript file"
    )
