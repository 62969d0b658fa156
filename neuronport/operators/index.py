"""The resolved tables as a file in the user's cache folder: a look-up costs milliseconds.

Its name carries the digest of the tables and of the code that resolves them, so that it can never
be stale. Where the folder cannot be written the index lives in memory, for this process.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from neuronport import caches, prepared, targets
from neuronport.operators import tables as table_files
from neuronport.operators.conditions import UNKNOWN
from neuronport.operators.resolve import Claim, Resolver
from neuronport.operators.tables import Status, Tables

_LAYOUT = """
create table operator (name text primary key, family text, body text);
create index family on operator (family);
create table spelling (name text primary key, operators text, parameters text);
create table model (name text primary key, operators text);
create table source (id text primary key, body text);
create table notable (name text primary key);
"""


_KEPT = 6
"""How many indexes stay: one for each set of overlays somebody works with."""


class Index:
    """Read-only access to resolved tables."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._bodies: dict[str, dict[str, Any] | None] = {}
        self._families: dict[str, list[str]] = {}
        self._spellings: dict[str, tuple[tuple[str, ...], Sequence[Sequence[Any]]]] = {}

    def body(self, operator: str) -> dict[str, Any] | None:
        """``{"schema": …, "variants": […], "targets": {"native@2.33": 0}}``."""
        if operator not in self._bodies:
            row = self._connection.execute(
                "select body from operator where name = ?", (operator,)
            ).fetchone()
            self._bodies[operator] = None if row is None else json.loads(row[0])
        return self._bodies[operator]

    def family(self, base: str) -> list[str]:
        if base not in self._families:
            rows = self._connection.execute(
                "select name from operator where family = ? order by name", (base,)
            )
            self._families[base] = [name for (name,) in rows]
        return self._families[base]

    def operators(self) -> list[str]:
        return [n for (n,) in self._connection.execute("select name from operator order by name")]

    def spelled(self, spelling: str) -> tuple[str, ...]:
        return self._spelling(spelling)[0]

    def signature(self, spelling: str) -> Sequence[Sequence[Any]]:
        """``[name, required, keyword only, default if plain]`` of what is written in Python."""
        return self._spelling(spelling)[1]

    def _spelling(self, spelling: str) -> tuple[tuple[str, ...], Sequence[Sequence[Any]]]:
        known = self._spellings.get(spelling)
        if known is None:
            row = self._connection.execute(
                "select operators, parameters from spelling where name = ?", (spelling,)
            ).fetchone()
            known = (tuple(row[0].split()), json.loads(row[1])) if row else ((), ())
            self._spellings[spelling] = known
        return known

    def spellings(self) -> dict[str, tuple[str, ...]]:
        rows = self._connection.execute("select name, operators from spelling order by name")
        return {name: tuple(operators.split()) for name, operators in rows}

    def notable(self) -> list[str]:
        """The spellings of which something other than "runs on the device" is said anywhere."""
        return [n for (n,) in self._connection.execute("select name from notable order by name")]

    def models(self) -> dict[str, tuple[str, ...]]:
        rows = self._connection.execute("select name, operators from model order by name")
        return {name: tuple(operators.split()) for name, operators in rows}

    @cached_property
    def sources(self) -> dict[str, dict[str, Any]]:
        rows = self._connection.execute("select id, body from source order by id")
        return {name: json.loads(body) for name, body in rows}


def open_index(
    root: Path | None = None, folder: Path | None = None, overlays: Sequence[Path] = ()
) -> Index:
    """The index of the tables under ``root`` (default: the ones that ship), made if need be.

    ``overlays`` are files of observations (``neuronport operators observe``) laid over them.
    """
    root = root or table_files.folder()
    name = f"{table_files.digest(root, [*_extra(), *overlays])}.sqlite"
    base = folder or caches.folder()
    shipped = prepared.file(prepared.OPERATORS, name)
    if folder is None and shipped.is_file():
        file: Path | None = shipped
    else:
        file = base / prepared.OPERATORS / name if base is not None else None
    if file is not None:
        with contextlib.suppress(OSError, sqlite3.Error):
            if not file.exists():
                _write(file, table_files.load(root, overlays))
            connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
            connection.execute("select count(*) from source").fetchone()
            return Index(connection)
    connection = sqlite3.connect(":memory:")
    _fill(connection, table_files.load(root, overlays))
    return Index(connection)


@cache
def shared() -> Index:
    """The index of the tables that ship, opened once in a process."""
    return open_index()


def _extra() -> list[Path]:
    # the SDKs and chips that claims are resolved for
    return [table_files.folder().parent / "targets" / "targets.toml"]


