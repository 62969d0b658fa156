"""Where ``rules/`` and ``templates/`` are: beside the package in a checkout or an editable
install, inside it in a wheel. One locator, so that no other module guesses."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


@cache
def data_folder(name: str) -> Path:
    """The folder ``name`` (``rules``, ``templates``, ``schemas``).

    A checkout wins over files inside the package: an editable install with forced includes can
    leave stale copies there.

    Raises FileNotFoundError: the installation is incomplete.
    """
    checkout = _PACKAGE.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / name).is_dir():
        return checkout / name
    inside = _PACKAGE / "_data" / name
    if inside.is_dir():
        return inside
    raise FileNotFoundError(f"neuronport's {name}/ folder is missing; reinstall the package")
