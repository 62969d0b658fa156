"""What understanding source rests on that is data: ``rules/understanding/*.toml``."""

from __future__ import annotations

import tomllib
from typing import Any

from neuronport.data import data_folder


def understanding(name: str) -> dict[str, Any]:
    """One of the tables, parsed anew each time."""
    with (data_folder("rules") / "understanding" / f"{name}.toml").open("rb") as file:
        return tomllib.load(file)
