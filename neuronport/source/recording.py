"""An index that knows what it was asked.

What is found in a module depends on others only through what the index says: what single things are
in a module (an export, a function, a class, an attribute, a variable), who calls something, and,
depending on nothing but which modules there are, what a name means.

The digest of a thing says nothing of where in its module it stands: lines count from its own, and
variables are known by name. Only what names a line of another module (the steps of how a value came
to a finding) depends on all of that module.
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from neuronport.audit_cache.store import digest
from neuronport.source.index import MOST_CALLERS, Call, TreeIndex
from neuronport.source.summary import Beside, Summary
from neuronport.source.watched import ALL, MARK, Item, Watched, mark_of
from neuronport.spool import Summaries
from neuronport.workspace import Modules

_BASES = "*"
"""No path: apart from those, for the bases of a class; with a question, for the answer to it."""
_T = TypeVar("_T")


class Asked:
    """Questions, as they were asked."""

    __slots__ = ("callers", "items", "local", "remembered", "splits", "starred")

    def __init__(self) -> None:
        self.items: set[tuple[str, str, Any]] = set()
        self.splits: set[str] = set()
        self.local: set[tuple[str, str]] = set()
        self.remembered: set[tuple[str, str]] = set()
        """Answers that were given before, or will be: what is behind them is known apart."""
        self.callers: set[str] = set()
        self.starred: set[tuple[str, str, tuple[str, ...], str]] = set()


class Needs(NamedTuple):
    """What something depended on; all sorted."""

    items: tuple[tuple[str, tuple[Item, ...]], ...]
    """A module and the things in it that were consulted."""
    callers: tuple[str, ...]
    """Names whose callers were asked for."""
    splits: tuple[tuple[str, str], ...]
    """A name of the tree, and the module it begins with; empty: none."""
    local: tuple[tuple[str, str, str], ...]
    """A folder, an imported name, and what the name means there."""
    starred: tuple[tuple[str, str, tuple[str, ...], str, str], ...]
    """A module, its path and stars, a name that only these can have brought, and from where."""


Edges: TypeAlias = "list[tuple[str, int, bytes]]"
"""Whom a module calls: name, position among its calls, digest of the call."""


class Kept(Protocol):
    """Where the index finds what was not read in this run."""

    def summary(self, module: str) -> bytes: ...

    def calls(self, module: str) -> bytes: ...

    def edges(self, module: str, index: RecordingIndex) -> Edges | None: ...

    def keep_edges(self, module: str, rows: Edges, needs: Needs, index: RecordingIndex) -> None: ...


class RecordingIndex(TreeIndex):
    """A ``TreeIndex`` that remembers what it was asked since ``start``."""

    def __init__(
        self,
        frozen: Summaries,
        modules: Modules,
        digests: Mapping[str, bytes],
        kept: Kept,
    ) -> None:
        super().__init__(frozen, modules)
        self.digests = digests
        """Of all that is known of every module of the tree, those not in ``frozen`` too."""
        self._kept = kept
        self._asked = Asked()
        self._behind: dict[tuple[str, str], Asked] = {}
        self._answers: dict[str, bytes] = {}
        self._homes: dict[str, frozenset[str]] = {}
        self._items: dict[tuple[str, str, Any], bytes] = {}
        self._calls_at: dict[tuple[str, int], bytes] = {}

    # ---- what was not read in this run --------------------------------------------------------------

    def _names(self) -> Iterable[str]:
        return self.digests

    def _has(self, name: str) -> bool:
        return name in self.digests

    def _thaw(self, name: str) -> Summary | None:
        if name not in self.digests:
            return None
        watched = Watched.thaw(self._summary(name))
        watched.watch(self)
        return watched

    def _summary(self, name: str) -> bytes:
        frozen = self._frozen.summary(name)
        return self._kept.summary(name) if frozen is None else frozen

    def _calls(self, name: str) -> bytes:
        frozen = self._frozen.calls(name)
        return self._kept.calls(name) if frozen is None else frozen

    # ---- questions ----------------------------------------------------------------------------------

    def start(self) -> None:
        self._asked = Asked()

    def consulted(self, module: str, kind: str, key: Any) -> None:
        self._asked.items.add((module, kind, key))

    def module(self, name: str) -> Summary | None:
        self._asked.splits.add(name)
        return super().module(name)

    def place(self, dotted: str) -> tuple[str, str]:
        if dotted[:1] == "@":
            self._asked.splits.add(dotted)
        return super().place(dotted)

    def localize(self, dotted: str, importer: Summary) -> str:
        if dotted[:1] == "@" or dotted.partition(".")[0] not in self.heads:
            return dotted
        self._asked.local.add((importer.path.rpartition("/")[0], dotted))
        return super().localize(dotted, importer)

    def canonical(self, dotted: str, importer: Summary) -> str:
        if dotted[:1] != "@" and dotted.partition(".")[0] not in self.heads:
            return dotted
        key = (importer.path if dotted[:1] != "@" else "", dotted)
        self._asked.remembered.add(key)
        known = self._canonical.get(key)
        if known is None:
            outer = self._aside()
            known = super().canonical(dotted, importer)
            self._behind[key], self._asked = self._asked, outer
        return known

    def _star_home(self, module: Summary, stars: tuple[str, ...], name: str) -> str:
        self._asked.starred.add((module.module, module.path, stars, name))
        # What is in how many modules is not what matters, but the answer.
        outer = self._aside()
        known = super()._star_home(module, stars, name)
        self._asked = outer
        return known

    def ancestors(self, dotted: str) -> list[str]:
        key = (_BASES, dotted)
        self._asked.remembered.add(key)
        known = self._ancestors.get(dotted)
        if known is None:
            outer = self._aside()
            known = super().ancestors(dotted)
            self._behind[key], self._asked = self._asked, outer
        return known

    def answer(self, question: str, dotted: str, find: Callable[[str], _T]) -> _T:
        key = (f"{_BASES}{question}", dotted)
        self._asked.remembered.add(key)
        if (question, dotted) not in self._answers_to:
            outer = self._aside()
            super().answer(question, dotted, find)
            self._behind[key], self._asked = self._asked, outer
        known: _T = self._answers_to[question, dotted]
        return known

    def _aside(self) -> Asked:
        """Begin anew, to know what one answer depends on that will be given again."""
        outer, self._asked = self._asked, Asked()
        return outer

    def callers(self, dotted: str, most: int = MOST_CALLERS) -> list[Call]:
        self._asked.callers.add(dotted)
        return super().callers(dotted, most)

    def times_called(self, dotted: str) -> int:
        self._asked.callers.add(dotted)
        return super().times_called(dotted)

    # ---- what the answers depended on ---------------------------------------------------------------

    def needs(self) -> Needs:
        """What the answers since ``start`` depended on."""
        asked = self._asked
        items = set(asked.items)
        splits = set(asked.splits)
        local = set(asked.local)
        starred = set(asked.starred)
        callers = set(asked.callers)
        pending, seen = list(asked.remembered), set(asked.remembered)
        while pending:
            behind = self._behind[pending.pop()]
            items |= behind.items
            splits |= behind.splits
            local |= behind.local
            starred |= behind.starred
            callers |= behind.callers
            pending += behind.remembered - seen
            seen |= behind.remembered
        found: dict[str, list[Item]] = {}
        for module, kind, thing in items:
            if kind == "definition" and thing != ALL:
                thing = self._watched(module).symbol(thing)
            found.setdefault(module, []).append((kind, thing))
        for path, stars in {(path, stars) for _, path, stars, _ in starred}:
            for home in self._star_modules(path, stars):
                found.setdefault(home, [])
        return Needs(
            tuple((module, tuple(sorted(set(things)))) for module, things in sorted(found.items())),
            tuple(sorted(callers)),
            tuple((dotted, self.head(dotted)) for dotted in sorted(splits)),
            tuple((folder, name, self._meaning(folder, name)) for folder, name in sorted(local)),
            tuple(
                (module, path, stars, name, self._starred[module, path].get(name, ""))
                for module, path, stars, name in sorted(starred)
            ),
        )

    def _star_modules(self, path: str, stars: tuple[str, ...]) -> frozenset[str]:
        """The modules of the tree whose names a module takes by star."""
        known = self._homes.get(path)
        if known is None:
            importer = Beside(path)
            homes = (TreeIndex.localize(self, star, importer) for star in stars)
            known = self._homes[path] = frozenset(home for home in homes if home in self.digests)
        return known

    def same_stars(
        self,
        starred: Iterable[tuple[str, str, tuple[str, ...], str, str]],
        changed: frozenset[str] | None,
    ) -> bool:
        """Whether star imports bring the same names from the same modules; ``changed``: all that
        is other than it was; None: which modules there are, too."""
        outer = self._aside()
        same = all(
            self._star_home(Beside(path, module), stars, name) == home
            for module, path, stars, name, home in starred
            if changed is None or not changed.isdisjoint(self._star_modules(path, stars))
        )
        self._asked = outer
        return same

    def head(self, dotted: str) -> str:
        """The module that a name of the tree begins with (the longest), or ''."""
        while dotted and dotted not in self.digests:
            dotted = dotted.rpartition(".")[0]
        return dotted

    def _meaning(self, folder: str, name: str) -> str:
        return TreeIndex.localize(self, name, Beside(f"{folder}/" if folder else ""))

    def same_shape(
        self, splits: Iterable[tuple[str, str]], local: Iterable[tuple[str, str, str]]
    ) -> bool:
        """Whether what depended only on which modules there are is still so."""
        return all(self.head(dotted) == head for dotted, head in splits) and all(
            self._meaning(folder, name) == meaning for folder, name, meaning in local
        )

    def digest_of_modules(self, names: Iterable[str]) -> bytes:
        """Of all that is known of these modules; changes when one is gone."""
        return digest(*(self.digests.get(name, b"") for name in names))

    def digest_of_items(self, module: str, items: Iterable[Item]) -> bytes:
        """Of what these things in a module are."""
        if module not in self.digests:
            return b""
        hasher = hashlib.sha256()
        for kind, key in items:
            known = self._items.get((module, kind, key))
            if known is None:
                known = self._items[module, kind, key] = self._watched(module).mark(kind, key)
            hasher.update(known)
        return hasher.digest()[:MARK]

    def digest_of_callers(self, names: Iterable[str]) -> bytes:
        """Of the answers of ``callers`` for these names."""
        return digest(*map(self._answer, names))

    def _watched(self, module: str) -> Watched:
        found = self._module(module)
        assert isinstance(found, Watched)
        return found

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

    def _find_callers(self) -> dict[str, list[tuple[str, int]]]:
        result: dict[str, list[tuple[str, int]]] = {}
        outer = self._asked
        for name in sorted(self.digests):
            rows = self._kept.edges(name, self)
            if rows is None:
                rows = self._made_edges(name)
            for callee, i, mark in rows:
                result.setdefault(callee, []).append((name, i))
                self._calls_at[name, i] = mark
        self._asked = outer
        return result

    def _made_edges(self, name: str) -> Edges:
        self._asked = Asked()
        blob = self._calls(name)
        path, called, frozen_calls = marshal.loads(blob) if blob else ("", {}, b"")
        calls = marshal.loads(frozen_calls) if frozen_calls else []
        rows = []
        for i, callee in self._edges(path, called):
            caller, args, kwargs, line, hot, guards = marshal.loads(calls[i])
            module = self._watched(name)
            conditions = tuple(
                (g.test, g.polarity, g.kind) for g in (module.guards[n] for n in guards)
            )
            plain = module.placeless((caller, args, kwargs, hot, conditions), line)
            rows.append((callee, i, mark_of(plain)))
        self._kept.keep_edges(name, rows, self.needs(), self)
        return rows
