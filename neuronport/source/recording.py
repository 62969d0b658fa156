"""An index that knows what it was asked.

What is found in a module depends on others only through what the index says. Three kinds of answers
are told apart: the summary of a module of the tree, the calls of something in the tree, and what
depends on nothing but which modules there are (that a name is none, which file an import means).
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias

from neuronport.audit_cache.store import digest
from neuronport.source.index import MOST_CALLERS, Call, Summary, TreeIndex
from neuronport.workspace import Modules


class Asked:
    """Questions, as they were asked."""

    __slots__ = ("callers", "canonical", "local", "modules", "splits")

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.splits: set[str] = set()
        self.local: set[tuple[str, str]] = set()
        self.canonical: set[tuple[str, str]] = set()
        self.callers: set[str] = set()


class Needs(NamedTuple):
    """What something depended on; all sorted."""

    modules: tuple[str, ...]
    """Modules whose summary was consulted."""
    callers: tuple[str, ...]
    """Names whose callers were asked for."""
    splits: tuple[tuple[str, str], ...]
    """A name of the tree, and the module it begins with; empty: none."""
    local: tuple[tuple[str, str, str], ...]
    """A folder, an imported name, and what the name means there."""


Edges: TypeAlias = "list[tuple[str, int, bytes]]"
"""Whom a module calls: name, position among its calls, digest of the call."""


class Kept(Protocol):
    """Where the index finds what was not read in this run."""

    def summary(self, module: str) -> bytes: ...

    def calls(self, module: str) -> bytes: ...

    def edges(self, module: str, index: RecordingIndex) -> Edges | None: ...

    def keep_edges(
        self,
        module: str,
        rows: Edges,
        needs: Needs,
        index: RecordingIndex,
    ) -> None: ...


class RecordingIndex(TreeIndex):
    """A ``TreeIndex`` that remembers what it was asked since ``start``."""

    def __init__(
        self,
        frozen: Mapping[str, tuple[bytes, bytes]],
        modules: Modules,
        digests: Mapping[str, bytes],
        kept: Kept,
    ) -> None:
        super().__init__(frozen, modules)
        self.digests = digests
        """Of the summary of every module of the tree, those not in ``frozen`` too."""
        self._kept = kept
        self._asked = Asked()
        self._behind: dict[tuple[str, str], Asked] = {}
        self._answers: dict[str, bytes] = {}

    # ---- what was not read in this run --------------------------------------------------------------

    def _names(self) -> Iterable[str]:
        return self.digests

    def _module(self, name: str) -> Summary | None:
        return super()._module(name) if name in self.digests else None

    def _summary(self, name: str) -> bytes | None:
        frozen = self._frozen.get(name)
        return self._kept.summary(name) if frozen is None else frozen[0]

    def _calls(self, name: str) -> bytes:
        frozen = self._frozen.get(name)
        return self._kept.calls(name) if frozen is None else frozen[1]

    # ---- questions ----------------------------------------------------------------------------------

    def start(self) -> None:
        self._asked = Asked()

    def module(self, name: str) -> Summary | None:
        self._asked.modules.add(name)
        return super().module(name)

    def split(self, dotted: str) -> tuple[Summary, str] | None:
        if dotted[:1] != "@":
            return None
        self._asked.splits.add(dotted)
        if dotted in self._split:
            return self._split[dotted]
        return super().split(dotted)

    def localize(self, dotted: str, importer: Summary) -> str:
        if dotted[:1] == "@" or dotted.partition(".")[0] not in self.heads:
            return dotted
        self._asked.local.add((importer.path.rpartition("/")[0], dotted))
        return super().localize(dotted, importer)

    def canonical(self, dotted: str, importer: Summary) -> str:
        if dotted[:1] != "@" and dotted.partition(".")[0] not in self.heads:
            return dotted
        key = (importer.path if dotted[:1] != "@" else "", dotted)
        self._asked.canonical.add(key)
        known = self._canonical.get(key)
        if known is None:
            outer, self._asked = self._asked, Asked()
            known = super().canonical(dotted, importer)
            self._behind[key], self._asked = self._asked, outer
        return known

    def callers(self, dotted: str, most: int = MOST_CALLERS) -> list[Call]:
        self._asked.callers.add(dotted)
        return super().callers(dotted, most)

    # ---- what the answers depended on ---------------------------------------------------------------

    def needs(self) -> Needs:
        """What the answers since ``start`` depended on."""
        asked = self._asked
        modules = set(asked.modules)
        splits = set(asked.splits)
        local = set(asked.local)
        for key in asked.canonical:
            behind = self._behind[key]
            modules |= behind.modules
            splits |= behind.splits
            local |= behind.local
        # A module that was asked for by its id and is none: as a name that begins with none.
        splits.update(name for name in modules if name not in self.digests)
        modules.intersection_update(self.digests)
        heads = [(dotted, self.head(dotted)) for dotted in sorted(splits)]
        modules.update(head for _, head in heads if head)
        return Needs(
            tuple(sorted(modules)),
            tuple(sorted(asked.callers)),
            # A module begins with itself: nothing to check beyond its digest.
            tuple((dotted, head) for dotted, head in heads if dotted != head),
            tuple((folder, name, self._meaning(folder, name)) for folder, name in sorted(local)),
        )

    def head(self, dotted: str) -> str:
        """The module that a name of the tree begins with (the longest), or ''."""
        while dotted and dotted not in self.digests:
            dotted = dotted.rpartition(".")[0]
        return dotted

    def _meaning(self, folder: str, name: str) -> str:
        return TreeIndex.localize(self, name, _Beside(folder))

    def same_shape(self, needs_splits: Any, needs_local: Any) -> bool:
        """Whether what depended only on which modules there are is still so."""
        return all(self.head(dotted) == head for dotted, head in needs_splits) and all(
            self._meaning(folder, name) == meaning for folder, name, meaning in needs_local
        )

    def digest_of_modules(self, names: Iterable[str]) -> bytes:
        """Of the summaries of these modules; changes when one is gone."""
        return digest(*(self.digests.get(name, b"") for name in names))

    def digest_of_callers(self, names: Iterable[str]) -> bytes:
        """Of the answers of ``callers`` for these names."""
        return digest(*map(self._answer, names))

    def _answer(self, dotted: str) -> bytes:
        known = self._answers.get(dotted)
        if known is None:
            places = self._callers.get(dotted, ())[:MOST_CALLERS]
            known = self._answers[dotted] = digest(
                *(
                    part
                    for module, i in places
                    for part in (module.encode("utf-8", "surrogatepass"), self._calls_at[module, i])
                )
            )
        return known

    # ---- who calls what -----------------------------------------------------------------------------

    @cached_property
    def _calls_at(self) -> dict[tuple[str, int], bytes]:
        return {}

    @cached_property
    def _callers(self) -> dict[str, list[tuple[str, int]]]:
        result: dict[str, list[tuple[str, int]]] = {}
        outer = self._asked
        for name in sorted(self.digests):
            rows = self._kept.edges(name, self)
            if rows is None:
                self._asked = Asked()
                blob = self._calls(name)
                calls = marshal.loads(blob) if blob else []
                rows = [
                    (callee, i, digest(marshal.dumps(calls[i], 2))[:8])
                    for i, callee in self._edges(name, calls)
                ]
                self._kept.keep_edges(name, rows, self.needs(), self)
            for callee, i, mark in rows:
                result.setdefault(callee, []).append((name, i))
                self._calls_at[name, i] = mark
        self._asked = outer
        return result


class _Beside(Summary):
    """Whoever imports from a folder: ``localize`` wants no more than where that is."""

    __slots__ = ()

    def __init__(self, folder: str) -> None:
        self.path = f"{folder}/" if folder else ""
