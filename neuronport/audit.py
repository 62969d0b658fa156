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
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from neuronport.findings import Finding, NotLookedAt, Role, fingerprinted
from neuronport.readers.python.evaluate import read_module
from neuronport.readers.python.facts import Interest, ModuleFacts, module_id
from neuronport.rulebook.interest import interest as interest_of
from neuronport.rulebook.judge import Judge
from neuronport.rulebook.load import rulebook
from neuronport.rulebook.suppress import Suppression, apply, suppressions
from neuronport.source.hot import training_loops
from neuronport.source.index import Summary, TreeIndex, import_heads
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
    not_looked_at: list[NotLookedAt] = field(default_factory=list)
    lines: int = 0
    looked_at: int = 0

    def add(self, other: Part) -> None:
        self.findings += other.findings
        self.references += other.references
        self.suppressed += other.suppressed
        self.unused += other.unused
        self.not_looked_at += other.not_looked_at
        self.lines += other.lines
        self.looked_at += other.looked_at

    def sort(self) -> None:
        self.findings = fingerprinted(self.findings)
        self.references = fingerprinted(self.references)
        self.suppressed = fingerprinted(self.suppressed)
        self.unused.sort()
        self.not_looked_at.sort(key=lambda n: (n.path, n.line or 0, n.reason))


class PythonAuditor:
    """Reads and judges some of the Python files of a tree; one per process."""

    def __init__(self, python: Sequence[SourceFile], targets: Sequence[Target]) -> None:
        self.modules: Modules = modules(python)
        self.targets = tuple(targets)
        self.heads = import_heads(self.modules)
        self.book = rulebook()
        self.interest: Interest = interest_of(self.book)
        self.part = Part()
        self._facts: dict[str, bytes] = {}
        self._roles: dict[str, SourceFile] = {}

    # ---- first phase ------------------------------------------------------------------------------

    def read(self, file: SourceFile) -> tuple[str, tuple[bytes, bytes]] | None:
        """Parse one file and keep its facts; its module and summary for the index."""
        try:
            data = read_source(file)
            decoded = decode_python(data)
        except (WorkspaceError, Undecodable) as error:
            self._skip(file, error.reason, error.detail)
            return None
        text = decoded.text
        try:
            tree = parse(text)
        except SyntaxError as error:
            self._skip(file, *_why_unparsed(error), line=error.lineno)
            return None
        except (RecursionError, MemoryError):
            self._skip(file, "too-deeply-nested", "its expressions are nested too deeply to parse")
            return None
        except ValueError as error:
            self._skip(file, "not-python", str(error))
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
        self._roles[file.path] = file
        if facts.events or facts.comments:
            self._facts[file.path] = marshal.dumps(facts.freeze())
        summary = Summary(facts)
        return facts.module, (summary.freeze(), summary.freeze_calls(training_loops(facts)))

    def kept(self) -> dict[str, bytes]:
        """The facts of the files read so far, frozen; judging lets go of them."""
        return dict(self._facts)

    def _skip(self, file: SourceFile, reason: str, detail: str, line: int | None = None) -> None:
        self.part.not_looked_at.append(NotLookedAt(file.path, reason, detail, line))

    # ---- second phase -----------------------------------------------------------------------------

    def judge_all(
        self, summaries: dict[str, tuple[bytes, bytes]], progress: Callable[[], None]
    ) -> Part:
        """Judge every file that was read, with the summaries of the whole tree."""
        judge = Judge(self.book, self.targets, TreeIndex(summaries, self.modules))
        for path in sorted(self._facts):
            facts = ModuleFacts.thaw(marshal.loads(self._facts.pop(path)))
            try:
                self._judge(judge, self._roles[path], facts)
            except Exception as error:
                # A fault of ours costs one file, which is reported, not the whole audit.
                if os.environ.get("NEURONPORT_DEBUG"):
                    raise
                self.part.looked_at -= 1
                self._skip(
                    self._roles[path],
                    "internal-error",
                    f"a fault in neuronport ({type(error).__name__}: {error}); please report it",
                )
            progress()
        return self.part

    def _judge(self, judge: Judge, file: SourceFile, facts: ModuleFacts) -> None:
        lines = _LazyLines(file)
        findings, references = judge.module(facts, lines, file.role)
        marks = [Suppression(*mark) for mark in facts.comments]
        shown, hidden, unused = apply(findings, marks)
        self.part.findings += shown
        self.part.suppressed += hidden
        self.part.references += references
        self.part.unused += [(file.path, mark.line, mark.text) for mark in unused]


class _LazyLines(Sequence[str]):
    """The lines of a file, read again only when there is a finding to show."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._lines: list[str] | None = None

    def _load(self) -> list[str]:
        if self._lines is None:
            try:
                self._lines = split_lines(decode_python(read_source(self._file)).text)
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


def audit_serially(
    python: Sequence[SourceFile], targets: Sequence[Target], progress: Callable[[str], None]
) -> Part:
    """Read and judge in this process."""
    quiet_interpreter()
    auditor = PythonAuditor(python, targets)
    summaries: dict[str, tuple[bytes, bytes]] = {}
    for file in python:
        read = auditor.read(file)
        if read is not None:
            summaries[read[0]] = read[1]
        progress("read")
    part = auditor.judge_all(summaries, lambda: progress("judge"))
    part.sort()
    return part


__all__ = ["Part", "PythonAuditor", "Role", "audit_serially", "parse"]
