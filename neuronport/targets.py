"""Targets: the path by which PyTorch reaches a Neuron chip, the SDK version and the chips.

Written ``PATH[@SDK][:CHIP]``; what is left out is resolved from ``rules/targets/``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from neuronport.data import data_folder


class TargetError(ValueError):
    """A target that is not written correctly or that the rules do not know."""


@dataclass(frozen=True, slots=True)
class Target:
    """A resolved target."""

    path: str
    sdk: str
    chips: tuple[str, ...]
    """Every chip the verdict has to hold for; the weakest among them counts."""
    chip_named: bool = False

    def __str__(self) -> str:
        chip = f":{self.chips[0]}" if self.chip_named else ""
        return f"{self.path}@{self.sdk}{chip}"


@dataclass(frozen=True, slots=True)
class PathInfo:
    name: str
    title: str
    device: str
    sdks: tuple[str, ...]
    """Oldest first."""
    chips: tuple[str, ...]


@cache
def version_key(version: str) -> tuple[int, ...]:
    """``"2.33"`` → ``(2, 33)``, for comparing SDK versions."""
    return tuple(int(part) for part in version.split("."))


@cache
def known() -> Mapping[str, Any]:
    """The parsed ``rules/targets/targets.toml``."""
    with (data_folder("rules") / "targets" / "targets.toml").open("rb") as file:
        return tomllib.load(file)


@cache
def paths() -> Mapping[str, PathInfo]:
    return {
        name: PathInfo(name, row["title"], row["device"], tuple(row["sdks"]), tuple(row["chips"]))
        for name, row in known()["path"].items()
    }


def default_target() -> Target:
    return resolve(known()["default"])


def resolve(text: str) -> Target:
    """The target that ``text`` names.

    Raises TargetError: unknown path, SDK or chip, or a chip the path does not reach.
    """
    head, colon, chip = text.strip().partition(":")
    name, at, sdk = head.partition("@")
    info = paths().get(name)
    if info is None:
        raise TargetError(f"unknown path {name!r}; known: {', '.join(paths())}")
    if at and not sdk:
        raise TargetError(f"{text!r}: no SDK after @; known: {', '.join(info.sdks)}")
    if colon and not chip:
        raise TargetError(f"{text!r}: no chip after the colon; known: {', '.join(info.chips)}")
    sdk = ".".join(sdk.split(".")[:2]) or info.sdks[-1]
    if sdk not in info.sdks:
        raise TargetError(
            f"the {name} path is not known in SDK {sdk}; known: {', '.join(info.sdks)}"
        )
    if chip and chip not in info.chips:
        raise TargetError(
            f"the {name} path does not reach {chip!r}; known: {', '.join(info.chips)}"
        )
    return Target(name, sdk, (chip,) if chip else info.chips, bool(chip))
