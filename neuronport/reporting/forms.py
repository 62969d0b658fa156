"""The forms in which a command shows what it found: the modules of a package, each with ``render``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Forms(Generic[Result]):
    """What a package of forms exports; a trailing underscore of a file is no part of its name."""

    def __init__(self, package: str, path: Sequence[str]) -> None:
        self._package = package
        self._path = path

    def names(self) -> list[str]:
        """In alphabetical order."""
        return sorted(self._modules())

    def named(self, name: str) -> Callable[[Result], str]:
        """Raises KeyError: there is no such form."""
        module = importlib.import_module(f"{self._package}.{self._modules()[name]}")
        render: Callable[[Result], str] = module.render
        return render

    def _modules(self) -> dict[str, str]:
        found = (info.name for info in pkgutil.iter_modules(self._path))
        return {name.rstrip("_"): name for name in found if not name.startswith("_")}
