"""What is kept of each file, and whether it still holds."""

from __future__ import annotations

import hashlib
import marshal
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import neuronport
from neuronport import __version__, caches
from neuronport.audit_cache import results
from neuronport.audit_cache.store import Damaged, Store, digest, digest_of_names
from neuronport.audit_cache.together import Together
from neuronport.data import data_folder
from neuronport.findings import Finding, NotLookedAt, TargetVerdict
from neuronport.readers.python.facts import FACTS_FORM, Interest
from neuronport.source.changed import Moved, State, Untraceable
from neuronport.source.index import Edges
from neuronport.source.reach import Reach
from neuronport.source.recording import Needs, RecordingIndex
from neuronport.targets import Target
from neuronport.workspace import Modules, SourceFile


class Head(NamedTuple):
    """What is known of a file that was read before; all that a run needs where nothing changed."""

    key: bytes
    module: str
    lines: int
    has_facts: bool
    missed: tuple[str, str, int | None] | None
    """Why it could not be read: reason, detail, line."""


class Judged(NamedTuple):
    """What was found in one file."""

    findings: list[Finding]
    references: list[Finding]
    suppressed: list[Finding]
    unused: list[tuple[str, int, str]]
    reaches: list[Reach]


class Held(NamedTuple):
    """What was found in some files would be found again."""

    state: bytes
    """Of the whole tree, when it was found."""
    moved: Moved | None
    """Where lines have gone; None: nowhere."""


