"""The limits of the chips: ``rules/targets/chips.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from neuronport.data import data_folder
from neuronport.findings import Evidence, EvidenceKind


@dataclass(frozen=True, slots=True)
class Chip:
    name: str
    title: str
    core: str
    cores: int
    """As PyTorch sees them."""
    memory: int
    """Bytes, of the chip."""
    bandwidth: float
    """Bytes per second, of the chip."""
    flops: Mapping[str, float]
    """Dtype → operations per second of the chip's matrix engines."""
    tensor_parallel: tuple[int, ...]
    """In how many parts a model may be split; empty: not stated."""
    evidence: tuple[Evidence, ...]

    @property
    def memory_per_core(self) -> int:
        return self.memory // self.cores


@cache
def chips() -> Mapping[str, Chip]:
    """Every chip by name."""
    with (data_folder("rules") / "targets" / "chips.toml").open("rb") as stream:
        data = tomllib.load(stream)
    return {
        name: Chip(
            name,
            row["title"],
            row["core"],
            row["cores"],
            row["memory"] << 30,
            row["bandwidth"] * 1e9,
            {dtype: value * 1e12 for dtype, value in row["tflops"].items()},
            tuple(row["tensor_parallel"]),
            tuple(
                Evidence(EvidenceKind(e["kind"]), e["source"], e["says"]) for e in row["evidence"]
            ),
        )
        for name, row in data.items()
    }
