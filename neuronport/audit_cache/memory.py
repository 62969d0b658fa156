"""What is kept of each file, and whether it still holds."""

from __future__ import annotations

import hashlib
import marshal
import sys
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import neuronport
from neuronport import __version__
from neuronport.audit_cache import results
from neuronport.audit_cache.store import Damaged, Store, digest, digest_of_names
from neuronport.data import data_folder
from neuronport.findings import Finding, NotLookedAt, TargetVerdict
from neuronport.readers.python.facts import FACTS_FORM, Interest, module_id
from neuronport.source.reach import Reach
from neuronport.source.recording import Edges, Needs, RecordingIndex
from neuronport.targets import Target
from neuronport.workspace import Modules, SourceFile

_LEVEL = 1
"""Of compression, of what is full of the same names and read seldom."""


class Head(NamedTuple):
    """What is known of a file that was read before; all that a run needs where nothing changed."""

    key: bytes
    module: str
    lines: int
    has_facts: bool
    digest: bytes
    """Of its summary and calls."""
    missed: tuple[str, str, int | None] | None
    """Why it could not be read: reason, detail, line."""


class Judged(NamedTuple):
    """What was found in one file."""

    findings: list[Finding]
    references: list[Finding]
    suppressed: list[Finding]
    unused: list[tuple[str, int, str]]
    reaches: list[Reach]


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
        self._places = digest(
            marshal.dumps(
                (
                    sorted(modules.names.items()),
                    sorted(modules.alternatives.items()),
                    modules.roots,
                ),
                2,
            )
        )
        self.keys: dict[str, bytes] = {}
        """Module → the key of its file, for what is to be had from the store."""
        self._shared: dict[bytes, results.SharedPart] = {}
        self._sharing: dict[Any, tuple[bytes, Mapping[str, TargetVerdict]]] = {}
        self._shape = b""

    # ---- what was read ------------------------------------------------------------------------------

    def key(self, file: SourceFile, data: bytes) -> bytes:
        path = file.path.encode("utf-8", "surrogatepass")
        return digest(self._reading, path, hashlib.sha256(data).digest())

    def head(self, key: bytes) -> Head | None:
        data = self.store.get(key, "read")
        return None if data is None else Head(key, *marshal.loads(data))

    def keep_missed(self, key: bytes, reason: str, detail: str, line: int | None) -> None:
        """Keep why a file cannot be read, whatever it depended on being in its bytes."""
        head = ("", 0, False, b"", (reason, detail, line))
        self.store.put(key, "read", marshal.dumps(head))

    def keep_read(
        self, head: Head, facts: bytes | None, frozen_summary: bytes, frozen_calls: bytes
    ) -> None:
        if facts is not None:
            self.store.put(head.key, "facts", facts)
        self.store.put(head.key, "summary", frozen_summary)
        self.store.put(head.key, "calls", frozen_calls)
        self.store.put(head.key, "read", marshal.dumps(tuple(head[1:])))

    def facts(self, key: bytes) -> tuple[bytes, bytes]:
        """Of a file, with its summary."""
        return self._blob(key, "facts"), self._blob(key, "summary")

    def summary(self, module: str) -> bytes:
        return self._blob(self.keys[module], "summary")

    def calls(self, module: str) -> bytes:
        return self._blob(self.keys[module], "calls")

    def _blob(self, key: bytes, kind: str) -> bytes:
        data = self.store.get(key, kind)
        if data is None:
            raise Damaged
        return data

    # ---- whom it calls ------------------------------------------------------------------------------

    def shape(self, index: RecordingIndex) -> bytes:
        """Of which modules there are and how they are imported."""
        if not self._shape:
            self._shape = digest(self._places, digest_of_names(sorted(index.digests)))
        return self._shape

    def edges(self, module: str, index: RecordingIndex) -> Edges | None:
        key = self.keys.get(module)
        row = None if key is None else self._valid(key, "edges", index)
        return None if row is None else row[5]

    def keep_edges(self, module: str, rows: Edges, needs: Needs, index: RecordingIndex) -> None:
        key = self.keys.get(module)
        if key is not None:
            self._keep(key, "edges", needs, index, [rows])

    # ---- what was found in it -----------------------------------------------------------------------

    def judged_key(self, key: bytes, file: SourceFile) -> bytes:
        return digest(key, self._judging, str(file.role).encode())

    def judged(self, key: bytes, file: SourceFile, index: RecordingIndex) -> Judged | None:
        """What was found in a file, if it would be found again."""
        row = self._valid(self.judged_key(key, file), "judged", index)
        if row is None:
            return None
        try:
            findings, references, suppressed = (
                results.thaw(rows, file.path, file.role, self._shared_part) for rows in row[5:8]
            )
        except Damaged:
            return None
        unused = [(file.path, *mark) for mark in row[8]]
        return Judged(findings, references, suppressed, unused, [Reach(*r) for r in row[9]])

    def keep_judged(
        self, key: bytes, file: SourceFile, judged: Judged, needs: Needs, index: RecordingIndex
    ) -> None:
        rows = [
            results.freeze(found, self._share)
            for found in (judged.findings, judged.references, judged.suppressed)
        ]
        unused = [mark[1:] for mark in judged.unused]
        # What names a line of another module changes with every line of it.
        elsewhere = {
            module_id(step.path)
            for found in (judged.findings, judged.references, judged.suppressed)
            for finding in found
            for step in finding.related
            if step.path != file.path
        }
        elsewhere |= {module_id(r.path) for r in judged.reaches if r.path != file.path}
        row = [*rows, unused, [tuple(r) for r in judged.reaches]]
        self._keep(self.judged_key(key, file), "judged", needs, index, row, sorted(elsewhere))

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
        needs: Needs,
        index: RecordingIndex,
        rest: Sequence[Any],
        exact: Sequence[str] = (),
    ) -> None:
        """Keep ``rest`` with all it depended on; of the modules ``exact`` that is everything."""
        items = dict(needs.items)
        parts = [
            (
                module,
                index.digests.get(module, b""),
                items.get(module, ()),
                index.digest_of_items(module, items.get(module, ())),
                module in exact,
            )
            for module in sorted({*items, *exact})
        ]
        self._put(
            key,
            kind,
            index,
            (needs.splits, needs.local, needs.starred, parts),
            (needs.callers, index.digest_of_callers(needs.callers)) if needs.callers else None,
            rest,
        )

    def _put(
        self, key: bytes, kind: str, index: RecordingIndex, closer: Any, callers: Any, rest: Any
    ) -> None:
        modules = tuple(part[0] for part in closer[3])
        frozen = zlib.compress(marshal.dumps(closer), _LEVEL)
        row = (
            self.shape(index),
            modules,
            index.digest_of_modules(modules),
            digest(frozen),
            callers,
            *rest,
        )
        self.store.put(key, f"{kind} needs", frozen)
        self.store.put(key, kind, marshal.dumps(row))

    def _valid(self, key: bytes, kind: str, index: RecordingIndex) -> tuple[Any, ...] | None:
        """What was kept, if all it depended on is as it was."""
        data = self.store.get(key, kind)
        if data is None:
            return None
        row: tuple[Any, ...] = marshal.loads(data)
        shape, modules, digest_then, closer_digest, callers = row[:5]
        closer = None
        if shape != self.shape(index) or index.digest_of_modules(modules) != digest_then:
            # Something is other than it was: look closer whether it matters here.
            frozen = self.store.get(key, f"{kind} needs")
            if frozen is None or digest(frozen) != closer_digest:
                return None
            closer = marshal.loads(zlib.decompress(frozen))
            if not self._holds(closer, shape, index):
                return None
        if callers is not None and index.digest_of_callers(callers[0]) != callers[1]:
            return None
        if closer is not None:
            now = [(part[0], index.digests.get(part[0], b""), *part[2:]) for part in closer[3]]
            self._put(key, kind, index, (*closer[:3], now), callers, row[5:])
        return row

    def _holds(self, closer: Any, shape: bytes, index: RecordingIndex) -> bool:
        splits, local, starred, parts = closer
        moved = shape != self.shape(index)
        if moved and not index.same_shape(splits, local):
            return False
        changed = set()
        for module, then, items, items_then, exact in parts:
            if index.digests.get(module, b"") != then:
                changed.add(module)
                if exact or index.digest_of_items(module, items) != items_then:
                    return False
        return index.same_stars(starred, None if moved else frozenset(changed))


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
    hasher = hashlib.sha256()
    for path in sorted(folder.rglob(f"*{suffix}")):
        if path.is_file():
            data = path.read_bytes()
            hasher.update(f"{path.relative_to(folder).as_posix()}\0{len(data)}\0".encode())
            hasher.update(data)
    return hasher.digest()
