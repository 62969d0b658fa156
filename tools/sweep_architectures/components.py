"""timm's families, components of diffusers, and encoders of transformers that its pipelines use."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

_CONFIGS = Path(__file__).with_name("diffusers.toml")
_SMALL = (
    *("atto", "femto", "pico", "nano", "xxs", "xx_small", "micro", "xs", "tiny", "_t0", "050"),
    *("small", "_s_", "_s0", "_s", "b0", "mini", "18", "_1", "lite"),
)
"""How small members of a family are called, the smallest first."""
_LARGE = ("384", "512", "large", "huge")


def timm_families() -> list[str]:
    """``timm:NAME``: of each of timm's files that has models, one that is small by its name."""
    import timm

    found = []
    for module in sorted(timm.list_modules()):
        names = timm.list_models(module=module)
        fitting = [n for n in names if not any(word in n for word in _LARGE)] or names
        if fitting:
            found.append(f"timm:{min(fitting, key=_size)}")
    return found


def _size(name: str) -> tuple[int, int, str]:
    rank = next((i for i, word in enumerate(_SMALL) if word in name), len(_SMALL))
    return rank, len(name), name


def diffusers_components() -> list[str]:
    """``diffusers:CLASS``, of those that ``diffusers.toml`` makes small; an encoder that transformers
    has is ``transformers:CLASS``."""
    with _CONFIGS.open("rb") as stream:
        found = tomllib.load(stream)
    return [
        f"{'transformers' if 'model_type' in config else 'diffusers'}:{name}"
        for name, config in found.items()
    ]


def diffusers_classes() -> int:
    """How many model classes diffusers has."""
    import diffusers

    found = (getattr(diffusers, name, None) for name in dir(diffusers))
    base = diffusers.ModelMixin
    return sum(isinstance(c, type) and issubclass(c, base) and c is not base for c in found)


def is_component(name: str) -> bool:
    return name.startswith(("timm:", "diffusers:", "transformers:"))


def library(name: str) -> str:
    """``timm 1.0.31``."""
    import importlib

    package = name.partition(":")[0]
    return f"{package} {importlib.import_module(package).__version__}"


def named(name: str, folder: Path) -> str:
    """What ``neuronport graph`` is given for it."""
    if name.startswith("timm:"):
        return name
    cls = name.partition(":")[2]
    with _CONFIGS.open("rb") as stream:
        config: dict[str, Any] = tomllib.load(stream)[cls]
    file = folder / "config.json"
    names = {"architectures": [cls]} if "model_type" in config else {"_class_name": cls}
    file.write_text(json.dumps({**names, **config}), encoding="utf-8")
    return str(file)
