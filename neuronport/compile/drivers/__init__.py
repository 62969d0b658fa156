"""Ways to compile a model: one file each, found by being there.

A driver has

* ``ORDER``: the lowest that can be used, of the target's path first, is the one that is used;
* ``TITLE``, ``COMPILER`` (``neuron`` or ``xla-cpu``) and ``PATH`` (whose lowering it has);
* ``look(here) -> Looked``: whether it can be used here;
* ``for_chip(here) -> bool``: whether it compiles for the chip that the target names, not for the one
  that is here;
* ``compile(job, here) -> list[Attempt]``; raises RecordError, XlaEnvironmentError or DriverError
  where nothing could be tried.

Its name is that of its file.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType


class DriverError(RuntimeError):
    """Nothing could be tried; the message says why, in one line and what was printed last."""


@dataclass(frozen=True, slots=True)
class Looked:
    usable: bool
    because: str
    versions: Mapping[str, str] = field(default_factory=dict)


@cache
def drivers() -> Mapping[str, ModuleType]:
    """Name → driver, in their order."""
    found = {
        i.name: importlib.import_module(f"{__name__}.{i.name}")
        for i in pkgutil.iter_modules(__path__)
        if not i.name.startswith("_")
    }
    return dict(sorted(found.items(), key=lambda item: item[1].ORDER))
