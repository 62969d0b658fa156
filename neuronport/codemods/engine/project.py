"""The project being rewritten: an audit of it, and the files with something to rewrite."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from weakref import finalize

from neuronport.audit import Tree, quiet_interpreter
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, Role
from neuronport.pool import audit_python
from neuronport.readers.python.facts import ModuleFacts
from neuronport.rulebook.judge import Judge
from neuronport.rulebook.load import rulebook
from neuronport.source.index import TreeIndex
from neuronport.source.summary import Summary
from neuronport.source.view import ModuleView
from neuronport.spool import Kept
from neuronport.targets import Target
from neuronport.workspace import (
    Undecodable,
    Workspace,
    WorkspaceError,
    decode_python,
    modules,
    read_source,
)

_SETS_VISIBLE = re.compile(
    r"""environ(?:\[|\.setdefault\(|\.update\()\s*(?:\w+=)?\s*['"]?CUDA_VISIBLE_DEVICES"""
    r"""|putenv\(\s*['"]CUDA_VISIBLE_DEVICES"""
)


_KEPT = 4_000_000
"""Characters of the files that are kept parsed; the syntax tree of one takes about eighty bytes."""
_IMPORT = re.compile(
    r"""^[ \t]*(?:
        from[ \t]+(?P<module>\.*[\w.]*)[ \t]+import[ \t(]+(?P<names>[^\r\n#)]*)
        | import[ \t]+(?P<plain>[\w., \t]+))""",
    re.MULTILINE | re.VERBOSE,
)


class Project:
    """A tree, audited, whose facts are kept for rewriting."""

    def __init__(
        self,
        workspace: Workspace,
        targets: Sequence[Target],
        progress: Callable[[str], None],
        jobs: int = 1,
    ) -> None:
        quiet_interpreter()
        self.workspace = workspace
        self.root = workspace.root
        python = [f for f in workspace.files if f.kind in ("python", "stub")]
        self._states = {f.path: _state(f.absolute) for f in python}
        self._tree = Tree()
        self._tree.facts = {}
        finalize(self, self._tree.close)
        self.part = audit_python(python, targets, jobs, progress, tree=self._tree)
        self.modules = modules(python)
        self.index = TreeIndex(self._tree.summaries(), self.modules)
        self._modules = sorted(self._tree.fresh)
        self._taken: dict[str, set[str]] | None = None
        self._stars = False
        self._own_cuda: bool | None = None
        self._visible: bool | None = None
        self._imported: dict[str, Sequence[str]] | None = None
        self._judge = Judge(rulebook(), tuple(targets), self.index)
        self.files = {f.path: f for f in workspace.files}
        self._sources: dict[str, Source | None] = {}
        self._characters = 0
        self.findings: dict[str, list[Finding]] = {}
        for finding in self.part.findings:
            self.findings.setdefault(finding.location.path, []).append(finding)
        self.python = [f.path for f in python]

    def in_new_process(self) -> None:
        """To be called in a process that was forked: places in files are not shared with others."""
        self._tree.spool.close()

    def forget(self) -> None:
        """Let go of the files that are kept parsed."""
        self._sources.clear()
        self._characters = 0

    def source(self, path: str) -> Source | None:
        """A file of the tree as codemods see it; None: it cannot be read or rewritten."""
        if path not in self._sources:
            source = self._read(path)
            self._characters += len(source.text) if source is not None else 0
            if self._characters > _KEPT and self._sources:
                self.forget()
            self._sources[path] = source
        return self._sources[path]

    def _read(self, path: str) -> Source | None:
        file = self.files.get(path)
        assert self._tree.facts is not None
        kept = self._tree.facts.get(path)
        if file is None or kept is None or file.kind != "python":
            return None
        try:
            decoded = decode_python(read_source(file))
        except (WorkspaceError, Undecodable):
            return None
        if not decoded.exact or self.is_changed(path):
            return None
        return Source(file, decoded, lambda: self._view(kept))

    def is_changed(self, path: str) -> bool:
        """Whether a file is no longer what was audited."""
        return _state(self.files[path].absolute) != self._states[path]

    def _view(self, kept: tuple[Kept, Kept]) -> ModuleView:
        frozen, frozen_summary = map(self._tree.spool.get, kept)
        summary = Summary.thaw(frozen_summary)
        facts = ModuleFacts.thaw(frozen, summary)
        return ModuleView(facts, summary, self.index, self._judge.missing)

    def imported_names(self) -> Mapping[str, Sequence[str]]:
        """For each file, the dotted names its imports at module level bring."""
        if self._imported is None:
            self._imported = {}
            for module in self._modules:
                summary = self.index.module(module)
                if summary is None:
                    continue
                names = [
                    str(value[1])
                    for value in summary.exports.values()
                    if value is not None and value[0] == "ref" and value[1][:1] != "@"
                ]
                self._imported[summary.path] = [*names, *summary.stars]
        return self._imported

    def imports(self, path: str) -> Iterator[tuple[int, str]]:
        """What a file imports wherever it stands: dots in front, and the dotted name, with what is
        taken from it where that is on the same line. As written: what docstrings show counts, too."""
        for match in _IMPORT.finditer(self._text(path)):
            if match["plain"]:
                for name in match["plain"].split(","):
                    yield 0, name.split()[0] if name.split() else ""
                continue
            module = match["module"]
            dots = len(module) - len(module.lstrip("."))
            names = [n.split()[0] for n in match["names"].split(",") if n.split()]
            taken = [n for n in names if n.isidentifier()]
            for name in taken or [""]:
                yield dots, ".".join(filter(None, (module[dots:], name)))

    def imported_by_others(self, path: str, name: str) -> bool:
        """Whether other files may import a name of this file: they import it from somewhere in the
        tree, or something by a star, which is not followed."""
        if self._taken is None:
            self._taken = {}
            for summary in self.summaries():
                if summary.stars:
                    self._stars = True
                for value in summary.exports.values():
                    if (
                        value is not None
                        and value[0] == "ref"
                        and self.index.localize(str(value[1]), summary)[:1] == "@"
                    ):
                        taken = str(value[1]).rpartition(".")[2]
                        self._taken.setdefault(taken, set()).add(summary.path)
        return self._stars or bool(self._taken.get(name, set()) - {path})

    def summaries(self) -> Iterator[Summary]:
        """What is known of each module."""
        for module in self._modules:
            summary = self.index.module(module)
            if summary is not None:
                yield summary

    def has_own_cuda(self) -> bool:
        """Whether the tree has a class of its own with ``cuda`` and without ``to``."""
        if self._own_cuda is None:
            self._own_cuda = any(
                "cuda" in cls.methods and "to" not in cls.methods and not cls.bases
                for summary in self.summaries()
                for cls in summary.classes.values()
            )
        return self._own_cuda

    def sets_visible_devices(self) -> bool:
        """Whether the project itself says which GPUs are visible, in Python."""
        if self._visible is None:
            self._visible = any(
                _SETS_VISIBLE.search(self._text(path)) is not None for path in self.python
            )
        return self._visible

    def _text(self, path: str) -> str:
        try:
            return decode_python(read_source(self.files[path])).text
        except (WorkspaceError, Undecodable):
            return ""

    def rewritable(self, path: str) -> bool:
        """Vendored code is somebody else's, and what was set aside is not ours to touch."""
        return self.files[path].role is not Role.VENDORED


def _state(path: str) -> tuple[int, ...]:
    """What changes when somebody writes a file."""
    try:
        state = os.lstat(path)
    except OSError:
        return ()
    return state.st_mtime_ns, state.st_size, state.st_ino
