"""Writing a record, reading one, and joining those of a folder.

Reading never fails: what is no record is told, with what to do about it, and the rest is used.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from neuronport import __version__
from neuronport.records import digests
from neuronport.records.forms import Brought, FormError, bring
from neuronport.records.kinds import kinds
from neuronport.records.model import FORM, Change, Kind, Problem, Record, Records
from neuronport.reporting.escape import json_text
from neuronport.workspace import (
    NamedPathError,
    SourceFile,
    Unreadable,
    Workspace,
    atomic_write,
    open_workspace,
)
from neuronport.workspace.files import read_regular

DEFAULT_FOLDER = ".neuronport"
MAX_BYTES = 2_000_000_000
_OWN = re.compile(r"[^.].*\.json")
_IGNORES = b"# Made by neuronport. Take this file away to keep the records in git.\n*\n"


class FolderError(ValueError):
    """A folder that records cannot go to; says what to do."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a command looked at, noted before it looks: a file that changes meanwhile makes the
    record stale instead of wrong."""

    root: str
    """The absolute folder that names are relative to."""
    inputs: Mapping[str, str]
    files: int
    """Files of the tree in scope."""
    looked_for: Mapping[str, Any] = field(default_factory=dict)
    """What decided which files there are (paths, patterns), so that a new one can be told."""

    @classmethod
    def of(
        cls,
        workspace: Workspace,
        files: Sequence[SourceFile],
        *,
        paths: Sequence[str] = (".",),
        extra: Iterable[str] = (),
        exclude: Sequence[str] = (),
        extend_exclude: Sequence[str] = (),
        include_ignored: bool = False,
    ) -> Snapshot:
        """Of ``files`` of a workspace, and of ``extra`` files (settings, a baseline)."""
        root = workspace.root
        inputs = {**digests.of_files(files), **of_paths(root, extra)}
        looked_for = {
            "paths": sorted({_relative(p, root) for p in paths}),
            "kinds": sorted({"python", "stub", *(f.kind for f in files)}),
            "exclude": list(exclude),
            "extend_exclude": list(extend_exclude),
            "include_ignored": include_ignored,
        }
        return cls(root, dict(sorted(inputs.items())), len(workspace.files), looked_for)

    @classmethod
    def of_named(cls, root: str, paths: Iterable[str]) -> Snapshot:
        """Of single files, wherever they are."""
        inputs = of_paths(root, paths)
        return cls(root, inputs, len(inputs))


def of_paths(root: str, paths: Iterable[str]) -> dict[str, str]:
    """The digests of files by their paths relative to ``root``; what is not there is left out."""
    found = {}
    for path in paths:
        try:
            found[_relative(path, root)] = digests.of_file(path)
        except Unreadable:
            continue
    return dict(sorted(found.items()))


def check_folder(folder: str) -> None:
    """Refuses a folder that holds other things: ``--record src`` is a path taken for a folder.

    Raises FolderError.
    """
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise FolderError(
            f"{folder} is a file; name a folder for records, or write --record after the paths"
        ) from None
    except OSError as error:
        raise FolderError(f"{folder}: {(error.strerror or str(error)).lower()}") from None
    mine = [n for n in names if _own(n) or n == ".gitignore"]
    if len(mine) < len(names) and os.path.basename(os.path.abspath(folder)) != DEFAULT_FOLDER:
        raise FolderError(
            f"{folder} holds other things than records; name a folder of their own with "
            "--record=DIR, or write --record after the paths"
        )


def _own(name: str) -> bool:
    stem = name.removesuffix(".json")
    return name.endswith(".json") and any(
        stem == kind.name or (kind.many and stem.startswith(f"{kind.name}-"))
        for kind in kinds().values()
    )


# ---- writing --------------------------------------------------------------------------------------


def write(
    folder: str,
    kind: str,
    body: str,
    snapshot: Snapshot,
    *,
    rules: str = "",
    missed: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Leaves a record of what a command printed as JSON; its path.

    ``rules``: the digest of the rules, where they had a say. ``missed``: what was not looked at
    besides what the body says. Raises WorkspaceError or OSError: it
    cannot be written; what was there is whole.
    """
    described = kinds()[kind]
    parsed = json.loads(body)
    folder = os.path.abspath(folder)
    tool = {"name": "neuronport", "version": __version__, **({"rules": rules} if rules else {})}
    tree = {
        "root": _relative(snapshot.root, folder),
        "name": os.path.basename(snapshot.root.rstrip(os.sep)) or "/",
        "digest": digests.of_inputs(snapshot.inputs),
        "files": snapshot.files,
        "revision": digests.revision(snapshot.root),
        **({"looked_for": snapshot.looked_for} if snapshot.looked_for else {}),
    }
    head = {
        "record": kind,
        "form": FORM,
        "tool": tool,
        "made": _now(),
        "tree": tree,
        "inputs": dict(snapshot.inputs),
        "not_looked_at": [*missed, *described.missed(parsed)],
    }
    rows = [f"{json.dumps(k)}: {_encoded(v)},\n" for k, v in head.items()]
    text = "{\n" + "".join(rows) + '"body": ' + body.strip() + "\n}\n"
    _make(folder)
    path = os.path.join(folder, file_name(described, parsed))
    atomic_write(path, text.encode("utf-8", "backslashreplace"))
    return path


