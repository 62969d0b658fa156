"""Reading ``rules/``. Parsing TOML takes most of a second; a copy of what it gives is kept as JSON
in the user's cache folder, keyed by the digest of the files."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from neuronport import caches
from neuronport.data import data_folder
from neuronport.findings import Confidence, Effort, Evidence
from neuronport.rulebook import model
from neuronport.rulebook.model import Fixture, Rulebook, RuleError, Spec

_NOT_RULES = frozenset(("targets", "understanding", "operators"))
_PATHS = ("native", "xla")
_RULE_KEYS = frozenset(
    [
        "id",
        "title",
        "area",
        "effort",
        "why",
        "verdict",
        "guarded",
        "replacement",
        "fix",
        "evidence",
        "fires",
        "silent",
        "confidence",
    ]
)
_ROW_KEYS = frozenset(
    [
        "name",
        "also",
        "variant",
        "native",
        "xla",
        "kind",
        "replacement",
        "evidence",
        "fires",
        "silent",
        "on",
        "when",
        "unknown",
        "guarded",
        "confidence",
        "distinctive",
        "area",
        "effort",
        "fix",
        "note",
        "removed",
        "title",
        "why",
    ]
)


@cache
def rulebook() -> Rulebook:
    """The shipped rules.

    Raises RuleError: a rule is not written as the form says; the message names the file.
    """
    return build(data_folder("rules"))


def build(folder: Path) -> Rulebook:
    """The rulebook of a folder of rules."""
    files = list(_files(folder))
    digest = hashlib.sha256()
    contents = []
    for path in files:
        data = path.read_bytes()
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + data + b"\0")
        contents.append(data)
    key = digest.hexdigest()
    raw = _cached(key, folder, files, contents)
    rules: dict[str, Spec] = {}
    rows: dict[str, Spec] = {}
    for name, document in raw.items():
        specs = _table(document, name) if "namespace" in document else [_rule(document, name)]
        for spec in specs:
            known = rules.get(spec.id) or rows.get(spec.id)
            if known is not None:
                raise RuleError(f"{name}: {spec.id} is already defined in {known.file}")
            (rows if spec.name else rules)[spec.id] = spec
    return _index(key[:16], rules, rows)


def _files(folder: Path) -> Iterator[Path]:
    for area in sorted(p for p in folder.iterdir() if p.is_dir() and p.name not in _NOT_RULES):
        for base, _, names in sorted(os.walk(area)):
            for name in sorted(names):
                if name.endswith(".toml"):
                    yield Path(base, name)


def _cached(
    key: str, folder: Path, files: list[Path], contents: list[bytes]
) -> dict[str, dict[str, Any]]:
    cached = caches.read("rules", key + ".json")
    if cached is not None:
        try:
            loaded: dict[str, dict[str, Any]] = json.loads(cached)
            return loaded
        except ValueError:
            pass
    raw = {}
    for path, data in zip(files, contents, strict=True):
        name = path.relative_to(folder).as_posix()
        try:
            raw[name] = tomllib.loads(data.decode("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise RuleError(f"rules/{name}: {error}") from None
    caches.write("rules", key + ".json", json.dumps(raw).encode())
    return raw


def _fixtures(raw: Any, where: str) -> tuple[Fixture, ...]:
    result = []
    for item in raw or ():
        if isinstance(item, str):
            code = item.strip("\n") + "\n"
            result.append(Fixture(code, (code.count("\n"),)))
        else:
            code = str(item["code"]).lstrip("\n")
            result.append(
                Fixture(
                    code,
                    tuple(item.get("lines", ())),
                    item.get("file", "case.py"),
                    item.get("target", ""),
                )
            )
    del where
    return tuple(result)


def _by_path(raw: Any, where: str) -> dict[str, tuple[model.Window, ...]]:
    if raw is None:
        return {}
    if isinstance(raw, str | list):
        raw = dict.fromkeys(_PATHS, raw)
    return {path: model.windows(word, where) for path, word in raw.items()}


def _texts(raw: Any) -> dict[str, str]:
    if isinstance(raw, str):
        return dict.fromkeys(_PATHS, raw)
    return {str(k): str(v) for k, v in (raw or {}).items()}


def _effort(raw: str, where: str) -> Effort:
    try:
        return Effort(raw)
    except ValueError:
        raise RuleError(f"{where}: unknown effort {raw!r}") from None


def _check_keys(raw: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    unknown = set(raw) - known
    if unknown:
        raise RuleError(f"{where}: unknown key: {', '.join(sorted(unknown))}")


def _rule(raw: dict[str, Any], file: str) -> Spec:
    where = f"rules/{file}"
    _check_keys(raw, _RULE_KEYS, where)
    for key in ("id", "title", "area", "effort", "why", "verdict"):
        if key not in raw:
            raise RuleError(f"{where}: {key} is missing")
    if Path(file).stem != raw["id"] or Path(file).parts[0] != raw["area"]:
        raise RuleError(f"{where}: the file is to be named {raw['area']}/{raw['id']}.toml")
    return Spec(
        id=raw["id"],
        title=raw["title"],
        area=raw["area"],
        effort=_effort(raw["effort"], where),
        why=raw["why"].strip(),
        verdicts=_by_path(raw["verdict"], where),
        guarded=_by_path(raw.get("guarded"), where),
        replacement=_texts(raw.get("replacement")),
        evidence=tuple(model.evidence(e, where) for e in raw.get("evidence", ())),
        fix=model.fix(raw.get("fix"), where),
        fires=_fixtures(raw.get("fires"), where),
        silent=_fixtures(raw.get("silent"), where),
        file=file,
        confidence=Confidence(raw.get("confidence", "certain")),
    )


def _table(raw: dict[str, Any], file: str) -> Iterator[Spec]:
    named: dict[str, Evidence] = {
        key: model.evidence(row, f"rules/{file}: evidence {key}")
        for key, row in raw.get("evidence", {}).items()
    }
    templates = raw.get("silent", ())
    for row in raw.get("row", ()):
        name = row.get("name", "?")
        where = f"rules/{file}: {name}"
        _check_keys(row, _ROW_KEYS, where)
        cited = []
        for key in row.get("evidence", ()):
            if key not in named:
                raise RuleError(f"{where}: no evidence named {key!r} in this file")
            cited.append(named[key])
        base = name.removesuffix(".*")
        last = base.rpartition(".")[2].rpartition(":")[2]
        silent = [
            t.replace("{name}", base).replace("{last}", last) if isinstance(t, str) else t
            for t in templates
        ]
        on = row.get("on") or _manner(base)
        suffix = f"#{on}" if on == "import" else ""
        if "variant" in row:
            suffix += f":{row['variant']}"
        yield Spec(
            id=f"api/{name}{suffix}",
            title=row.get("title", f"{raw.get('title', raw['namespace'])}: {name}"),
            area=row.get("area", raw.get("area", "libraries")),
            effort=_effort(row.get("effort", raw.get("effort", "minutes")), where),
            why=row.get("why", row.get("note", "")),
            verdicts={p: model.windows(row[p], where) for p in _PATHS if p in row},
            guarded=_by_path(row.get("guarded"), where),
            replacement=_texts(row.get("replacement")),
            evidence=tuple(cited),
            fix=model.fix(row.get("fix"), where),
            fires=_fixtures(row.get("fires"), where),
            silent=_fixtures([*silent, *row.get("silent", ())], where),
            file=file,
            confidence=Confidence(row.get("confidence", "certain")),
            name=name,
            also=tuple(row.get("also", ())),
            kind=row.get("kind", "none"),
            on=on,
            when=tuple(model.condition(c, where) for c in row.get("when", ())),
            unknown=row.get("unknown", ""),
            distinctive=row.get("distinctive", False),
            note=row.get("note", ""),
        )


def _manner(name: str) -> str:
    """How a row without ``on`` matches: its name tells."""
    kind, colon, _ = name.partition(":")
    if colon and kind in ("env", "command"):
        return kind
    return "method" if is_method(name) else "use"


def is_method(name: str) -> bool:
    """Whether a row's name is a method of a class: ``torch.Tensor.cuda``."""
    parts = name.split(".")
    return len(parts) > 2 and parts[-2][:1].isupper() and not parts[-2].isupper()


def _index(digest: str, rules: dict[str, Spec], rows: dict[str, Spec]) -> Rulebook:
    exact: dict[str, list[Spec]] = {}
    prefixes: dict[str, list[Spec]] = {}
    imports: dict[str, list[Spec]] = {}
    methods: dict[str, list[Spec]] = {}
    outside: dict[str, list[Spec]] = {}
    for spec in rows.values():
        for name in (spec.name, *spec.also):
            if spec.on in ("env", "command"):
                outside.setdefault(name, []).append(spec)
            elif spec.on == "import":
                imports.setdefault(name.removesuffix(".*"), []).append(spec)
            elif name.endswith(".*"):
                prefixes.setdefault(name[:-2], []).append(spec)
            else:
                exact.setdefault(name, []).append(spec)
        if spec.on == "method":
            methods.setdefault(spec.name.rpartition(".")[2], []).append(spec)
    return Rulebook(digest, rules, rows, exact, prefixes, imports, methods, outside)
