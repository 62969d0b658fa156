"""An index that knows what it was asked.

What is found in a module depends on others only through what the index says: what single things are
in a module (an export, a function, a class, an attribute, a variable), who calls something, and,
depending on nothing but which modules there are, what a name means.

Everything that was asked is known by a number, and is told only when a file is done: it is asked again
and again, and a number costs little to keep. What the things asked for were is not kept: that can be
looked up in the summary of then (``source.changed``) when a module has become another.
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from neuronport.source.changed import Change, Moved, State
from neuronport.source.index import MOST_CALLERS, Call, Edges, TreeIndex
from neuronport.source.summary import Beside, Summary
from neuronport.source.telling import Item
from neuronport.source.watched import Watched
from neuronport.spool import Summaries
from neuronport.workspace import Modules

_T = TypeVar("_T")
_K = TypeVar("_K")
_GONE = bytes(32)
"""As long as a key."""
_KINDS = ("item", "split", "local", "callers", "star", "canonical", "ancestors", "answer")
"""Of questions; the last three are answered by other questions."""
Places: TypeAlias = "tuple[tuple[str, tuple[int, ...]], ...]"
"""Where something is called: modules, and positions among the calls in each."""


class Needs(NamedTuple):
    """What something depended on."""

    items: tuple[tuple[str, bytes, tuple[Item, ...]], ...]
    """Modules by name, the key of the file of each, and the things in it that were consulted;
    variables by number."""
    callers: tuple[tuple[str, Places], ...]
    """Names whose callers were asked for, and the answers."""
    splits: tuple[tuple[str, str], ...]
    """A name of the tree, and the module it begins with; empty: none."""
    local: tuple[tuple[str, str, str], ...]
    """A folder, an imported name, and what the name means there."""
    starred: tuple[tuple[str, str, tuple[str, ...], str, str], ...]
    """A module, its path and stars, a name that only these can have brought, and from where."""


class Kept(Protocol):
    """Where the index finds what was not read in this run."""

    def summary(self, key: bytes) -> bytes: ...

    def calls(self, key: bytes) -> bytes: ...

    def state(self, key: bytes) -> State | None: ...

    def edges(self, keys: Sequence[bytes], index: RecordingIndex) -> list[Edges] | None: ...

    def keep_edges(
        self, keys: Sequence[bytes], rows: list[Edges], index: RecordingIndex
    ) -> None: ...


class RecordingIndex(TreeIndex):
    """A ``TreeIndex`` that remembers what it was asked since ``start``."""

    _most_thawed = 320  # what was asked takes the place of the others

    def __init__(
        self,
        frozen: Summaries,
        modules: Modules,
        keys: Mapping[str, bytes],
        kept: Kept,
    ) -> None:
        super().__init__(frozen, modules)
        self.keys = keys
        """Of the file of every module of the tree, those not in ``frozen`` too; another file, or the
        same with other contents, has another."""
        self._kept = kept
        self.asked: set[int] = set()
        self._questions: list[Any] = []
        """What was asked, by number."""
        self._kinds = bytearray()
        """Of each, the place in ``_KINDS``: there are hundreds of thousands."""
        self._splits: dict[str, int] = {}
        self._local: dict[tuple[str, str], int] = {}
        self._names_followed: dict[tuple[str, str], int] = {}
        self._stars: dict[tuple[str, str, tuple[str, ...], str], int] = {}
        self._classes: dict[str, int] = {}
        self._answered: dict[tuple[str, str], int] = {}
        self._called_names: dict[str, int] = {}
        self._behind: dict[int, tuple[int, ...]] = {}
        """What answers that are given again and again depend on."""
        self._places: dict[str, Places] = {}
        self._digests: dict[str, bytes] = {}
        self._called_names_of: dict[str, frozenset[str]] = {}
        self._homes: dict[str, frozenset[str]] = {}
        self._changes: dict[tuple[str, bytes], Change | None] = {}
        self._state = b""

    # ---- what was not read in this run --------------------------------------------------------------

    def _names(self) -> Iterable[str]:
        return self.keys

    def _has(self, name: str) -> bool:
        return name in self.keys

    def _thaw(self, name: str) -> Summary | None:
        if name not in self.keys:
            return None
        return Watched(Summary.thaw(self._summary(name)), self)

    def plain(self, name: str) -> Summary | None:
        found = self._module(name)
        return found.plain if isinstance(found, Watched) else None

    def _summary(self, name: str) -> bytes:
        frozen = self._frozen.summary(name)
        return self._kept.summary(self.keys[name]) if frozen is None else frozen

    def _calls(self, name: str) -> bytes:
        frozen = self._frozen.calls(name)
        return self._kept.calls(self.keys[name]) if frozen is None else frozen

    # ---- questions ----------------------------------------------------------------------------------

    def start(self) -> None:
        self.asked = set()

    def new_number(self, kind: str, thing: Any) -> int:
        """Of a question that has none yet, or is known by several."""
        self._questions.append(thing)
        self._kinds.append(_KINDS.index(kind))
        return len(self._questions) - 1

    def _ask(self, kind: str, numbers: dict[_K, int], thing: _K) -> int:
        number = numbers.get(thing)
        if number is None:
            number = numbers[thing] = self.new_number(kind, thing)
        self.asked.add(number)
        return number

    def module(self, name: str) -> Summary | None:
        self._ask("split", self._splits, name)
        return super().module(name)

    def place(self, dotted: str) -> tuple[str, str]:
        if dotted[:1] == "@":
            self._ask("split", self._splits, dotted)
        return super().place(dotted)

    def localize(self, dotted: str, importer: Summary) -> str:
        if dotted[:1] == "@" or dotted.partition(".")[0] not in self.heads:
            return dotted
        self._ask("local", self._local, (importer.path.rpartition("/")[0], dotted))
        return super().localize(dotted, importer)

    def canonical(self, dotted: str, importer: Summary) -> str:
        if dotted[:1] != "@" and dotted.partition(".")[0] not in self.heads:
            return dotted
        key = (importer.path if dotted[:1] != "@" else "", dotted)
        number = self._ask("canonical", self._names_followed, key)
        known = self._canonical.get(key)
        if known is None:
            outer = self._aside()
            known = super().canonical(dotted, importer)
            self._back(outer, number)
        return known

    def _star_home(self, module: Summary, stars: tuple[str, ...], name: str) -> str:
        self._ask("star", self._stars, (module.module, module.path, stars, name))
        # What is in how many modules is not what matters, but the answer.
        outer = self._aside()
        known = super()._star_home(module, stars, name)
        self.asked = outer
        return known

    def ancestors(self, dotted: str) -> list[str]:
        number = self._ask("ancestors", self._classes, dotted)
        known = self._ancestors.get(dotted)
        if known is None:
            outer = self._aside()
            known = super().ancestors(dotted)
            self._back(outer, number)
        return known

    def answer(self, question: str, dotted: str, find: Callable[[str], _T]) -> _T:
        key = (question, dotted)
        number = self._ask("answer", self._answered, key)
        if key not in self._answers_to:
            outer = self._aside()
            super().answer(question, dotted, find)
            self._back(outer, number)
        known: _T = self._answers_to[key]
        return known

    def callers(self, dotted: str, most: int = MOST_CALLERS) -> list[Call]:
        self._ask("callers", self._called_names, dotted)
        return super().callers(dotted, most)

    def times_called(self, dotted: str) -> int:
        self._ask("callers", self._called_names, dotted)
        return super().times_called(dotted)

    def _aside(self) -> set[int]:
        """Begin anew, to know what one answer depends on that will be given again."""
        outer, self.asked = self.asked, set()
        return outer

    def _back(self, outer: set[int], number: int) -> None:
        """What was asked meanwhile is behind the question of that number."""
        self._behind[number] = tuple(self.asked)
        self.asked = outer

    def _edges_of(self, names: Sequence[str]) -> list[Edges]:
        outer = self._aside()
        keys = [self.keys[name] for name in names]
        rows = self._kept.edges(keys, self)
        if rows is None:
            self.asked = set()
            rows = super()._edges_of(names)
            self._kept.keep_edges(keys, rows, self)
        self.asked = outer
        return rows

    # ---- what the answers depended on ---------------------------------------------------------------

    def all_asked(self) -> set[int]:
        """Since ``start``, with what is behind the answers that were given again."""
        seen = set(self.asked)
        pending = list(seen)
        while pending:
            for number in self._behind.get(pending.pop(), ()):
                if number not in seen:
                    seen.add(number)
                    pending.append(number)
        return seen

    def needs(self, asked: Iterable[int]) -> Needs:
        """What the answers to all of that depended on."""
        items: dict[str, list[Item]] = {}
        callers, splits, local, starred = [], [], [], []
        for number in asked:
            kind, thing = _KINDS[self._kinds[number]], self._questions[number]
            if kind == "item":
                items.setdefault(thing[0], []).append(thing[1:])
            elif kind == "split":
                splits.append((thing, self.head(thing)))
            elif kind == "local":
                local.append((*thing, self._meaning(*thing)))
            elif kind == "callers":
                places = self._places_of(thing)
                callers.append((thing, places))
                for module, _ in places:
                    items.setdefault(module, [])
            elif kind == "star":
                module, path, stars, name = thing
                starred.append((*thing, self._starred[module, path].get(name, "")))
                for home in self._star_modules(path, stars):
                    items.setdefault(home, [])
        return Needs(
            tuple((name, self.keys.get(name, b""), tuple(items[name])) for name in sorted(items)),
            tuple(callers),
            tuple(splits),
            tuple(local),
            tuple(starred),
        )

    def _star_modules(self, path: str, stars: tuple[str, ...]) -> frozenset[str]:
        """The modules of the tree whose names a module takes by star."""
        known = self._homes.get(path)
        if known is None:
            importer = Beside(path)
            homes = (TreeIndex.localize(self, star, importer) for star in stars)
            known = self._homes[path] = frozenset(home for home in homes if home in self.keys)
        return known

    def _places_of(self, dotted: str) -> Places:
        """Where something is called, as far as anybody is told."""
        known = self._places.get(dotted)
        if known is None:
            found: dict[str, list[int]] = {}
            for module, i in self._callers.get(dotted, ())[:MOST_CALLERS]:
                found.setdefault(module, []).append(i)
            known = tuple((module, tuple(positions)) for module, positions in found.items())
            self._places[dotted] = known
        return known

    def _digest_of_places(self, dotted: str) -> bytes:
        known = self._digests.get(dotted)
        if known is None:
            known = hashlib.sha256(marshal.dumps(self._places_of(dotted), 2)).digest()
            self._digests[dotted] = known
        return known

    def _called_in(self, module: str) -> frozenset[str]:
        """All of the tree that a module calls."""
        known = self._called_names_of.get(module)
        if known is None:
            called = (name for name, at in self._callers.items() if any(m == module for m, _ in at))
            known = self._called_names_of[module] = frozenset(called)
        return known

    def head(self, dotted: str) -> str:
        """The module that a name of the tree begins with (the longest), or ''."""
        return TreeIndex.place(self, dotted)[0]

    def _meaning(self, folder: str, name: str) -> str:
        return TreeIndex.localize(self, name, Beside(f"{folder}/" if folder else ""))

    # ---- whether they would be given again ----------------------------------------------------------

    def state(self) -> bytes:
        """Of the whole tree: the digest of every file that is read."""
        if not self._state:
            self._state = self.digest_of_modules(sorted(self.keys))
        return self._state

    def digest_of_modules(self, names: Iterable[str]) -> bytes:
        """Of all that is known of these modules; changes when one is gone."""
        return hashlib.sha256(b"".join(self.keys.get(name, _GONE) for name in names)).digest()

    def digest_of_callers(self, names: Iterable[str]) -> bytes:
        """Of where these names are called."""
        return hashlib.sha256(b"".join(map(self._digest_of_places, names))).digest()

    def same_shape(self, needs: Needs) -> bool:
        """Whether what depended only on which modules there are is still so."""
        return all(self.head(dotted) == head for dotted, head in needs.splits) and all(
            self._meaning(folder, name) == meaning for folder, name, meaning in needs.local
        )

    def moved(self, needs: Needs, same_modules: bool) -> Moved | None:
        """Where lines have gone that the answers may have named, if all answers are as they were; None:
        they are not. ``same_modules``: there are none but those of then."""
        changes: dict[str, Change] = {}
        moved = Moved()
        for module, key, items in needs.items:
            if self.keys.get(module, b"") != key:
                change = self._change(module, key)
                if change is None or not change.same(items):
                    return None
                changes[module] = change
                moved.add(change, change.moved(items))
        # Whom each module calls is found without asking who calls.
        touched = frozenset[str]()
        if needs.callers:
            touched = touched.union(*map(self._called_in, changes))
        for name, then in needs.callers:
            now = self._places_of(name)
            if name not in touched and now == then:
                continue
            if len(now) != len(then):
                return None
            for (module, positions), (module_now, positions_now) in zip(then, now, strict=True):
                change = changes.get(module)
                if module != module_now:
                    return None
                if change is None:
                    if positions != positions_now:
                        return None
                elif not change.same_calls(positions, positions_now):
                    return None
                else:
                    moved.add(change, change.moved_calls(positions, positions_now))
        return moved if self._same_stars(needs, changes if same_modules else None) else None

    def _same_stars(self, needs: Needs, changed: Mapping[str, Change] | None) -> bool:
        """Whether star imports bring the same names from the same modules; None: it is not known
        which modules have changed."""
        outer = self._aside()
        same = all(
            self._star_home(Beside(path, module), stars, name) == home
            for module, path, stars, name, home in needs.starred
            if changed is None or not self._star_modules(path, stars).isdisjoint(changed)
        )
        self.asked = outer
        return same

    def _change(self, module: str, key: bytes) -> Change | None:
        """Between a module as it was with the file of that key and now; None: it was not there, is
        gone, or what it was is not known any more."""
        if (module, key) not in self._changes:
            change = None
            then = self._kept.state(key) if key and module in self.keys else None
            if then is not None:
                now = State(self._summary(module), self._calls(module))
                if now.summary.path == then.summary.path:
                    change = Change(then, now)
            self._changes[module, key] = change
        return self._changes[module, key]