class Memory:
    """The store as one audit sees it."""

    def __init__(
        self,
        store: Store,
        modules: Modules,
        heads: frozenset[str],
        interest: Interest,
        rules: str,
        targets: Sequence[Target],
    ) -> None:
        self.store = store
        python = f"{sys.implementation.cache_tag} {sys.version_info} {sys.getrecursionlimit()}"
        self._reading = digest(
            f"{__version__} {FACTS_FORM} {python} {interest.digest()}".encode(),
            code_digest(),
            digest_of_names(sorted(heads)),
        )
        self._judging = digest(rules.encode(), rules_digest(), digest_of_names(map(repr, targets)))
        self._importable = digest(
            marshal.dumps(
                (
                    sorted(modules.names.items()),
                    sorted(modules.alternatives.items()),
                    modules.roots,
                ),
                2,
            )
        )
        self._shared: dict[bytes, results.SharedPart] = {}
        self._sharing: dict[Any, tuple[bytes, Mapping[str, TargetVerdict]]] = {}
        self._shape = b""
        """Of which modules there are and how they are imported."""

    # ---- what was read ------------------------------------------------------------------------------

    def key(self, file: SourceFile, data: bytes) -> bytes:
        path = file.path.encode("utf-8", "surrogatepass")
        return digest(self._reading, path, hashlib.sha256(data).digest())

    def head(self, key: bytes) -> Head | None:
        data = self.store.get(key, "read")
        return None if data is None else Head(key, *marshal.loads(data))

    def expect_heads(self, keys: Sequence[bytes]) -> None:
        """All of these will be asked for."""
        self.store.read_ahead(keys, "read")

    def keep_missed(self, key: bytes, reason: str, detail: str, line: int | None) -> None:
        """Keep why a file cannot be read, whatever it depended on being in its bytes."""
        head = ("", 0, False, (reason, detail, line))
        self.store.put(key, "read", marshal.dumps(head))

    def keep_read(
        self, head: Head, facts: bytes, frozen_summary: bytes, frozen_calls: bytes
    ) -> None:
        if facts:
            self.store.put(head.key, "facts", facts)
        self.store.put(head.key, "summary", frozen_summary)
        self.store.put(head.key, "calls", frozen_calls)
        self.store.put(head.key, "read", marshal.dumps(tuple(head[1:])))

    def facts(self, key: bytes) -> bytes:
        return self._blob(key, "facts")

    def summary(self, key: bytes) -> bytes:
        return self._blob(key, "summary")

    def calls(self, key: bytes) -> bytes:
        return self._blob(key, "calls")

    def _blob(self, key: bytes, kind: str) -> bytes:
        data = self.store.get(key, kind)
        if data is None:
            raise Damaged
        return data

    def state(self, key: bytes) -> State | None:
        """What was known of a file that may be another by now; None: it is forgotten."""
        summary, calls = self.store.get(key, "summary"), self.store.get(key, "calls")
        return None if summary is None or calls is None else State(summary, calls)

    # ---- whom it calls ------------------------------------------------------------------------------

    def edges(self, keys: Sequence[bytes], index: RecordingIndex) -> list[Edges] | None:
        """Of modules that lie together."""
        known = self._valid(digest(*keys), "edges", index)
        return None if known is None else known[0][0]

    def keep_edges(self, keys: Sequence[bytes], rows: list[Edges], index: RecordingIndex) -> None:
        self._keep(digest(*keys), "edges", index, index.all_asked(), [rows])

    # ---- what was found in it -----------------------------------------------------------------------

    def judged_key(self, key: bytes, file: SourceFile) -> bytes:
        return digest(key, self._judging, str(file.role).encode())

    def expect_judged(self, groups: Sequence[Sequence[bytes]]) -> None:
        """What was found in all of these files will be asked for, by ``judged_key``."""
        self.store.read_ahead([key for keys in groups for key in keys], "judged")
        self.store.read_ahead([digest(*keys) for keys in groups], "together")

    def held(self, keys: Sequence[bytes], index: RecordingIndex) -> Held | None:
        """Whether all holds that was found in files that were judged together; None: perhaps not."""
        known = self._valid(digest(*keys), "together", index)
        if known is None:
            return None
        (state,), moved = known
        if moved is not None:
            moved.of_many = True
        return Held(state, moved)

    def judged(
        self, key: bytes, file: SourceFile, index: RecordingIndex, held: Held | None
    ) -> Judged | None:
        """What was found in a file, by ``judged_key``, if it would be found again."""
        data = self.store.get(key, "judged")
        if data is None:
            return None
        row = marshal.loads(data)
        if held is not None and _state(row) == held.state:
            found = self._found(row[1:], held.moved, file)
            if found is not None:
                return found
        known = self._still_valid(row, key, "judged", index)
        return None if known is None else self._found(*known, file)

    def _found(self, row: Sequence[Any], moved: Moved | None, file: SourceFile) -> Judged | None:
        """None: it cannot be told what has become of it."""
        *found, marks, places = row
        try:
            findings, references, suppressed = (
                results.thaw(rows, file.path, file.role, self._shared_part) for rows in found
            )
            reaches = [Reach(*row) for row in places]
            if moved is not None:
                findings, references, suppressed = (
                    [results.moved(finding, moved) for finding in group]
                    for group in (findings, references, suppressed)
                )
                reaches = [reach.moved(moved) for reach in reaches]
        except (Damaged, Untraceable):
            return None
        return Judged(
            findings, references, suppressed, [(file.path, *mark) for mark in marks], reaches
        )

    def keep_judged(
        self,
        key: bytes,
        file: SourceFile,
        judged: Judged,
        index: RecordingIndex,
        together: Together,
    ) -> None:
        """By ``judged_key``, and, if it was the last of those it lies together with, of all these."""
        rows = [
            results.freeze(found, self._share)
            for found in (judged.findings, judged.references, judged.suppressed)
        ]
        unused = [mark[1:] for mark in judged.unused]
        row = [*rows, unused, [tuple(r) for r in judged.reaches]]
        asked = index.all_asked()
        self._keep(key, "judged", index, asked, row)
        whole = together.add(file.path, key, asked)
        if whole is not None:
            keys, all_asked = whole
            self._keep(digest(*keys), "together", index, all_asked, [index.state()])

    def _share(self, finding: Finding) -> bytes:
        same = (
            finding.rule,
            finding.why,
            finding.effort,
            finding.fix,
            *((t, id(v.evidence), v.verdict, v.confidence) for t, v in finding.by_target.items()),
        )
        known = self._sharing.get(same)
        if known is not None and known[1] == finding.by_target:
            return known[0]
        data = results.freeze_shared(finding)
        key = digest(b"shared", data)
        if key not in self._shared:
            self._shared[key] = results.thaw_shared(data)
            self.store.put(key, "shared", data)
        # The mapping is kept with the key, so that no other evidence can come to have its ``id``.
        self._sharing[same] = (key, finding.by_target)
        return key

    def _shared_part(self, key: bytes) -> results.SharedPart:
        known = self._shared.get(key)
        if known is None:
            data = self.store.get(key, "shared")
            if data is None:
                raise Damaged
            known = self._shared[key] = results.thaw_shared(data)
        return known

    # ---- whether it holds ---------------------------------------------------------------------------

    def _keep(
        self,
        key: bytes,
        kind: str,
        index: RecordingIndex,
        asked: Iterable[int],
        rest: Sequence[Any],
    ) -> None:
        """Keep ``rest`` with all that the index was asked for it. Apart from that, because most runs
        want no more: of which trees it certainly holds, and of which modules."""
        needs = index.needs(asked)
        frozen = marshal.dumps(tuple(needs))
        modules = tuple(part[0] for part in needs.items)
        names = tuple(name for name, _ in needs.callers)
        held = (
            self._shape_of(index),
            index.state(),
            modules,
            index.digest_of_modules(modules),
            names,
            index.digest_of_callers(names),
            digest(frozen),
        )
        self.store.put(key, f"{kind} needs", frozen)
        self.store.put(key, kind, marshal.dumps((held, *rest)))

    def _valid(
        self, key: bytes, kind: str, index: RecordingIndex
    ) -> tuple[tuple[Any, ...], Moved | None] | None:
        """What was kept, if all it depended on is as it was, and where lines have gone meanwhile."""
        data = self.store.get(key, kind)
        return None if data is None else self._still_valid(marshal.loads(data), key, kind, index)

    def _still_valid(
        self, row: Sequence[Any], key: bytes, kind: str, index: RecordingIndex
    ) -> tuple[tuple[Any, ...], Moved | None] | None:
        held, *rest = row
        shape, state, modules, digest_then, names, callers, needs_digest = held
        same_modules = bool(shape == self._shape_of(index))
        if same_modules and (
            index.state() == state
            or (
                index.digest_of_modules(modules) == digest_then
                and index.digest_of_callers(names) == callers
            )
        ):
            return tuple(rest), None
        # Something is other than it was: look closer whether it matters here.
        frozen = self.store.get(key, f"{kind} needs")
        if frozen is None or digest(frozen) != needs_digest:
            return None
        needs = Needs(*marshal.loads(frozen))
        if not same_modules and not index.same_shape(needs):
            return None
        moved = index.moved(needs, same_modules)
        return None if moved is None else (tuple(rest), moved)

    def _shape_of(self, index: RecordingIndex) -> bytes:
        if not self._shape:
            self._shape = digest(self._importable, digest_of_names(sorted(index.keys)))
        return self._shape


