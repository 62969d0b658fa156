"""The table as a whole: lists, what changed between SDKs, how much is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuronport.operators import index as indices
from neuronport.operators import tables as table_files
from neuronport.operators.index import Index
from neuronport.operators.names import find
from neuronport.operators.tables import DIRECTIONS, STAGES, Status
from neuronport.targets import Target

NO_GRADIENT = "none"
STATUSES = (*(str(status) for status in Status), NO_GRADIENT)


@dataclass(frozen=True, slots=True)
class ListRow:
    operator: str
    target: str
    stage: str
    forward: str
    backward: str
    confidence: str


@dataclass(frozen=True, slots=True)
class Change:
    operator: str
    stage: str
    direction: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Undated:
    rows: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Share:
    set: str
    target: str
    stage: str
    direction: str
    total: int
    counts: Mapping[str, int]

    @property
    def unknown_share(self) -> float:
        return self.counts.get(str(Status.UNKNOWN), 0) / self.total if self.total else 0.0


_NOTES = {
    "native": (
        "SDK 2.33's release notes do not itemise operators; TorchNeuron's own table, "
        "docs/torch_api_compatibility.md in its repository, does.",
    ),
    "xla": ("torch_xla stayed at 2.9.0 for the last SDKs of this path.",),
}


def _base(body: Mapping[str, Any], target: Target, key: str) -> Mapping[str, Any] | None:
    claims = body["variants"][body["targets"][f"{target.path}@{target.sdk}"]][key]
    return next((c for c in claims if "w" not in c and not c.get("u")), None) or (
        {"s": str(Status.UNKNOWN), "c": "possible"} if claims else None
    )


def word(body: Mapping[str, Any], target: Target, key: str) -> str:
    base = _base(body, target, key)
    if base is not None:
        return str(base["s"])
    if key.endswith("forward") or body.get("differentiable", True):
        return str(Status.UNKNOWN)
    return NO_GRADIENT


def bodies(index: Index) -> Iterator[tuple[str, dict[str, Any]]]:
    for operator in index.operators():
        body = index.body(operator)
        if body is not None:
            yield operator, body


def rows(
    targets: Sequence[Target],
    stage: str | None = None,
    *,
    core: bool = False,
    index: Index | None = None,
) -> list[ListRow]:
    """Every operator on every target at every stage."""
    found = []
    for operator, body in bodies(index or indices.shared()):
        if core and "core" not in body.get("tags", ()):
            continue
        for target in targets:
            for at in [stage] if stage else STAGES:
                base = _base(body, target, f"{at}.forward") or {}
                found.append(
                    ListRow(
                        operator,
                        str(target),
                        at,
                        word(body, target, f"{at}.forward"),
                        word(body, target, f"{at}.backward"),
                        str(base.get("c", "")),
                    )
                )
    return found


def changes(before: Target, after: Target) -> list[Change]:
    """Statuses that differ between two SDKs of one path."""
    found = []
    for operator, body in bodies(indices.shared()):
        for stage in STAGES:
            for direction in DIRECTIONS:
                key = f"{stage}.{direction}"
                old, new = word(body, before, key), word(body, after, key)
                if old != new:
                    found.append(Change(operator, stage, direction, old, new))
    return found


def undated(path: str) -> Undated:
    """How many statements of a path are tied to no SDK."""
    tables = table_files.load()
    count = sum(
        not (row.since or row.until)
        for (where, _), listed in tables.rows.items()
        if where == path
        for row in listed
    )
    return Undated(count, _NOTES[path])


def coverage(
    targets: Sequence[Target],
    stage: str | None = None,
    models: Sequence[str] = (),
    operators: Sequence[str] = (),
    index: Index | None = None,
) -> list[Share]:
    """Shares by status of core aten, of what OpInfo exercises, of everything, of models, and of
    ``operators``, which may be spelled in any way.

    Raises KeyError: a model is not in the list; UnknownOperatorError.
    """
    index = index or indices.shared()
    every = dict(bodies(index))
    sets: dict[str, list[str]] = {
        "core aten": [n for n, b in every.items() if "core" in b.get("tags", ())],
        "OpInfo": [n for n, b in every.items() if "opinfo" in b.get("tags", ())],
        "all": [n for n in every if not n.startswith("hlo::")],
    }
    known = index.models()
    for name in models:
        sets[f"model {name}"] = [n for n in known[name] if n in every]
    if operators:
        named = {reached.operator for name in operators for reached in find(index, name)}
        sets["given"] = sorted(
            {n for base in named for n in ([base] if base in every else index.family(base))}
        )
    if not models and not operators and known:
        sets["models"] = sorted({n for names in known.values() for n in names if n in every})
    shares = []
    for name, members in sets.items():
        for target in targets:
            for at in [stage] if stage else STAGES:
                for direction in DIRECTIONS:
                    counts = Counter(
                        word(every[operator], target, f"{at}.{direction}") for operator in members
                    )
                    shares.append(Share(name, str(target), at, direction, len(members), counts))
    return shares
