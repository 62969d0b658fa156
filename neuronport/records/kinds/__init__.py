"""The kinds of records there are: every module here, each with its ``KIND``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from neuronport.records.model import Kind


@cache
def kinds() -> Mapping[str, Kind]:
    """Name → kind, in alphabetical order."""
    found = {}
    for info in pkgutil.iter_modules(__path__):
        kind = importlib.import_module(f"{__name__}.{info.name}").KIND
        assert isinstance(kind, Kind)
        found[kind.name] = kind
    return dict(sorted(found.items()))
