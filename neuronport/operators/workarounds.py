"""What to write instead: ``rules/operators/workarounds/*.toml``, each tested to compute the same."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from neuronport.operators.tables import TableError, folder


@dataclass(frozen=True, slots=True)
class Workaround:
    """Old code, new code with static shapes, and what has to stay equal."""

    id: str
    operators: tuple[str, ...]
    """Overloads or families it replaces."""
    title: str
    old: str
    new: str
    context: str
    """When it applies and what it does not keep: the person who reads it decides by this."""
    paths: tuple[str, ...]
    setup: str
    """Code that makes the inputs of the test."""
    inputs: tuple[str, ...]
    gradients: tuple[str, ...]
    """The inputs whose gradients must be equal too."""
    rtol: float
    atol: float
    equal: str
    """``values`` (dtype, shape and values), ``distribution`` or ``after`` (after ``consumer``)."""
    consumer: str
    fits: tuple[tuple[str, tuple[object, ...]], ...]
    """Parameter → what it may be where the workaround applies; ``size``: of the matrices."""

    def suits(self, known: Mapping[str, object]) -> bool:
        """Whether nothing that is known of a call speaks against it."""
        return all(known[name] in may for name, may in self.fits if name in known)

    @property
    def for_a_size(self) -> bool:
        return any(name == "size" for name, _ in self.fits)


_REQUIRED = ("operators", "title", "old", "new", "context", "setup", "inputs")


@cache
def workarounds(root: Path | None = None) -> Mapping[str, Workaround]:
    """Every workaround by id.

    Raises TableError: one is not written as the format says.
    """
    found: dict[str, Workaround] = {}
    for file in sorted(((root or folder()) / "workarounds").glob("*.toml")):
        with file.open("rb") as stream:
            data = tomllib.load(stream)
        for name, row in data.items():
            missing = [key for key in _REQUIRED if key not in row]
            if missing or name in found:
                raise TableError(f"{file.name}: {name}: {'twice' if name in found else missing}")
            found[name] = Workaround(
                name,
                tuple(row["operators"]),
                row["title"],
                row["old"].strip("\n"),
                row["new"].strip("\n"),
                row["context"].strip(),
                tuple(row.get("paths", ("native", "xla"))),
                row["setup"].strip("\n"),
                tuple(row["inputs"]),
                tuple(row.get("gradients", ())),
                float(row.get("rtol", 1e-5)),
                float(row.get("atol", 1e-6)),
                row.get("equal", "values"),
                row.get("consumer", "").strip("\n"),
                tuple((name, tuple(may)) for name, may in row.get("fits", {}).items()),
            )
    return found


@cache
def _by_operator() -> Mapping[str, tuple[Workaround, ...]]:
    table: dict[str, list[Workaround]] = {}
    for workaround in workarounds().values():
        for operator in workaround.operators:
            table.setdefault(operator, []).append(workaround)
    return {operator: tuple(rows) for operator, rows in table.items()}


def workarounds_for(operator: str, path: str) -> tuple[Workaround, ...]:
    """The workarounds for an overload, or for the family it belongs to."""
    table = _by_operator()
    base = operator.partition(".")[0]
    rows = dict.fromkeys(
        (*table.get(operator, ()), *table.get(base, ()), *table.get(base.removesuffix("_"), ()))
    )
    return tuple(row for row in rows if path in row.paths)
