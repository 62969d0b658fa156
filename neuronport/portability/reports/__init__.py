"""The forms in which portability is shown: every module here, with ``render``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

from neuronport.portability.verdict import Portability


def forms() -> list[str]:
    """Names of the forms."""
    return sorted(
        i.name.rstrip("_") for i in pkgutil.iter_modules(__path__) if not i.name.startswith("_")
    )


def named(name: str) -> Callable[[Portability], str]:
    module = {i.name.rstrip("_"): i.name for i in pkgutil.iter_modules(__path__)}[name]
    render: Callable[[Portability], str] = importlib.import_module(f"{__name__}.{module}").render
    return render