def file_name(kind: Kind, body: Mapping[str, Any]) -> str:
    """``audit.json``, ``graph-model.py.json``."""
    return f"{kind.name}-{slug(kind.subject(body))}.json" if kind.many else f"{kind.name}.json"


def slug(subject: str) -> str:
    """A name for a file; subjects that would come to the same one are told apart by a digest."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", subject).strip("-.")[:80]
    if plain and plain == subject:
        return plain
    digest = hashlib.sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{plain}-{digest}" if plain else digest


def _encoded(value: Any) -> str:
    return json_text(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _make(folder: str) -> None:
    """Makes the folder; the default one tells git to leave it alone, or ``port --write`` would
    find uncommitted changes after every audit."""
    if os.path.isdir(folder):
        return
    os.makedirs(folder, exist_ok=True)
    if os.path.basename(folder) == DEFAULT_FOLDER:
        atomic_write(os.path.join(folder, ".gitignore"), _IGNORES)


def _now() -> str:
    """Now; or SOURCE_DATE_EPOCH, for who wants the same bytes from the same input."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(given) if given.isdecimal() else int(time.time())
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _relative(path: str, start: str) -> str:
    """With ``/``; absolute where there is no way from one to the other (drives of Windows)."""
    try:
        found = os.path.relpath(os.path.realpath(path), os.path.realpath(start))
    except ValueError:
        found = os.path.abspath(path)
    return found.replace(os.sep, "/")


def _place(root: str, name: str) -> str:
    """Where an input is now."""
    return name if os.path.isabs(name) else os.path.join(root, *name.split("/"))


def _is_there(path: str) -> bool:
    try:
        return os.path.exists(path)
    except ValueError:
        return False


# ---- reading --------------------------------------------------------------------------------------


def load(folder: str, *, check: bool = True, rules: Callable[[], str] | None = None) -> Records:
    """The records in ``folder``. ``check``: compare them with what is there now.

    ``rules`` gives the digest of today's rules; left out: those that are installed.
    """
    try:
        names = sorted(n for n in os.listdir(folder) if _OWN.fullmatch(n))
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            return Records(folder, exists=False)
        reason = f"cannot be read: {(error.strerror or str(error)).lower()}"
        return Records(folder, problems=(Problem(folder, reason, "name a folder of records"),))
    found: dict[str, list[Record]] = {}
    problems: list[Problem] = []
    checker = _Checker(rules or _rules)
    for name in names:
        path = os.path.join(folder, name)
        record = _read(path, checker if check else None)
        if isinstance(record, Problem):
            problems.append(record)
        else:
            found.setdefault(record.kind, []).append(record)
    for kind, rows in found.items():
        if not kinds()[kind].many and len(rows) > 1:
            # The one with the name that commands write; others were put there by hand.
            rows.sort(key=lambda r: os.path.basename(r.file) != f"{kind}.json")
            for other in rows[1:]:
                reason = f"a second record of the kind {kind}"
                problems.append(
                    Problem(other.file, reason, f"{rows[0].file} is used; remove one of them")
                )
            del rows[1:]
    joined = {name: tuple(found[name]) for name in kinds() if name in found}
    return Records(folder, joined, tuple(problems))


