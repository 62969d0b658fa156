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
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias

from neuronport.audit_cache.store import digest
from neuronport.readers.python.facts import Class, Definition, Function
from neuronport.source.index import MOST_CALLERS, Call, Summary, TreeIndex
from neuronport.workspace import Modules

Item: TypeAlias = "tuple[str, Any]"
"""Kind and key of a thing in a module; the key ``ALL``: every thing of the kind."""
ALL = "*"
_BASES = "*"
"""No path: apart from those, for the bases of a class."""
_MARK = 16
"""Bytes of a digest that are kept."""


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
        frozen: Mapping[str, tuple[bytes, bytes]],
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

    # ---- what was not read in this run --------------------------------------------------------------

    def _names(self) -> Iterable[str]:
        return self.digests

    def _has(self, name: str) -> bool:
        return name in self.digests

    def _module(self, name: str) -> Summary | None:
        found = self._thawed.get(name)
        if found is None:
            if name not in self.digests:
                return None
            watched = _Watched.thaw(self._summary(name))
            watched.watch(self)
            found = self._thawed[name] = watched
        return found

    def _summary(self, name: str) -> bytes:
        frozen = self._frozen.get(name)
        return self._kept.summary(name) if frozen is None else frozen[0]

    def _calls(self, name: str) -> bytes:
        frozen = self._frozen.get(name)
        return self._kept.calls(name) if frozen is None else frozen[1]

    # ---- questions ----------------------------------------------------------------------------------

    def start(self) -> None:
        self._asked = Asked()

    def consulted(self, module: str, kind: str, key: Any) -> None:
        self._asked.items.add((module, kind, key))

    def module(self, name: str) -> Summary | None:
        self._asked.splits.add(name)
        return super().module(name)

    def split(self, dotted: str) -> tuple[Summary, str] | None:
        if dotted[:1] != "@":
            return None
        self._asked.splits.add(dotted)
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

    def _aside(self) -> Asked:
        """Begin anew, to know what one answer depends on that will be given again."""
        outer, self._asked = self._asked, Asked()
        return outer

    def callers(self, dotted: str, most: int = MOST_CALLERS) -> list[Call]:
        self._asked.callers.add(dotted)
        return super().callers(dotted, most)

    # ---- what the answers depended on ---------------------------------------------------------------

    def needs(self) -> Needs:
        """What the answers since ``start`` depended on."""
        asked = self._asked
        items = set(asked.items)
        splits = set(asked.splits)
        local = set(asked.local)
        starred = set(asked.starred)
        pending, seen = list(asked.remembered), set(asked.remembered)
        while pending:
            behind = self._behind[pending.pop()]
            items |= behind.items
            splits |= behind.splits
            local |= behind.local
            starred |= behind.starred
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
            tuple(sorted(asked.callers)),
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
            importer = _Beside(path)
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
            self._star_home(_Beside(path, module), stars, name) == home
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
        return TreeIndex.localize(self, name, _Beside(f"{folder}/" if folder else ""))

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
        return hasher.digest()[:_MARK]

    def digest_of_callers(self, names: Iterable[str]) -> bytes:
        """Of the answers of ``callers`` for these names."""
        return digest(*map(self._answer, names))

    def _watched(self, module: str) -> _Watched:
        found = self._module(module)
        assert isinstance(found, _Watched)
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
                rows = self._made_edges(name)
            for callee, i, mark in rows:
                result.setdefault(callee, []).append((name, i))
                self._calls_at[name, i] = mark
        self._asked = outer
        return result

    def _made_edges(self, name: str) -> Edges:
        self._asked = Asked()
        blob = self._calls(name)
        calls = marshal.loads(blob) if blob else []
        rows = []
        for i, callee in self._edges(name, calls):
            caller, args, kwargs, line, hot, guards = marshal.loads(calls[i][1])
            module = self._watched(name)
            conditions = tuple(
                (g.test, g.polarity, g.kind) for g in (module.guards[n] for n in guards)
            )
            plain = module.placeless((caller, args, kwargs, hot, conditions), line)
            rows.append((callee, i, _mark(plain)))
        self._kept.keep_edges(name, rows, self.needs(), self)
        return rows


def _mark(plain: Any) -> bytes:
    return hashlib.blake2b(marshal.dumps(plain, 2), digest_size=_MARK).digest()


