"""What every format is read into."""

from __future__ import annotations

from dataclasses import dataclass

from neuronport.operators.tables import Status


@dataclass(frozen=True, slots=True, order=True)
class Observation:
    operator: str
    """An overload, or a family when the report says no more."""
    path: str
    stage: str
    status: Status
    when: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    observations: tuple[Observation, ...]
    says: str
    """What the report is, with the versions it names."""
    kind: str = "observed"
    not_understood: tuple[str, ...] = ()


def operator_name(text: str) -> str:
    """``aten::add.Tensor`` from how tools write it: ``torch.aten.add.Tensor``, ``add.Tensor``."""
    name = text.strip().strip("'\"`").removeprefix("torch.")
    name = name.removeprefix("ops.")
    if "::" not in name and name.startswith("aten."):
        name = f"aten::{name.removeprefix('aten.')}"
    return (name if "::" in name else f"aten::{name}").removesuffix(".default")