def read(path: str, *, check: bool = True) -> Record | Problem:
    """One record, or the bare JSON output of a command."""
    return _read(path, _Checker(_rules) if check else None)


def _rules() -> str:
    from neuronport.rulebook.load import rulebook

    return rulebook().digest


def _read(path: str, checker: _Checker | None) -> Record | Problem:
    try:
        data = read_regular(path, MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            return Problem(path, f"larger than {MAX_BYTES:,} bytes", "remove it")
        brought = bring(json.loads(data.decode("utf-8-sig")))
    except Unreadable as error:
        return Problem(path, error.detail or error.reason, "make it readable or record again")
    except UnicodeDecodeError:
        return Problem(path, "not UTF-8", "remove it or record again")
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}"
        reason = f"not valid JSON ({at}: {error.msg})" if data.strip() else "empty"
        return Problem(path, reason, "remove it or record again")
    except RecursionError:
        return Problem(path, "nested too deeply", "remove it or record again")
    except FormError as error:
        return Problem(path, error.reason, error.remedy)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        # A document that looks like a record and is not shaped like one.
        return Problem(path, f"malformed ({error})", "remove it or record again")
    return _record(path, brought, checker)


def _record(path: str, brought: Brought, checker: _Checker | None) -> Record | Problem:
    envelope = brought.envelope
    missed = envelope["not_looked_at"]
    try:
        rows = list(brought.kind.missed(envelope["body"])) if missed is None else missed
        brought.kind.subject(envelope["body"])
    except (TypeError, KeyError, AttributeError) as error:
        return Problem(path, f"malformed ({error!r})", "remove it or record again")
    shown = str(envelope["tree"].get("root") or "")
    root = os.path.normpath(os.path.join(os.path.dirname(path) or ".", shown)) if shown else ""
    record = Record(
        kind=brought.kind.name,
        file=path,
        form=brought.form,
        tool=envelope["tool"],
        made=envelope["made"],
        tree=envelope["tree"],
        inputs=envelope["inputs"],
        not_looked_at=rows,
        body=envelope["body"],
        digests_known=brought.form > 0 and bool(envelope["inputs"]),
        stale=brought.newer,
        root=root,
    )
    if checker is None:
        return record
    return replace(record, stale=(*brought.newer, *checker.changes(record)))


class _Checker:
    """Compares records with what is there now; a file is read once for all of them."""

    def __init__(self, rules: Callable[[], str]) -> None:
        self._rules = rules
        self._known: dict[str, str | Unreadable] = {}

    def changes(self, record: Record) -> list[Change]:
        found = []
        rules = record.tool.get("rules")
        if isinstance(rules, str) and rules and rules != self._rules():
            found.append(Change("rules", "the rules", f"recorded with {rules}"))
        if not record.root:
            return found
        for name, digest in record.inputs.items():
            now = self._now(_place(record.root, digests.actual(name)))
            if isinstance(now, Unreadable):
                word = "vanished" if now.reason == "vanished" else "unreadable"
                found.append(Change(word, name, "" if word == "vanished" else now.detail))
            elif now != digest:
                found.append(Change("changed", name))
        return found + self._new(record)

    def _now(self, path: str) -> str | Unreadable:
        if path not in self._known:
            try:
                self._known[path] = digests.of_file(path)
            except Unreadable as error:
                self._known[path] = error
        return self._known[path]

    @staticmethod
    def _new(record: Record) -> list[Change]:
        """Files that were not there, and that the command would look at now."""
        how = record.tree.get("looked_for")
        if not isinstance(how, dict) or not os.path.isdir(record.root):
            return []
        try:
            places = [p for p in (_place(record.root, p) for p in how["paths"]) if _is_there(p)]
            if not places:
                return []
            workspace = open_workspace(
                places,
                exclude=how["exclude"],
                extend_exclude=how["extend_exclude"],
                include_ignored=how["include_ignored"],
                root=record.root,
            )
            wanted = set(how["kinds"])
        except (NamedPathError, KeyError, TypeError, ValueError, AttributeError):
            return []
        known = {*record.inputs, *(str(r.get("path")) for r in record.not_looked_at)}
        return [
            Change("new", file.path)
            for file in workspace.files
            if file.kind in wanted and file.path not in known
        ]
