"""One audit: workspace → readers → facts → rules → findings.

Python files are read in two phases over the same processes: first every file is parsed once and
turned into facts, then, with the index of all files known, each file is judged. A process keeps
the facts of its files, so that only summaries travel.
"""

from __future__ import annotations

import ast
import gc
import marshal
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from neuronport.audit_cache.memory import Head, Judged, Memory
from neuronport.audit_cache.store import Damaged, Store
from neuronport.audit_cache.together import Together
from neuronport.findings import Finding, NotLookedAt, Role, fingerprinted
from neuronport.readers.python.evaluate import read_module
from neuronport.readers.python.facts import Interest, ModuleFacts, module_id
from neuronport.readers.python.located import may_locate
from neuronport.rulebook.interest import interest as interest_of
from neuronport.rulebook.judge import Judge
from neuronport.rulebook.load import rulebook
from neuronport.rulebook.suppress import Suppression, apply, suppressions
from neuronport.source.hot import hot_loops
from neuronport.source.index import TreeIndex, import_heads
from neuronport.source.reach import Reach
from neuronport.source.recording import RecordingIndex
from neuronport.source.summary import Summary
from neuronport.spool import Kept, Spool, Summaries
from neuronport.targets import Target
from neuronport.workspace import (
    Modules,
    SourceFile,
    Undecodable,
    WorkspaceError,
    decode_python,
    modules,
    read_source,
    split_lines,
)

_RECURSION = 3000
"""Nesting that a person writes is far below; ``ast`` itself gives up at about as much."""


@dataclass
class Part:
    """What came of some files."""

    findings: list[Finding] = field(default_factory=list)
    references: list[Finding] = field(default_factory=list)
    suppressed: list[Finding] = field(default_factory=list)
    unused: list[tuple[str, int, str]] = field(default_factory=list)
    reaches: list[tuple[str, Reach]] = field(default_factory=list)
    """File, and a place of it that takes a device chosen elsewhere."""
    not_looked_at: list[NotLookedAt] = field(default_factory=list)
    lines: int = 0
    looked_at: int = 0

    def add(self, other: Part) -> None:
        self.findings += other.findings
        self.references += other.references
        self.suppressed += other.suppressed
        self.unused += other.unused
        self.reaches += other.reaches
        self.not_looked_at += other.not_looked_at
        self.lines += other.lines
        self.looked_at += other.looked_at

    def sort(self) -> None:
        """By place; the findings of each file already are."""
        for found in (self.findings, self.references, self.suppressed):
            found.sort(key=lambda f: f.location.path)
        self.unused.sort()
        self.reaches.sort()
        self.not_looked_at.sort(key=lambda n: (n.path, n.line or 0, n.reason))


class Read(NamedTuple):
    """What reading a file says to all others."""

    path: str
    module: str
    summary: Kept
    calls: Kept
    key: bytes
    """Of the file in the cache; empty without one."""
    facts: Kept
    """Empty: there is nothing to judge."""


class Rest(NamedTuple):
    """A file that is to be judged, by whoever is free."""

    path: str
    key: bytes
    facts: Kept
    """Empty: they and the summary are in the cache."""
    summary: Kept


class Tree:
    """What is known of all modules when judging begins."""

    def __init__(self) -> None:
        self.fresh: dict[str, tuple[Kept, Kept]] = {}
        """Module → summary and calls, as read in this run."""
        self.spool = Spool()
        self.keys: dict[str, bytes] = {}
        """Module → key of its file in the cache."""
        self.facts: dict[str, tuple[Kept, Kept]] | None = None
        """Path → facts and summary, for whoever asks for them by a dict here: then what they are kept
        in is there until ``close``."""
        self.folder = ""
        """What the spool is in, where it has to go in the end."""
        self._paths: dict[str, str] = {}

    def close(self) -> None:
        """Let go of what the summaries and facts are kept in."""
        self.spool.close()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def add(self, read: Read) -> None:
        """Take in a file; of two with the same module id (a stub beside it) the first by path,
        in whatever order they come."""
        if self.facts is not None and read.facts:
            self.facts[read.path] = (read.facts, read.summary)
        if self._takes(read.module, read.path):
            self.fresh[read.module] = (read.summary, read.calls)
            self.keys[read.module] = read.key

    def add_known(self, head: Head, path: str) -> None:
        if self._takes(head.module, path):
            self.fresh.pop(head.module, None)
            self.keys[head.module] = head.key

    def summaries(self) -> Summaries:
        """Of the modules that were read in this run."""
        return Summaries(self.spool, self.fresh)

    def _takes(self, module: str, path: str) -> bool:
        if self._paths.setdefault(module, path) < path:
            return False
        self._paths[module] = path
        return True