def _write(file: Path, tables: Tables) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, suffix=".part")
    os.close(handle)
    part = Path(name)
    try:
        connection = sqlite3.connect(part)
        _fill(connection, tables)
        connection.close()
        part.replace(file)  # another process may have done the same: both are right
    finally:
        part.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        others = sorted(file.parent.glob("*.sqlite"), key=lambda p: p.stat().st_mtime)
        for old in others[:-_KEPT]:
            old.unlink()


def _fill(connection: sqlite3.Connection, tables: Tables) -> None:
    connection.executescript(_LAYOUT)
    connection.executemany("insert into operator values (?, ?, ?)", _operators(tables))
    connection.executemany(
        "insert into spelling values (?, ?, ?)",
        (
            (
                name,
                " ".join(operators),
                json.dumps(
                    [
                        [p.name, p.required, p.keyword_only, p.default]
                        if p.default is not UNKNOWN
                        else [p.name, p.required, p.keyword_only]
                        for p in tables.signatures.get(name, ())
                    ]
                ),
            )
            for name, operators in tables.spellings.items()
        ),
    )
    connection.executemany("insert into notable values (?)", _notable(connection, tables))
    connection.executemany(
        "insert into model values (?, ?)",
        ((name, " ".join(operators)) for name, operators in tables.models.items()),
    )
    connection.executemany(
        "insert into source values (?, ?)",
        (
            (
                source.id,
                json.dumps(
                    {
                        "kind": source.kind,
                        "source": source.source,
                        "says": source.says,
                        "path": source.path,
                        "sdk": source.sdk,
                        "date": source.date,
                        "stale": source.stale,
                    }
                ),
            )
            for source in tables.sources.values()
        ),
    )
    connection.commit()


def _operators(tables: Tables) -> Iterable[tuple[str, str, str]]:
    resolvers: dict[str, Resolver] = {}
    for path in targets.paths().values():
        made: list[Resolver] = []
        for sdk in path.sdks:
            same = next((r for r in made if tables.same_as(path.name, r.sdk, sdk)), None)
            if same is None:
                same = Resolver(tables, path.name, sdk)
                made.append(same)
            resolvers[f"{path.name}@{sdk}"] = same
    for operator in tables.operators():
        variants: list[dict[str, Any]] = []
        where: dict[str, int] = {}
        done: dict[Resolver, int] = {}
        for name, resolver in resolvers.items():
            if resolver not in done:
                variant = _variant(operator, resolver)
                if variant not in variants:
                    variants.append(variant)
                done[resolver] = variants.index(variant)
            where[name] = done[resolver]
        schema = tables.schemas.get(operator)
        body: dict[str, Any] = {"variants": variants, "targets": where}
        if schema is not None:
            body |= {
                "kind": schema.kind,
                "tags": sorted(schema.tags),
                "parameters": [
                    [p.name, p.type, p.default, p.required, p.keyword_only]
                    for p in schema.parameters
                ],
                "differentiable": any(variant["eager.backward"] for variant in variants),
            }
        yield operator, operator.partition(".")[0], json.dumps(body, separators=(",", ":"))


def _variant(operator: str, resolver: Resolver) -> dict[str, Any]:
    """``"eager.forward"`` … → claims."""
    return {
        f"{stage}.{direction}": [
            _packed(claim)
            for claim in (
                resolver.forward(operator, stage)
                if direction == "forward"
                else resolver.backward(operator, stage)
            )
        ]
        for stage in table_files.STAGES
        for direction in table_files.DIRECTIONS
    }


def _notable(connection: sqlite3.Connection, tables: Tables) -> list[tuple[str]]:
    """What a rule over source has to look out for, so that it need not look at every ``view``."""
    worse = {str(s) for s in Status if s.verdict is not None and not s.verdict.is_reference}
    families: dict[str, bool] = {}
    for name, family, text in connection.execute("select name, family, body from operator"):
        said = any(
            claim["s"] in worse
            for variant in json.loads(text)["variants"]
            for stage, claims in variant.items()
            if stage.endswith(".forward")
            for claim in claims
        )
        families[name] = families.get(name, False) or said
        families[family] = families.get(family, False) or said
    return [
        (name,)
        for name, operators in sorted(tables.spellings.items())
        if any(families.get(operator.partition("?")[0]) for operator in operators)
    ]


def _packed(claim: Claim) -> Mapping[str, Any]:
    row: dict[str, Any] = {
        "s": claim.status,
        "c": claim.confidence,
        "e": list(claim.evidence),
    }
    if claim.when is not None:
        row["w"] = str(claim.when)
    if claim.uncertain:
        row["u"] = True
    if claim.via:
        row["v"] = list(claim.via)
    if claim.note:
        row["n"] = claim.note
    if claim.contradicted_by:
        row["x"] = [
            [status, list(evidence), note] for status, evidence, note in claim.contradicted_by
        ]
    return row
