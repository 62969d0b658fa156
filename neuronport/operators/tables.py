"""Reading ``rules/operators/``: what is authored, checked row by row.

=====================  ==========================================================================
``sources.toml``       every source of evidence, once; rows cite it by id, ``id#place`` or ``id``
``torch/``             facts about PyTorch itself, written by ``tools/build_operators``: schemas,
                       what composites call, what gradients call, Python decompositions, spellings
``native/``, ``xla/``  one row per operator, stage and condition: status and evidence
``models/``            operators that well-known models reach, for ``operators coverage``
``workarounds/``       old code, new code, and what must stay equal
=====================  ==========================================================================

Rows are tab-separated text with a header, sorted; ``#`` begins a comment line. See
``docs/operator-tables.md``.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from neuronport.data import data_folder
from neuronport.findings import Confidence, EvidenceKind, Verdict
from neuronport.operators.conditions import UNKNOWN, Condition, ConditionError, parse
from neuronport.targets import version_key

STAGES = ("eager", "compiled")
DIRECTIONS = ("forward", "backward")


class TableError(ValueError):
    """A table that is not written as the format says; the message names file and line."""


class Status(StrEnum):
    """What becomes of an operator, best first."""

    DEVICE = "device"
    DECOMPOSES = "decomposes"
    SLOW = "slow"
    UNKNOWN = "unknown"
    CPU_FALLBACK = "cpu-fallback"
    UNSUPPORTED = "unsupported"

    @property
    def verdict(self) -> Verdict | None:
        """``None``: no verdict, only counted."""
        return _VERDICTS[self]


_VERDICTS: Mapping[Status, Verdict | None] = {
    Status.DEVICE: Verdict.PORTABLE,
    Status.DECOMPOSES: Verdict.PORTABLE,
    Status.SLOW: Verdict.SLOW,
    Status.UNKNOWN: None,
    Status.CPU_FALLBACK: Verdict.FALLS_BACK,
    Status.UNSUPPORTED: Verdict.BREAKS,
}
STATUS_ORDER: Mapping[Status, int] = {status: rank for rank, status in enumerate(Status)}


@dataclass(frozen=True, slots=True)
class Source:
    """Where a statement comes from."""

    id: str
    kind: EvidenceKind
    source: str
    says: str
    path: str = ""
    sdk: str = ""
    date: str = ""
    """``2026-02``; what is newer wins among equals."""
    stale: bool = False
    """True of an old build only: weaker than any later statement, never more than ``likely``."""
    confidence: Confidence = Confidence.CERTAIN
    """The most that a statement resting on this alone can be."""


@dataclass(frozen=True, slots=True)
class Row:
    """One statement about one operator on one path."""

    operator: str
    path: str
    stage: str
    """``eager``, ``compiled`` or ``*``."""
    direction: str
    """``forward``: the operator itself; ``backward``: its gradient."""
    status: Status
    when: Condition | None
    since: str
    until: str
    evidence: tuple[str, ...]
    note: str = ""
    place: str = ""
    """File and line of the row, for messages."""

    def fits(self, stage: str, direction: str, sdk: str) -> bool:
        if self.stage not in ("*", stage) or self.direction != direction:
            return False
        key = version_key(sdk)
        if self.since and key < version_key(self.since):
            return False
        return not (self.until and key > version_key(self.until))


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: str
    default: Any
    required: bool
    keyword_only: bool


@dataclass(frozen=True, slots=True)
class Schema:
    """An overload as PyTorch declares it."""

    operator: str
    kind: str
    """``kernel``: each backend has its own; ``implicit``, ``explicit``, ``structured``: written
    in terms of other operators, decomposing unless the backend registers it."""
    tags: frozenset[str]
    """``core`` (core aten), ``opinfo`` (exercised by torch's OpInfo database), ``view``, …"""
    parameters: tuple[Parameter, ...]

    @property
    def defaults(self) -> Mapping[str, Any]:
        return {p.name: p.default for p in self.parameters if not p.required}


@dataclass(frozen=True, slots=True)
class Callee:
    operator: str
    always: bool
    """Every example call reaches it; else only some."""
    given: Mapping[str, Any]
    """Argument → value it is always given; ``^name``: the caller's argument of that name;
    ``d^name``: a tensor of the same dtype as that."""


@dataclass(frozen=True, slots=True)
class StageRule:
    """A status that means another at ``stage`` of ``path``."""

    path: str
    stage: str
    status: Status
    becomes: Status
    evidence: tuple[str, ...]


Calls = Mapping[str, tuple[Callee, ...]]


@dataclass(frozen=True)
class Tables:
    sources: Mapping[str, Source]
    schemas: Mapping[str, Schema]
    bodies: Calls
    decompositions: Calls
    backwards: Calls
    rows: Mapping[tuple[str, str], tuple[Row, ...]]
    """(path, operator) → its rows."""
    spellings: Mapping[str, tuple[str, ...]]
    """``torch.sort`` → operators or families it reaches."""
    signatures: Mapping[str, tuple[Parameter, ...]]
    """Spelling → its parameters, where it is written in Python and has its own."""
    models: Mapping[str, tuple[str, ...]]
    """Model → operators its forward reaches."""
    stage_rules: tuple[StageRule, ...] = ()

    def operators(self) -> list[str]:
        return sorted({*self.schemas, *(name for _, name in self.rows)})

    @cached_property
    def functional_forms(self) -> dict[str, str]:
        """Filled by ``resolve.functional_form``, which asks often."""
        return {}

    def same_as(self, path: str, sdk: str, other: str) -> bool:
        """Whether no row of ``path`` tells two SDKs apart."""
        return self._windows(path, sdk) == self._windows(path, other)

    def _windows(self, path: str, sdk: str) -> list[bool]:
        key = version_key(sdk)
        return [key < bound for bound in self._bounds.get(path, ())]

    @cached_property
    def _bounds(self) -> Mapping[str, list[tuple[int, ...]]]:
        """Path → the versions at which a row begins, or after which it ends."""
        bounds: dict[str, set[tuple[int, ...]]] = {}
        for (path, _), rows in self.rows.items():
            for row in rows:
                if row.since:
                    bounds.setdefault(path, set()).add(version_key(row.since))
                if row.until:
                    *head, last = version_key(row.until)
                    bounds.setdefault(path, set()).add((*head, last + 1))
        return {path: sorted(found) for path, found in bounds.items()}

    @cached_property
    def families(self) -> Mapping[str, tuple[str, ...]]:
        """``aten::sort`` → every overload of it."""
        families: dict[str, list[str]] = {}
        for name in self.operators():
            families.setdefault(name.partition(".")[0], []).append(name)
        return {base: tuple(names) for base, names in families.items()}


def qualified(name: str) -> str:
    """Operators are aten's unless they say otherwise: ``sort.stable`` → ``aten::sort.stable``."""
    return name if "::" in name else f"aten::{name}"


def folder() -> Path:
    return data_folder("rules") / "operators"


def files(root: Path) -> list[Path]:
    return sorted(p for p in root.rglob("*") if p.suffix in (".tsv", ".toml") and p.is_file())


def digest(root: Path, extra: Sequence[Path] = ()) -> str:
    """Changes when a table, or the code that reads them, does."""
    hasher = hashlib.sha256()
    for file in [*files(root), *sorted(Path(__file__).parent.glob("*.py")), *extra]:
        hasher.update(file.name.encode())
        hasher.update(b"\0")
        hasher.update(file.read_bytes())
        hasher.update(b"\0")
    return hasher.hexdigest()[:24]


def rows_of(file: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of a table whose header must be ``columns``."""
    header_seen = False
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            text = line.rstrip("\n")
            if not text or text.startswith("#"):
                continue
            cells = text.split("\t")
            if not header_seen:
                if cells != list(columns):
                    raise TableError(f"{file.name}:{number}: header must be {' '.join(columns)}")
                header_seen = True
                continue
            if len(cells) > len(columns):
                raise TableError(
                    f"{file.name}:{number}: {len(cells)} cells, {len(columns)} columns"
                )
            yield number, cells + [""] * (len(columns) - len(cells))


STATUS_COLUMNS = ("operator", "stage", "status", "when", "sdk", "evidence", "note")
SCHEMA_COLUMNS = ("operator", "kind", "tags", "arguments")
CALL_COLUMNS = ("operator", "always", "sometimes")
SPELLING_COLUMNS = ("spelling", "operators")
MODEL_COLUMNS = ("model", "operators")
SIGNATURE_COLUMNS = ("spelling", "parameters")


def read_sources(file: Path) -> dict[str, Source]:
    with file.open("rb") as stream:
        return _sources(tomllib.load(stream), file)


def _sources(data: Mapping[str, Any], file: Path) -> dict[str, Source]:
    sources = {}
    for name, row in data.items():
        try:
            sources[name] = Source(
                name,
                EvidenceKind(row["kind"]),
                row["source"],
                row["says"],
                row.get("path", ""),
                row.get("sdk", ""),
                row.get("date", ""),
                row.get("stale", False),
                Confidence(row.get("confidence", "certain")),
            )
        except (KeyError, ValueError) as error:
            raise TableError(f"{file.name}: source {name}: {error}") from None
    return sources


def read_stage_rules(file: Path, sources: Mapping[str, Source]) -> tuple[StageRule, ...]:
    with file.open("rb") as stream:
        data = tomllib.load(stream)
    rules = tuple(
        StageRule(
            row["path"],
            row["stage"],
            Status(row["from"]),
            Status(row["to"]),
            tuple(row["evidence"]),
        )
        for row in data.get("rule", ())
    )
    for rule in rules:
        for name in rule.evidence:
            if name not in sources:
                raise TableError(f"{file.name}: unknown source {name}")
    return rules


def read_rows(file: Path, path: str, sources: Mapping[str, Source]) -> list[Row]:
    rows = []
    for number, cells in rows_of(file, STATUS_COLUMNS):
        operator, stage, status, when, sdk, evidence, note = cells
        operator = qualified(operator)
        place = f"{path}/{file.name}:{number}"
        since, _, until = sdk.partition("-") if "-" in sdk else (sdk, "", sdk)
        cited = tuple(evidence.split())
        if not cited:
            raise TableError(f"{place}: {operator}: no evidence")
        for name in cited:
            if name.partition("#")[0] not in sources:
                raise TableError(f"{place}: {operator}: unknown source {name}")
        stage, _, direction = stage.partition(".")
        if stage not in ("*", *STAGES) or direction not in ("", "backward"):
            raise TableError(f"{place}: {operator}: unknown stage {cells[1]!r}")
        try:
            condition = parse(when) if when else None
        except ConditionError as error:
            raise TableError(f"{place}: {operator}: {when!r}: {error}") from None
        try:
            word = Status(status)
        except ValueError:
            raise TableError(f"{place}: {operator}: unknown status {status!r}") from None
        rows.append(
            Row(
                operator,
                path,
                stage,
                direction or "forward",
                word,
                condition,
                since,
                until,
                cited,
                note,
                place,
            )
        )
    return rows


def _value(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text.startswith('"'):
        return text[1:-1]
    if text.startswith("["):
        inner = text[1:-1]
        return [_value(part) for part in inner.split(",")] if inner else []
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


_CONSTANTS: Mapping[str, Any] = {"none": None, "true": True, "false": False}


def written(value: Any) -> str:
    """A value as ``_value`` reads it back."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    if isinstance(value, str) and (value in _CONSTANTS or not value):
        return f'"{value}"'  # a word, not the constant
    if isinstance(value, (list, tuple)):
        return f"[{','.join(written(v) for v in value)}]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value)) if value == 0 or abs(value) < 1e6 else repr(value)
    return str(value)


def read_schemas(file: Path) -> dict[str, Schema]:
    schemas = {}
    for number, (operator, kind, tags, arguments) in rows_of(file, SCHEMA_COLUMNS):
        parameters = []
        keyword_only = False
        for text in arguments.split():
            if text == "*":
                keyword_only = True
                continue
            head, equals, default = text.partition("=")
            name, colon, type_ = head.partition(":")
            if not colon:
                raise TableError(f"{file.name}:{number}: {operator}: {text!r} has no type")
            parameters.append(
                Parameter(
                    name, type_, _value(default) if equals else None, not equals, keyword_only
                )
            )
        operator = qualified(operator)
        schemas[operator] = Schema(operator, kind, frozenset(tags.split()), tuple(parameters))
    return schemas


def read_signatures(file: Path) -> dict[str, tuple[Parameter, ...]]:
    signatures = {}
    for _, (spelling, parameters) in rows_of(file, SIGNATURE_COLUMNS):
        found = []
        keyword_only = False
        for text in parameters.split():
            if text == "*":
                keyword_only = True
                continue
            name, equals, default = text.partition("=")
            # `?`: there is a default that is no plain value
            value = UNKNOWN if default == "?" else _value(default)
            found.append(Parameter(name, "", value if equals else None, not equals, keyword_only))
        signatures[spelling] = tuple(found)
    return signatures


def read_calls(file: Path) -> dict[str, tuple[Callee, ...]]:
    calls = {}
    for _, (operator, always, sometimes) in rows_of(file, CALL_COLUMNS):
        calls[qualified(operator)] = tuple(
            _callee(text, constant)
            for cell, constant in ((always, True), (sometimes, False))
            for text in cell.split()
        )
    return calls


def _callee(text: str, always: bool) -> Callee:
    name, _, rest = text.partition("(")
    given = {}
    if rest:
        for part in rest.removesuffix(")").split(";"):
            key, _, value = part.partition("=")
            given[key] = value if value.startswith(("^", "d^")) else _value(value)
    return Callee(qualified(name), always, given)


def read_overlay(
    file: Path, tables: Tables
) -> tuple[dict[str, Source], list[Row], tuple[str, ...]]:
    """The sources and rows of an overlay, and the operators it names that no table has.

    An overlay may name a family: reports of tools often do. Its rows then speak of every overload.
    """
    try:
        with file.open("rb") as stream:
            data = tomllib.load(stream)
    except (ValueError, RecursionError) as error:
        raise TableError(f"{file.name}: not valid TOML: {error}") from None
    _check_overlay(data, file)
    prefix = hashlib.sha256(file.read_bytes()).hexdigest()[:6]
    sources = {
        f"{name}-{prefix}": replace(source, id=f"{name}-{prefix}")
        for name, source in _sources(data.get("source", {}), file).items()
    }
    rows: list[Row] = []
    unknown = []
    for row in data.get("row", ()):
        operator = qualified(row["operator"])
        if operator in tables.schemas or operator.startswith("hlo::"):
            operators: tuple[str, ...] = (operator,)
        else:
            operators = ()
        if operator.partition(".")[0] == operator:
            operators = tuple(
                name
                for name in tables.families.get(operator, operators)
                if name == operator or "out" not in tables.schemas[name].tags
            )
        if not operators:
            unknown.append(operator)
        evidence = tuple(f"{name}-{prefix}" for name in row["evidence"])
        for name in (*evidence,):
            if name not in sources:
                raise TableError(f"{file.name}: {operator}: unknown source")
        try:
            when = parse(row["when"]) if row.get("when") else None
            status = Status(row["status"])
        except ValueError as error:
            raise TableError(f"{file.name}: {operator}: {error}") from None
        rows += [
            Row(
                name, row["path"], row["stage"], "forward", status, when, "", "", evidence,
                row.get("note", ""), file.name,
            )
            for name in operators
        ]  # fmt: skip
    return sources, rows, tuple(unknown)


def _check_overlay(data: Mapping[str, Any], file: Path) -> None:
    """Raises TableError: not the form that `operators observe` writes."""
    rows, sources = data.get("row", []), data.get("source", {})
    if not isinstance(rows, list) or not isinstance(sources, dict):
        raise TableError(f"{file.name}: no overlay: it needs [[row]] and [source.NAME]")
    for number, row in enumerate(rows, 1):
        wanted = ("operator", "path", "stage", "status")
        texts = isinstance(row, dict) and all(isinstance(row.get(key), str) for key in wanted)
        evidence = row.get("evidence") if texts else None
        if not isinstance(evidence, list) or not all(isinstance(e, str) for e in evidence):
            raise TableError(
                f"{file.name}: row {number} needs {', '.join(wanted)} and a list evidence"
            )
    for name, source in sources.items():
        if not isinstance(source, dict):
            raise TableError(f"{file.name}: source {name} is to be a table")


def with_overlays(tables: Tables, overlays: Sequence[Path]) -> Tables:
    """The tables with what was observed laid over them."""
    sources = dict(tables.sources)
    rows = {key: list(value) for key, value in tables.rows.items()}
    for file in overlays:
        more, observed, _ = read_overlay(file, tables)
        sources |= more
        for row in observed:
            rows.setdefault((row.path, row.operator), []).append(row)
    return replace(tables, sources=sources, rows={key: tuple(value) for key, value in rows.items()})


def load(root: Path | None = None, overlays: Sequence[Path] = ()) -> Tables:
    """Everything under ``rules/operators/``, checked, with ``overlays`` over it.

    Raises TableError: a row does not follow the format, or says something of nothing known.
    """
    root = root or folder()
    tables = _load(root)
    return with_overlays(tables, overlays) if overlays else tables


def _load(root: Path) -> Tables:
    sources = read_sources(root / "sources.toml")
    schemas: dict[str, Schema] = {}
    for file in sorted((root / "torch").glob("schemas*.tsv")):
        schemas |= read_schemas(file)
    calls: dict[str, dict[str, tuple[Callee, ...]]] = {}
    for kind in ("bodies", "decompositions", "backwards"):
        calls[kind] = {}
        for file in sorted((root / "torch").glob(f"{kind}*.tsv")):
            calls[kind] |= read_calls(file)
    rows: dict[tuple[str, str], list[Row]] = {}
    for path in ("native", "xla"):
        for file in sorted((root / path).glob("*.tsv")):
            for row in read_rows(file, path, sources):
                if row.operator not in schemas and not row.operator.startswith("hlo::"):
                    raise TableError(f"{row.place}: unknown operator {row.operator}")
                rows.setdefault((path, row.operator), []).append(row)
    spellings: dict[str, tuple[str, ...]] = {}
    # what people wrote about a spelling replaces what running it showed
    for file in (root / "torch" / "spellings.tsv", root / "spellings.tsv"):
        for _, (spelling, operators) in rows_of(file, SPELLING_COLUMNS):
            spellings[spelling] = tuple(qualified(name) for name in operators.split())
    signatures: dict[str, tuple[Parameter, ...]] = {}
    for file in sorted((root / "torch").glob("signatures*.tsv")):
        signatures |= read_signatures(file)
    models: dict[str, tuple[str, ...]] = {}
    for file in sorted((root / "models").glob("*.tsv")):
        for _, (model, operators) in rows_of(file, MODEL_COLUMNS):
            models[model] = tuple(qualified(name) for name in operators.split())
    return Tables(
        sources,
        schemas,
        calls["bodies"],
        calls["decompositions"],
        calls["backwards"],
        {key: tuple(value) for key, value in rows.items()},
        spellings,
        signatures,
        models,
        read_stage_rules(root / "stages.toml", sources),
    )