class PythonAuditor:
    """Reads and judges some of the Python files of a tree; one per process."""

    def __init__(
        self,
        python: Sequence[SourceFile],
        targets: Sequence[Target],
        store: Store | None = None,
    ) -> None:
        self.modules: Modules = modules(python)
        self.targets = tuple(targets)
        self.heads = import_heads(self.modules)
        self.book = rulebook()
        self.interest: Interest = interest_of(self.book)
        self.part = Part()
        self._by_path = {file.path: file for file in python}
        self._keys: dict[str, bytes] = {}
        self._recalled: dict[str, bytes] = {}
        self._made: tuple[Tree, TreeIndex] | None = None
        self.memory: Memory | None = None
        self.together = Together(self._by_path if store is not None else ())
        if store is not None:
            self.memory = Memory(
                store, self.modules, self.heads, self.interest, self.book.digest, self.targets
            )

    # ---- first phase ------------------------------------------------------------------------------

    def recall(
        self, files: Sequence[SourceFile], tree: Tree, progress: Callable[[], None]
    ) -> list[SourceFile]:
        """Take from the cache what was read before; the files that are still to be read."""
        if self.memory is None or self.memory.store.is_empty():
            return list(files)
        unread = []
        keys = [self._key(self.memory, file) for file in files]
        self.memory.expect_heads([key for key in keys if key])
        for file, key in zip(files, keys, strict=True):
            head = self.memory.head(key) if key else None
            if head is None:
                unread.append(file)
                continue
            if head.missed is not None:
                self._skip(file, *head.missed)
            else:
                self.part.lines += head.lines
                self.part.looked_at += 1
                tree.add_known(head, file.path)
                if head.has_facts:
                    self._recalled[file.path] = head.key
            progress()
        return unread

    @staticmethod
    def _key(memory: Memory, file: SourceFile) -> bytes:
        """Empty: it cannot be read."""
        try:
            return memory.key(file, read_source(file))
        except WorkspaceError:
            return b""

    def read(self, file: SourceFile) -> Read | None:
        """Parse one file and keep its facts; its module and summary for the index."""
        memory = self.memory
        try:
            data = read_source(file)
        except WorkspaceError as error:
            self._skip(file, error.reason, error.detail)
            return None
        key = memory.key(file, data) if memory is not None else b""
        try:
            text = decode_python(data).text
        except Undecodable as error:
            self._skip(file, error.reason, error.detail, key=key)
            return None
        try:
            tree = parse(text)
        except SyntaxError as error:
            self._skip(file, *_why_unparsed(error), line=error.lineno, key=key)
            return None
        except (RecursionError, MemoryError):
            self._skip(file, "too-deeply-nested", "its expressions are nested too deeply to parse")
            return None
        except ValueError as error:
            self._skip(file, "not-python", str(error), key=key)
            return None
        lines = text.count("\n") + (not text.endswith("\n") and bool(text))
        try:
            facts = read_module(
                tree,
                path=file.path,
                module=module_id(file.path),
                is_package=file.path.rpartition("/")[2] == "__init__.py",
                lines=lines,
                interest=self.interest,
                tree_roots=self.heads,
                locates=may_locate(text),
            )
        except RecursionError:
            self._skip(file, "too-deeply-nested", "its expressions are nested too deeply to follow")
            return None
        if "neuronport:" in text:
            facts.comments = [
                (m.line, m.applies_to, m.rules, m.reason, m.text) for m in suppressions(text)
            ]
        self.part.lines += lines
        self.part.looked_at += 1
        frozen = b""
        if facts.events or facts.comments:
            frozen = facts.freeze()
        summary = Summary(facts)
        frozen_summary = summary.freeze()
        calls = summary.freeze_calls(facts.calls, hot_loops(facts))
        if memory is not None:
            head = Head(key, facts.module, lines, bool(frozen), None)
            memory.keep_read(head, frozen, frozen_summary, calls)
        return Read(file.path, facts.module, frozen_summary, calls, key, frozen)

    def _skip(
        self,
        file: SourceFile,
        reason: str,
        detail: str,
        line: int | None = None,
        key: bytes = b"",
    ) -> None:
        """``key``: nothing but the bytes of the file is the reason, which may be kept."""
        self.part.not_looked_at.append(NotLookedAt(file.path, reason, detail, line))
        if key and self.memory is not None:
            self.memory.keep_missed(key, reason, detail, line)

    # ---- second phase -----------------------------------------------------------------------------

    def settle(self, tree: Tree, progress: Callable[[], None]) -> list[Rest]:
        """Take from the cache what would be found again; what is to be judged anew although it was
        not read in this run."""
        if self.memory is None:
            return []
        index = self._index(tree)
        assert isinstance(index, RecordingIndex)
        rest = []
        groups = [
            [(p, self._judged_key(self.memory, p)) for p in paths if p in self._recalled]
            for paths in self.together.groups
        ]
        self.memory.expect_judged([[key for _, key in group] for group in groups])
        for group in groups:
            held = self.memory.held([key for _, key in group], index)
            for path, key in group:
                judged = self.memory.judged(key, self._by_path[path], index, held)
                if judged is None:
                    rest.append(Rest(path, self._recalled[path], b"", b""))
                    continue
                self._add(judged, path)
                progress()
        return rest

    def _judged_key(self, memory: Memory, path: str) -> bytes:
        return memory.judged_key(self._recalled[path], self._by_path[path])

    def called_by(self, tree: Tree, part: int, parts: int) -> bytes:
        """Who calls whom in one part of the tree, for ``know_callers``."""
        return marshal.dumps(self._index(tree).called_by(part, parts))

    def known_callers(self, tree: Tree) -> bytes | None:
        """Likewise in all of it; None: it was not asked for yet."""
        known = self._index(tree).known_callers()
        return None if known is None else marshal.dumps(known)

    def know_callers(self, tree: Tree, parts: Iterable[bytes]) -> None:
        """Take from others who calls whom: each process finds a part of it."""
        self._index(tree).know_callers(list(map(marshal.loads, parts)))

    def emptied(self) -> PythonAuditor:
        """Itself in a process of its own, without what the process it came from found."""
        self.part = Part()
        self._made = None
        return self

    def expect(self, paths: Iterable[str]) -> None:
        """Files that ``judge_all`` will be given, here or in another process."""
        if self.memory is not None:
            self.together.expect(frozenset(paths), self._recalled)

    def judge_all(self, tree: Tree, progress: Callable[[], None], rest: Iterable[Rest]) -> Part:
        """Judge the files of ``rest``."""
        judge = Judge(self.book, self.targets, self._index(tree))
        for path, key, kept, kept_summary in rest:
            self._keys[path] = key
            summary = self._own(path, judge.index)
            if kept:
                frozen = tree.spool.get(kept)
                summary = summary or Summary.thaw(tree.spool.get(kept_summary))
            else:
                assert self.memory is not None
                frozen = self.memory.facts(key)
                summary = summary or Summary.thaw(self.memory.summary(key))
            facts = ModuleFacts.thaw(frozen, summary)
            self._judge(judge, self._by_path[path], facts, summary)
            progress()
        return self.part

    @staticmethod
    def _own(path: str, index: TreeIndex) -> Summary | None:
        """The summary that others get of a file, too; None: they get another (of a stub beside it)."""
        summary = index.plain(module_id(path))
        return summary if summary is not None and summary.path == path else None

    def _index(self, tree: Tree) -> TreeIndex:
        if self._made is None or self._made[0] is not tree:
            index: TreeIndex
            fresh = tree.summaries()
            if self.memory is None:
                index = TreeIndex(fresh, self.modules)
            else:
                index = RecordingIndex(fresh, self.modules, tree.keys, self.memory)
            self._made = (tree, index)
        return self._made[1]

    def _judge(self, judge: Judge, file: SourceFile, facts: ModuleFacts, summary: Summary) -> None:
        try:
            self._judge_one(judge, file, facts, summary)
        except Damaged:
            raise
        except Exception as error:
            # A fault of ours costs one file, which is reported, not the whole audit.
            if os.environ.get("NEURONPORT_DEBUG"):
                raise
            self.part.looked_at -= 1
            self._skip(
                file,
                "internal-error",
                f"a fault in neuronport ({type(error).__name__}: {error}); please report it",
            )

    def _judge_one(
        self, judge: Judge, file: SourceFile, facts: ModuleFacts, summary: Summary
    ) -> None:
        path = file.path
        index = judge.index
        if isinstance(index, RecordingIndex):
            index.start()
        lines = _LazyLines(file)
        findings, references = judge.module(facts, summary, lines, file.role)
        marks = [Suppression(*mark) for mark in facts.comments]
        shown, hidden, unused = apply(findings, marks)
        judged = Judged(
            fingerprinted(shown),
            fingerprinted(references),
            fingerprinted(hidden),
            [(path, mark.line, mark.text) for mark in unused],
            judge.reaches,
        )
        self._add(judged, path)
        if self.memory is not None and isinstance(index, RecordingIndex):
            key = self._keys[path]
            if lines.data is None or self.memory.key(file, lines.data) == key:
                key = self.memory.judged_key(key, file)
                self.memory.keep_judged(key, file, judged, index, self.together)

    def _add(self, judged: Judged, path: str) -> None:
        self.part.findings += judged.findings
        self.part.references += judged.references
        self.part.suppressed += judged.suppressed
        self.part.unused += judged.unused
        self.part.reaches += [(path, reach) for reach in judged.reaches]


