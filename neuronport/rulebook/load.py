"""Reading ``rules/``.

Thousands of rows take seconds to parse and check, so what matching needs of them is kept as one
JSON file in the user's cache folder, keyed by the names, sizes and times of the files; a row becomes
a :class:`Spec` only when something asks for it. :func:`whole_rulebook` reads everything, cases
included, and checks the form.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from neuronport import __version__, caches, prepared
from neuronport.data import data_folder
from neuronport.findings import Confidence, Effort, Evidence, Verdict
from neuronport.rulebook import model
from neuronport.rulebook.model import Fixture, Rulebook, RuleError, Spec
from neuronport.targets import version_key

_NOT_RULES = frozenset(("targets", "understanding", "operators", "compile"))
_FOLDER = {"operators": "operator-support"}
"""Where the rules of an area are whose name a folder of tables has taken."""
_PATHS = ("native", "xla")
_COMPACT_FORM = 3
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
        "supersedes",
        "yields",
        "ways",
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
        "seldom",
        "area",
        "effort",
        "fix",
        "note",
        "answer",
        "said",
        "removed",
        "raises",
        "supersedes",
        "title",
        "ways",
        "why",
    ]
)


@cache
def rulebook() -> Rulebook:
    """The shipped rules, without their cases.

    Raises RuleError: a rule is not written as the form says; the message names the file.
    """
    folder = data_folder("rules")
    key = _signature(folder)
    cached = caches.read("rules", key + ".json")
    if cached is not None:
        try:
            return _lazy(json.loads(cached))
        except (ValueError, KeyError, TypeError, AttributeError):
            pass  # of another form, or damaged: made again
    compact = _shipped(folder) or _compact(folder)
    caches.write("rules", key + ".json", json.dumps(compact).encode())
    return _lazy(compact)


@cache
def whole_rulebook() -> Rulebook:
    """The shipped rules with their cases, every one read and checked.

    Raises RuleError: as :func:`rulebook`.
    """
    return build(data_folder("rules"))


def _signature(folder: Path) -> str:
    """Changes when any rule file does."""
    digest = hashlib.sha256(f"{_COMPACT_FORM} {__version__} {folder}".encode())
    for path in _files(folder):
        state = path.stat()
        digest.update(f"\0{path}\0{state.st_size}\0{state.st_mtime_ns}".encode())
    return digest.hexdigest()[:32]


def _shipped(folder: Path) -> dict[str, Any] | None:
    """The compact form that a wheel brings along, if it is of these very rules."""
    try:
        compact: dict[str, Any] = json.loads(prepared.file(prepared.RULEBOOK).read_bytes())
    except (OSError, ValueError):
        return None
    files = list(_files(folder))
    digest = _digest(folder, files, [path.read_bytes() for path in files])
    return compact if compact.get("digest") == digest else None


def compact_form() -> str:
    """The shipped rules, for ``prepared``."""
    return json.dumps(_compact(data_folder("rules")))


def _compact(folder: Path) -> dict[str, Any]:
    """What matching needs of a folder of rules, as JSON can hold it."""
    files = list(_files(folder))
    contents = [path.read_bytes() for path in files]
    raw = _parsed(folder, files, contents)
    book = _build(_digest(folder, files, contents), raw)
    rows: dict[str, list[Any]] = {}
    headers: dict[str, Any] = {}
    for file, document in raw.items():
        if "namespace" not in document:
            continue
        headers[file] = {k: v for k, v in document.items() if k not in ("row", "silent")}
        for row, spec in zip(document.get("row", ()), _table(document, file), strict=True):
            kept = {k: v for k, v in row.items() if k not in ("fires", "silent")}
            rows[spec.id] = [file, kept]
    return {
        "digest": book.digest,
        "rules": {
            file: {k: v for k, v in document.items() if k not in ("fires", "silent")}
            for file, document in raw.items()
            if "namespace" not in document
        },
        "headers": headers,
        "rows": rows,
        **{
            name: {key: [s.id for s in specs] for key, specs in getattr(book, name).items()}
            for name in ("exact", "prefixes", "imports", "methods", "outside")
        },
        "facts": {
            "roots": sorted(book.roots),
            "areas": sorted(book.areas),
            "newest": dict(book.newest),
            "missing": {path: sorted(names) for path, names in book.missing.items()},
        },
    }


class _Rows(Mapping[str, Spec]):
    """API rows by id, each built when it is asked for."""

    def __init__(self, headers: dict[str, Any], rows: dict[str, list[Any]]) -> None:
        self._headers = headers
        self._rows = rows
        self._specs: dict[str, Spec] = {}

    def __getitem__(self, rule: str) -> Spec:
        spec = self._specs.get(rule)
        if spec is None:
            file, row = self._rows[rule]
            spec = next(_table({**self._headers[file], "row": [row]}, file))
            self._specs[rule] = spec
        return spec

    def __contains__(self, rule: object) -> bool:
        return rule in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class _Names(Mapping[str, Sequence[Spec]]):
    """Names → rows, through the ids of the rows."""

    def __init__(self, ids: dict[str, list[str]], rows: Mapping[str, Spec]) -> None:
        self._ids = ids
        self._rows = rows
        self._specs: dict[str, Sequence[Spec]] = {}

    def __getitem__(self, name: str) -> Sequence[Spec]:
        specs = self._specs.get(name)
        if specs is None:
            specs = self._specs[name] = [self._rows[rule] for rule in self._ids[name]]
        return specs

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self._ids else default

    def __contains__(self, name: object) -> bool:
        return name in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


def _lazy(compact: dict[str, Any]) -> Rulebook:
    rows = _Rows(compact["headers"], compact["rows"])
    rules = {spec.id: spec for spec in (_rule(doc, file) for file, doc in compact["rules"].items())}
    facts = compact["facts"]
    return Rulebook(
        compact["digest"],
        rules,
        rows,
        exact=_Names(compact["exact"], rows),
        prefixes=_Names(compact["prefixes"], rows),
        imports=_Names(compact["imports"], rows),
        methods=_Names(compact["methods"], rows),
        outside=_Names(compact["outside"], rows),
        roots=frozenset(facts["roots"]),
        areas=frozenset(facts["areas"]),
        newest=facts["newest"],
        missing={path: frozenset(names) for path, names in facts["missing"].items()},
    )


def build(folder: Path) -> Rulebook:
    """The rulebook of a folder of rules, cases included."""
    files = list(_files(folder))
    contents = [path.read_bytes() for path in files]
    return _build(_digest(folder, files, contents), _parsed(folder, files, contents))


def _build(digest: str, raw: Mapping[str, dict[str, Any]]) -> Rulebook:
    rules: dict[str, Spec] = {}
    rows: dict[str, Spec] = {}
    for name, document in raw.items():
        specs = _table(document, name) if "namespace" in document else [_rule(document, name)]
        for spec in specs:
            known = rules.get(spec.id) or rows.get(spec.id)
            if known is not None:
                raise RuleError(f"{name}: {spec.id} is already defined in {known.file}")
            (rows if spec.name else rules)[spec.id] = spec
    return _index(digest, rules, rows)


def _files(folder: Path) -> Iterator[Path]:
    for area in sorted(p for p in folder.iterdir() if p.is_dir() and p.name not in _NOT_RULES):
        for base, _, names in sorted(os.walk(area)):
            for name in sorted(names):
                if name.endswith(".toml"):
                    yield Path(base, name)


def _digest(folder: Path, files: Sequence[Path], contents: Sequence[bytes]) -> str:
    digest = hashlib.sha256()
    for path, data in zip(files, contents, strict=True):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + data + b"\0")
    return digest.hexdigest()[:16]


def _parsed(
    folder: Path, files: Sequence[Path], contents: Sequence[bytes]
) -> dict[str, dict[str, Any]]:
    raw = {}
    for path, data in zip(files, contents, strict=True):
        name = path.relative_to(folder).as_posix()
        try:
            raw[name] = tomllib.loads(data.decode("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise RuleError(f"rules/{name}: {error}") from None
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
    folder = _FOLDER.get(raw["area"], raw["area"])
    if Path(file).stem != raw["id"] or Path(file).parts[0] != folder:
        raise RuleError(f"{where}: the file is to be named {folder}/{raw['id']}.toml")
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
        supersedes=tuple(raw.get("supersedes", ())),
        yields=raw.get("yields", False),
        ways=tuple(raw.get("ways", ())),
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
            supersedes=tuple(row.get("supersedes", ())),
            name=name,
            also=tuple(row.get("also", ())),
            kind=row.get("kind", "none"),
            on=on,
            when=tuple(model.condition(c, where) for c in row.get("when", ())),
            unknown=row.get("unknown", ""),
            distinctive=row.get("distinctive", False),
            seldom=Confidence(row.get("seldom", "certain")),
            note=row.get("note", ""),
            raises=tuple(row.get("raises", ())),
            whole=tuple(raw.get("whole", ())),
            answer=row.get("answer", ""),
            said=row.get("said", ""),
            ways=tuple(row.get("ways", raw.get("ways", ()))),
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
    everything = [*rules.values(), *rows.values()]
    return Rulebook(
        digest,
        rules,
        rows,
        exact,
        prefixes,
        imports,
        methods,
        outside,
        roots=frozenset(
            name.partition(".")[0]
            for spec in rows.values()
            if spec.on not in ("env", "command")
            for name in (spec.name, *spec.also)
        ),
        areas=frozenset(spec.area for spec in everything),
        newest={path: _newest(everything, path) for path in _PATHS},
        missing={path: _missing(imports, outside, path) for path in _PATHS},
    )


def _newest(specs: Sequence[Spec], path: str) -> str:
    """The newest SDK that any evidence about a path was taken from."""
    versions = {e.sdk for spec in specs for e in spec.evidence_for(path)}
    numbered = [v for v in versions if v and all(part.isdigit() for part in v.split("."))]
    return max(numbered, key=version_key, default="")


def _missing(
    imports: Mapping[str, Sequence[Spec]], outside: Mapping[str, Sequence[Spec]], path: str
) -> frozenset[str]:
    """What is not there on a Neuron host: packages whose import row says ``breaks``, and commands
    (``command:nvidia-smi``) whose row does."""
    commands = {name: specs for name, specs in outside.items() if name.startswith("command:")}
    return frozenset(
        name
        for name, specs in (*imports.items(), *commands.items())
        for spec in specs
        if any(w.verdict is Verdict.BREAKS for w in spec.verdicts.get(path, ()))
    )
