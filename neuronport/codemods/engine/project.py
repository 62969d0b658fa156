"""The project being rewritten: an audit of it, and the files with something to rewrite."""

from __future__ import annotations

import marshal
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from neuronport.audit import PythonAuditor, Rest, Tree, quiet_interpreter, to_judge
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, Role
from neuronport.readers.python.facts import ModuleFacts
from neuronport.rulebook.judge import Judge
from neuronport.source.index import TreeIndex
from neuronport.source.summary import Summary
from neuronport.source.view import ModuleView
from neuronport.targets import Target
from neuronport.workspace import (
    Undecodable,
    Workspace,
    WorkspaceError,
    decode_python,
    read_source,
)

_SETS_VISIBLE = re.compile(
    r"""environ(?:\[|\.setdefault\(|\.update\()\s*(?:\w+=)?\s*['"]?CUDA_VISIBLE_DEVICES"""
    r"""|putenv\(\s*['"]CUDA_VISIBLE_DEVICES"""
)


class Project:
    """A tree, audited in this process, whose facts are kept for rewriting."""

    def __init__(
        self, workspace: Workspace, targets: Sequence[Target], progress: Callable[[str], None]
    ) -> None:
        quiet_interpreter()
        self.workspace = workspace
        self.root = workspace.root
        python = [f for f in workspace.files if f.kind in ("python", "stub")]
        auditor = PythonAuditor(python, targets)
        tree = Tree()
        rest: list[Rest] = []
        for file in python:
            read = auditor.read(file)
            if read is not None:
                tree.add(read)
                rest += to_judge(read)
            progress("read")
        self._frozen = {r.path: tree.spool.get(r.facts) for r in rest}
        self.index = TreeIndex(tree.summaries(), auditor.modules)
        self._modules = sorted(tree.fresh)
        self._taken: dict[str, set[str]] | None = None
        self._stars = False
        self._own_cuda: bool | None = None
        self._visible: bool | None = None
        self._imported: dict[str, Sequence[str]] | None = None
        self.modules = auditor.modules
        self._judge = Judge(auditor.book, targets, self.index)
        self.part = auditor.judge_all(tree, lambda: progress("judge"), rest)
        self.part.sort()
        self.files = {f.path: f for f in workspace.files}
        self._sources: dict[str, Source | None] = {}
        self.findings: dict[str, list[Finding]] = {}
        for finding in self.part.findings:
            self.findings.setdefault(finding.location.path, []).append(finding)
        self.python = [f.path for f in python]

    def source(self, path: str) -> Source | None:
        """A file of the tree as codemods see it; None: it cannot be read or rewritten."""
        if path not in self._sources:
            self._sources[path] = self._read(path)
        return self._sources[path]

    def _read(self, path: str) -> Source | None:
        file = self.files.get(path)
        frozen = self._frozen.get(path)
        if file is None or frozen is None or file.kind != "python":
            return None
        try:
            decoded = decode_python(read_source(file))
        except (WorkspaceError, Undecodable):
            return None
        if not decoded.exact:
            return None
        facts = ModuleFacts.thaw(marshal.loads(frozen))
        return Source(file, decoded, ModuleView(facts, self.index, self._judge.missing))

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