class _LazyLines(Sequence[str]):
    """The lines of a file, read again only when there is a finding to show."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._lines: list[str] | None = None
        self.data: bytes | None = None
        """The bytes of the file as they were found, perhaps changed since it was judged."""

    def _load(self) -> list[str]:
        if self._lines is None:
            self.data = b""
            try:
                self.data = read_source(self._file)
                text = decode_python(self.data).text
                # The ends of lines are not shown, and are seldom anything else.
                self._lines = split_lines(text) if "\r" in text else text.split("\n")
            except (WorkspaceError, Undecodable):
                self._lines = []
        return self._lines

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self._load()[index]

    def __len__(self) -> int:
        return len(self._load())


def parse(text: str) -> ast.Module:
    """Parse without warnings on the user's terminal.

    Raises SyntaxError, ValueError, RecursionError, MemoryError: as ``ast.parse``.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _why_unparsed(error: SyntaxError) -> tuple[str, str]:
    message = error.msg or "invalid syntax"
    if (
        "Missing parentheses in call to 'print'" in message
        or "Missing parentheses in call to 'exec'" in message
    ):
        return "python-2", "written for Python 2"
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return (
        "syntax-error",
        f"does not parse as Python {version}: {message}; if it is written for a newer Python, "
        "run neuronport with that one",
    )