class _Watched(Summary):
    """A summary that tells the index what of it is consulted."""

    __slots__ = ("_numbers", "_plain_things", "_symbols", "index", "plain_stars")

    plain_stars: tuple[str, ...]
    _symbols: list[str] | None
    _numbers: dict[str, int]
    index: RecordingIndex | None

    @property
    def stars(self) -> tuple[str, ...]:
        if self.index is not None:
            self.index.consulted(self.module, "stars", ALL)
        return self.plain_stars

    @stars.setter
    def stars(self, stars: tuple[str, ...]) -> None:
        self.index = None
        self.plain_stars = stars

    def watch(self, index: RecordingIndex) -> None:
        def note(kind: str, key: Any) -> None:
            index.consulted(self.module, kind, key)

        self._symbols = None
        self._plain_things: dict[str, Any] = {
            "export": self.exports,
            "function": self.functions,
            "class": self.classes,
            "definition": self.definitions,
        }
        self.exports = _Entries(self.exports, "export", note)
        self.functions = _Entries(self.functions, "function", note)
        self.classes = _Entries(
            {
                name: cls._replace(attributes=_Entries(cls.attributes, f"attribute {name}", note))
                for name, cls in self.classes.items()
            },
            "class",
            note,
        )
        self.definitions = _Numbered(self.definitions, "definition", note)
        self.index = index

    def packages(self) -> set[str]:
        assert self.index is not None
        self.index.consulted(self.module, "packages", ALL)
        return self._packages(self._plain_things["export"])

    # ---- what things are, wherever they stand -------------------------------------------------------

    def symbol(self, number: int) -> str:
        """A name for a variable that other variables do not change: scope, name, occurrence."""
        if self._symbols is None:
            seen: dict[tuple[int, str], int] = {}
            self._symbols = []
            for definition in self._plain_things["definition"]:
                key = (definition.scope, definition.name)
                seen[key] = seen.get(key, 0) + 1
                scope = self.scopes[definition.scope]
                self._symbols.append(f"{scope.qualname} {definition.name} {seen[key]}")
            # Two scopes of one name: their variables are told apart by number.
            self._numbers = {}
            for i, name in enumerate(self._symbols):
                if name in self._numbers:
                    name = self._symbols[i] = f"{name} {i}"
                self._numbers[name] = i
        return self._symbols[number]

    def mark(self, kind: str, key: Any) -> bytes:
        """The digest of a thing; of one that is not there it is another."""
        return _mark(self._thing(kind, key))

    def _thing(self, kind: str, key: Any) -> Any:
        things = self._plain_things
        if kind == "stars":
            return self.plain_stars
        if kind == "packages":
            return sorted(self._packages(things["export"]))
        if kind.startswith("attribute "):
            cls = things["class"].get(kind.partition(" ")[2])
            if cls is None:
                return None
            if key == ALL:
                return [(k, self.placeless(v, cls.line)) for k, v in cls.attributes.items()]
            values = cls.attributes.get(key)
            return None if values is None else (self.placeless(values, cls.line),)
        if key == ALL:
            if kind == "definition":
                return [self._definition(d) for d in things[kind]]
            return [(k, self._thing(kind, k)) for k in things[kind]]
        if kind == "definition":
            self.symbol(0) if things[kind] else None
            number = self._numbers.get(key) if things[kind] else None
            return None if number is None else self._definition(things[kind][number])
        if key not in things[kind]:
            return None
        thing = things[kind][key]
        if kind == "function":
            return self._function(thing)
        if kind == "class":
            return self._class(thing)
        return (self.placeless(thing, 0) if type(thing) is tuple else thing,)

    def _definition(self, thing: Definition) -> Any:
        guards = [
            (self.placeless((g.test,), thing.line), g.polarity, g.kind)
            for g in (self.guards[i] for i in thing.guards)
        ]
        value, annotation = self.placeless((thing.value, thing.annotation), thing.line)
        scope = self.scopes[thing.scope]
        return value, thing.name, annotation, scope.qualname, guards

    def _function(self, thing: Function) -> Any:
        return self.placeless(tuple(thing._replace(line=0)), thing.line)

    def _class(self, thing: Class) -> Any:
        return self.placeless(tuple(thing._replace(line=0, attributes={})), thing.line)

    def placeless(self, value: Any, line: int) -> Any:
        """A value, or a tuple with some, whose lines count from ``line`` and whose variables are
        known by name."""
        if not value:
            return value
        tag = value[0]
        if tag == "const" or tag == "ref":
            return value
        if tag == "v" and len(value) == 2 and type(value[1]) is int:
            return ("v", self.symbol(value[1]))
        plain = [self.placeless(v, line) if type(v) is tuple else v for v in value]
        if tag == "call" and len(value) == 5 and type(value[4]) is int:
            plain[4] -= line
        return tuple(plain)


class _Entries(dict[str, Any]):
    """A mapping that tells what of it is consulted."""

    __slots__ = ("kind", "note")

    def __init__(self, entries: Mapping[str, Any], kind: str, note: Any) -> None:
        super().__init__(entries)
        self.kind = kind
        self.note = note

    def __getitem__(self, key: str) -> Any:
        self.note(self.kind, key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.note(self.kind, key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.note(self.kind, key)
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        self.note(self.kind, ALL)
        return super().__iter__()

    def __len__(self) -> int:
        self.note(self.kind, ALL)
        return super().__len__()

    def __eq__(self, other: object) -> bool:
        self.note(self.kind, ALL)
        return super().__eq__(other)

    __hash__ = None

    def keys(self) -> Any:
        self.note(self.kind, ALL)
        return super().keys()

    def values(self) -> Any:
        self.note(self.kind, ALL)
        return super().values()

    def items(self) -> Any:
        self.note(self.kind, ALL)
        return super().items()


class _Numbered(list[Any]):
    """Likewise for what is known by number."""

    __slots__ = ("kind", "note")

    def __init__(self, entries: Iterable[Any], kind: str, note: Any) -> None:
        super().__init__(entries)
        self.kind = kind
        self.note = note

    def __getitem__(self, number: Any) -> Any:
        self.note(self.kind, number if type(number) is int else ALL)
        return super().__getitem__(number)

    def __iter__(self) -> Iterator[Any]:
        self.note(self.kind, ALL)
        return super().__iter__()

    def __len__(self) -> int:
        self.note(self.kind, ALL)
        return super().__len__()


class _Beside(Summary):
    """Whoever imports: ``localize`` wants no more than where that is."""

    __slots__ = ()

    def __init__(self, path: str, module: str = "") -> None:
        self.path = path
        self.module = module
