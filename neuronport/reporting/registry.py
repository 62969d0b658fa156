"""The formats there are: every module of ``formats/`` whose name does not begin with ``_``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from neuronport.reporting import formats as package
from neuronport.reporting.result import AuditResult, RenderOptions


@dataclass(frozen=True, slots=True)
class Format:
    name: str
    description: str
    render: Callable[[AuditResult, RenderOptions], Iterator[str]]


@cache
def formats() -> Mapping[str, Format]:
    """Name → format, in alphabetical order."""
    found = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        found[module.NAME] = Format(module.NAME, module.DESCRIPTION, module.render)
    return dict(sorted(found.items()))


def named(name: str) -> Format:
    """The format called ``name``.

    Raises KeyError: there is none.
    """
    return formats()[name]