def quiet_interpreter() -> None:
    """Long runs over many short-lived trees: the collector only costs."""
    gc.disable()
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION))


def to_judge(read: Read) -> Iterator[Rest]:
    """What is to be judged of a file that was read; perhaps nothing."""
    if read.facts:
        yield Rest(read.path, read.key, read.facts, read.summary)


def by_path(rest: list[Rest]) -> Iterator[Rest]:
    """In the order of paths, letting go of each: modules that know each other lie together."""
    rest.sort(reverse=True)
    while rest:
        yield rest.pop()


def audit_serially(
    python: Sequence[SourceFile],
    targets: Sequence[Target],
    progress: Callable[[str], None],
    store: Store | None = None,
    tree: Tree | None = None,
) -> Part:
    """Read and judge in this process."""
    quiet_interpreter()
    auditor = PythonAuditor(python, targets, store)
    tree = tree or Tree()
    rest: list[Rest] = []
    for file in auditor.recall(python, tree, lambda: progress("read")):
        read = auditor.read(file)
        if read is not None:
            tree.add(read)
            rest += to_judge(read)
        progress("read")
    rest += auditor.settle(tree, lambda: progress("judge"))
    auditor.expect(r.path for r in rest)
    part = auditor.judge_all(tree, lambda: progress("judge"), by_path(rest))
    part.sort()
    return part


__all__ = ["Part", "PythonAuditor", "Read", "Role", "Tree", "audit_serially", "parse"]
