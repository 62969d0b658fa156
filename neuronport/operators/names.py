"""Which operators a name means: a dispatcher's name, a Python spelling, an HLO opcode.

``aten::sort.stable`` · ``aten.sort.stable`` · ``torch.ops.aten.sort.stable`` · ``aten::sort`` (every
overload) · ``sort`` · ``torch.sort`` · ``F.grid_sample`` · ``Tensor.masked_fill_`` · ``nn.Conv2d`` ·
``hlo::cholesky``.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from neuronport.operators.index import Index


class UnknownOperatorError(LookupError):
    """A name that no table has."""

    def __init__(self, name: str, close: list[str]) -> None:
        hint = f"; did you mean {', '.join(close)}?" if close else ""
        super().__init__(f"unknown operator {name!r}{hint}")
        self.name = name
        self.close = close


@dataclass(frozen=True, slots=True)
class Reached:
    """One operator that a name reaches."""

    operator: str
    """An overload, or a family (``aten::sort``) of which the arguments decide."""
    always: bool = True
    when: str = ""
    """Condition on the arguments of the spelling; empty: none, or not known if not ``always``."""


_PREFIXES = (
    ("F.", "torch.nn.functional."),
    ("nn.functional.", "torch.nn.functional."),
    ("nn.", "torch.nn."),
    ("Tensor.", "torch.Tensor."),
)


def canonical(name: str) -> str:
    """The full Python spelling of usual abbreviations."""
    for short, full in _PREFIXES:
        if name.startswith(short):
            return full + name[len(short) :]
    return name


def find(index: Index, name: str) -> list[Reached]:
    """What ``name`` reaches.

    Raises UnknownOperatorError, with names that look alike.
    """
    spelled = index.spelled(canonical(name))
    if spelled:
        return [parse_reached(text) for text in spelled]
    for candidate in _dispatcher_names(name):
        if index.body(candidate) is not None:
            base = candidate.partition(".")[0]
            if candidate == base and len(index.family(base)) > 1 and not name.endswith(".default"):
                return [Reached(base)]
            return [Reached(candidate)]
        if index.family(candidate):
            return [Reached(candidate)]
    raise UnknownOperatorError(name, _close(index, name))


def parse_reached(text: str) -> Reached:
    """``aten::pad`` · ``aten::pad?`` (some calls) · ``aten::pad?mode~==~constant``."""
    operator, question, when = text.partition("?")
    return Reached(operator, not question, when.replace("~", " "))


def _dispatcher_names(name: str) -> list[str]:
    plain = name.removeprefix("torch.ops.")
    candidates = []
    if "::" in plain:
        candidates.append(plain)
    else:
        head, _, rest = plain.partition(".")
        if rest:
            candidates.append(f"{head}::{rest}")
        candidates += [f"aten::{plain}", f"hlo::{plain}"]
    return [c.removesuffix(".default") for c in candidates] + candidates


def _close(index: Index, name: str) -> list[str]:
    last = name.replace("::", ".").rpartition(".")[2]
    spellings = index.spellings()
    by_last: dict[str, str] = {}
    for full in [*index.operators(), *spellings]:
        by_last.setdefault(full.replace("::", ".").split(".")[-1], full)
    found = difflib.get_close_matches(last, list(by_last), n=3, cutoff=0.75)
    return [by_last[f] for f in found]