def _state(row: Sequence[Any]) -> bytes:
    """Of the whole tree, when a row was kept."""
    state: bytes = row[0][1]
    return state


def missed(head: Head, path: str) -> NotLookedAt:
    assert head.missed is not None
    return NotLookedAt(path, *head.missed)


@cache
def code_digest() -> bytes:
    """Of this program: what it finds may be other than what another version of it found."""
    return _digest(Path(neuronport.__file__).parent, ".py")


@cache
def rules_digest() -> bytes:
    """Of all that the rules know, with what the rulebook's own digest leaves out."""
    return _digest(data_folder("rules"), "")


def _digest(folder: Path, suffix: str) -> bytes:
    """Of the contents of all files, read once after each of them was written: there are a thousand."""
    paths = [path for path in sorted(folder.rglob(f"*{suffix}")) if path.is_file()]
    states = [f"{path} {(state := path.stat()).st_size} {state.st_mtime_ns}" for path in paths]
    name = digest_of_names(states).hex()
    known = caches.read("installed", name)
    if known is not None and len(known) == hashlib.sha256().digest_size:
        return known
    hasher = hashlib.sha256()
    for path in paths:
        data = path.read_bytes()
        hasher.update(f"{path.relative_to(folder).as_posix()}\0{len(data)}\0".encode())
        hasher.update(data)
    caches.write("installed", name, hasher.digest())
    return hasher.digest()
