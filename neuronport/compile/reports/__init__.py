"""What people and programs read of a result: one file per form, found by being there.

A form has ``render(result) -> str``. Each names the compiler with its seconds.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any


def forms() -> list[str]:
    """Names of the forms."""
    return sorted(
        i.name.rstrip("_") for i in pkgutil.iter_modules(__path__) if not i.name.startswith("_")
    )


def named(name: str) -> Callable[[Any], str]:
    module = {i.name.rstrip("_"): i.name for i in pkgutil.iter_modules(__path__)}[name]
    render: Callable[[Any], str] = importlib.import_module(f"{__name__}.{module}").render
    return render
