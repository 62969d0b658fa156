"""The index of a tree: every module's names, thawed when they are asked for."""

from __future__ import annotations

import marshal
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from neuronport.readers.python.facts import CALLED_OUTSIDE, Class, Function, Value, module_id
from neuronport.source.summary import Beside, Summary
from neuronport.spool import Summaries
from neuronport.workspace import Modules

_MAX_HOPS = 24
_MAX_BASES = 64
_T = TypeVar("_T")
_KEPT_ROWS = 256
_KEPT_CALLS = 512
_TOGETHER = 16
"""Modules whose calls are looked at in one go."""
MOST_CALLERS = 64
"""No answer says more."""
Edges: TypeAlias = "list[tuple[int, str]]"
"""Whom a module calls: position among its calls, name."""


_RAISES = re.compile(r"error|raise|missing|unavailable|not_?(installed|found)", re.I)
"""In the name of a class: an object of it raises whatever is asked of it."""


class Call(NamedTuple):
    """One call of something in the tree."""

    module: str
    caller: str
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str | None, Value], ...]
    line: int
    in_hot_loop: str
    """``training``, ``stepping`` or ``generation``; with ``?``: not in every round, be it of a loop
    or of who calls the caller; empty: in no such loop."""
    guards: tuple[int, ...]
    """Indices into the guards of the module that calls."""
    switches: tuple[tuple[str, int], ...]
    """Parameters of the caller that are off by default and on where it calls this, and where a call
    of it has each among its arguments."""


class TreeIndex:
    """All modules of a tree by their ids (``@pkg.mod``), and what import names mean in them."""

    _most_thawed = 640
    """Modules kept thawed; others are thawed again when they are asked for."""

    def __init__(self, frozen: Summaries, modules: Modules) -> None:
        self._frozen = frozen
        self._present = frozenset(frozen)
        self._modules = modules
        self._thawed: dict[str, Summary] = {}
        self._before: dict[str, Summary] = {}
        """Thawed longer ago; those not asked for until as many more are thawed are let go."""
        self._canonical: dict[tuple[str, str], str] = {}
        self._found: dict[tuple[str, str], str | None] = {}
        self.heads = import_heads(modules)
        self._split: dict[str, tuple[str, str]] = {}
        self._rows: dict[str, list[bytes]] = {}
        self._ancestors: dict[str, list[str]] = {}
        self._starred: dict[tuple[str, str], dict[str, str]] = {}
        self._called: dict[str, list[tuple[str, int]]] | None = None
        self._calls_of: dict[str, list[Call]] = {}
        self._answers_to: dict[tuple[str, str], Any] = {}

    def module(self, name: str) -> Summary | None:
        """The summary of the module with the id ``name``, or None when the tree has none."""
        return self._module(name)

    def plain(self, name: str) -> Summary | None:
        """Likewise, for who judges that module, and does not ask about another."""
        return self._module(name)

    def _module(self, name: str) -> Summary | None:
        found = self._thawed.get(name)
        if found is None:
            found = self._before.pop(name, None) or self._thaw(name)
            if found is None:
                return None
            if len(self._thawed) >= self._most_thawed // 2:
                self._before, self._thawed = self._thawed, {}
            self._thawed[name] = found
        return found

    def _thaw(self, name: str) -> Summary | None:
        frozen = self._summary(name)
        return None if frozen is None else Summary.thaw(frozen)

    def _names(self) -> Iterable[str]:
        return self._frozen

    def _has(self, name: str) -> bool:
        return name in self._present

    def _summary(self, name: str) -> bytes | None:
        return self._frozen.summary(name)

    def _calls(self, name: str) -> bytes:
        return self._frozen.calls(name) or b""

    def in_tree(self, dotted: str) -> bool:
        return dotted[:1] == "@"

    def place(self, dotted: str) -> tuple[str, str]:
        """The module that a name of the tree begins with (the longest), and the rest; two empty
        strings: none."""
        if dotted[:1] != "@":
            return "", ""
        known = self._split.get(dotted)
        if known is None:
            known = self._split[dotted] = self._cut(dotted)
        return known

    def split(self, dotted: str) -> tuple[Summary, str] | None:
        """Likewise, with what is known of the module."""
        name, rest = self.place(dotted)
        if not name:
            return None
        return self._there(name), rest

    def _there(self, name: str) -> Summary:
        """The summary of a module that the tree has."""
        module = self._thawed.get(name) or self._module(name)
        assert module is not None
        return module

    def _cut(self, dotted: str) -> tuple[str, str]:
        head, rest = dotted, ""
        while head:
            if self._has(head):
                return head, rest
            head, _, last = head.rpartition(".")
            rest = f"{last}.{rest}" if rest else last
        return "", ""

    def localize(self, dotted: str, importer: Summary) -> str:
        """A name as imported → its name in the tree when the tree has that module."""
        if dotted[:1] == "@" or dotted.partition(".")[0] not in self.heads:
            return dotted
        folder = importer.path.rpartition("/")[0]
        head, rest = dotted, ""
        while head:
            key = (folder, head)
            if key not in self._found:
                self._found[key] = self._modules.find(head, importer.path)
            path = self._found[key]
            if path is not None:
                base = module_id(path)
                return f"{base}.{rest}" if rest else base
            head, _, last = head.rpartition(".")
            rest = f"{last}.{rest}" if rest else last
        return dotted

    def canonical(self, dotted: str, importer: Summary) -> str:
        """``dotted`` with every re-export of the tree followed to where it is defined."""
        if dotted[:1] != "@" and dotted.partition(".")[0] not in self.heads:
            return dotted
        key = (importer.path if dotted[:1] != "@" else "", dotted)
        known = self._canonical.get(key)
        if known is None:
            known = self._canonical[key] = self._follow(self.localize(dotted, importer))
        return known

    def _follow(self, dotted: str) -> str:
        for _ in range(_MAX_HOPS):
            home, rest = self.place(dotted)
            if not home:
                return dotted
            if not rest:
                return home
            module = self._there(home)
            name, _, tail = rest.partition(".")
            target = self.export(module, name)
            if target is None:
                return f"{module.module}.{rest}"
            following = f"{target}.{tail}" if tail else target
            if following == dotted:
                return dotted
            dotted = following
        return dotted

    def export(self, module: Summary, name: str) -> str | None:
        """The dotted name that ``name`` of ``module`` stands for, if it stands for one."""
        value = module.exports.get(name)
        if value is None:
            home = self.starred(module, name)
            return f"{home}.{name}" if home else None
        value = self.settle(module, value)
        if value is not None and value[0] == "ref":
            return self.localize(str(value[1]), module)
        return None

    def starred(self, module: Summary, name: str) -> str:
        """The module from which a star import of ``module`` brings a name, or ''."""
        return self._star_home(module, module.stars, name)

    def _star_home(self, module: Summary, stars: tuple[str, ...], name: str) -> str:
        key = (module.module, module.path)
        homes = self._starred.get(key)
        if homes is None:
            homes = self._starred[key] = self._star_homes(module, stars)
        return homes.get(name, "")

    def _star_homes(self, module: Summary, stars: tuple[str, ...]) -> dict[str, str]:
        """Name → the first module that brings it."""
        homes: dict[str, str] = {}
        for star in stars:
            home = self.localize(star, module)
            inner = self.module(home) if home != module.module else None
            if inner is not None:
                for name in inner.exports:
                    homes.setdefault(name, home)
        return homes

    def settle(self, module: Summary, value: Value) -> Value:
        """Follow plain variables: ``a = b`` where b is a dotted name."""
        for _ in range(8):
            if value is None:
                return None
            if value[0] == "v":
                value = module.definitions[value[1]].value
            elif value[0] == "tried":
                value = value[2]
            elif value[0] == "any":
                value = self._one_of(module, value[1])
            else:
                return value
        return value

    @staticmethod
    def _one_of(module: Summary, values: tuple[Value, ...]) -> Value:
        """The dotted name among what a variable can be; beside an import that may fail, only where
        nothing else works in its place: what raises."""
        refs = [v for v in values if v is not None and v[0] == "ref"]
        if refs:
            return refs[0] if len(refs) == 1 else None
        tried: list[Value] = []
        for value in values:
            if value is not None and value[0] == "v":
                value = module.definitions[value[1]].value
            if value is not None and value[0] == "tried":
                tried.append(value[2])
            elif value is not None and value[0] == "call" and value[1] is not None:
                if not _RAISES.search(str(value[1][-1]).rpartition(".")[2]):
                    return None
            elif value is None or value[0] != "const":
                return None
        if len(tried) != 1:
            return None
        found = tried[0]
        return (
            module.definitions[found[1]].value if found is not None and found[0] == "v" else found
        )

    def function(self, dotted: str) -> tuple[Summary, Function] | None:
        """The definition of a function or method of the tree, inherited ones too."""
        found = self._function(dotted)
        return None if found is None else (found[0], found[2])

    def _function(self, dotted: str) -> tuple[Summary, str, Function] | None:
        """With the name it has where it is defined."""
        found = self.split(dotted)
        if found is None:
            return None
        module, rest = found
        name = f"{module.module}.{rest}"
        function = module.functions.get(name)
        if function is not None:
            return module, name, function
        owner, _, last = dotted.rpartition(".")
        if owner and self.class_(owner) is not None:
            for cls_name in self.ancestors(owner):
                home = self.split(cls_name)
                if home is not None:
                    name = f"{cls_name}.{last}"
                    function = home[0].functions.get(name)
                    if function is not None and self.class_(cls_name) is not None:
                        return home[0], name, function
        return None

    def class_(self, dotted: str) -> tuple[Summary, Class] | None:
        found = self.split(dotted)
        if found is None:
            return None
        module, rest = found
        cls = module.classes.get(f"{module.module}.{rest}")
        return (module, cls) if cls is not None else None

    @property
    def _callers(self) -> dict[str, list[tuple[str, int]]]:
        """Callee → where it is called: module and position in its calls."""
        if self._called is None:
            self._called = self.called_by(1, 1)
        return self._called

    def called_by(self, part: int, parts: int) -> dict[str, list[tuple[str, int]]]:
        """Callee → where it is called in one of so many parts of the tree; the parts are counted
        from 1, and ``know_callers`` takes all of them, in their order."""
        result: dict[str, list[tuple[str, int]]] = {}
        names = sorted(self._names())
        groups = [names[i : i + _TOGETHER] for i in range(0, len(names), _TOGETHER)]
        for group in groups[len(groups) * (part - 1) // parts : len(groups) * part // parts]:
            for name, edges in zip(group, self._edges_of(group), strict=True):
                for i, callee in edges:
                    result.setdefault(callee, []).append((name, i))
        return result

    def known_callers(self) -> dict[str, list[tuple[str, int]]] | None:
        """Likewise in all of it, if that is known already."""
        return self._called

    def know_callers(self, parts: Sequence[dict[str, list[tuple[str, int]]]]) -> None:
        """What others found, so that it need not be found here."""
        self._called = {}
        for part in parts:
            for callee, places in part.items():
                self._called.setdefault(callee, []).extend(places)

    def _edges_of(self, names: Sequence[str]) -> list[Edges]:
        """Of some modules that lie together: which of their calls are of something in the tree."""
        return [self._edges_in(name) for name in names]

    def _edges_in(self, name: str) -> Edges:
        frozen = self._calls(name)
        if not frozen:
            return []
        path, called, _ = marshal.loads(frozen)
        edges: Edges = []
        importer = Beside(path)
        for name, places in called.items():
            callee = self._called_home(self.canonical(name, importer)) or self._called_home(name)
            if callee:
                edges += [(i, callee) for i in places]
        edges.sort()
        return edges

    def _called_home(self, dotted: str) -> str:
        """The function or class of the tree that a name stands for, methods by the class they are
        defined in; empty: none."""
        if dotted[:1] != "@":
            return dotted if dotted in CALLED_OUTSIDE else ""
        found = self._function(dotted)
        if found is not None:
            return found[1]
        return "" if self.class_(dotted) is None else dotted

    def callers(self, dotted: str, most: int = MOST_CALLERS) -> list[Call]:
        """The calls in the tree of a function of the tree, the first of them."""
        places = self._callers.get(dotted, ())
        known = self._calls_of.get(dotted)
        if known is None:
            if len(self._calls_of) >= _KEPT_CALLS:
                self._calls_of.clear()
            known = self._calls_of[dotted] = []
        for module, i in places[len(known) : min(most, MOST_CALLERS)]:
            known.append(Call(module, *marshal.loads(self._call_rows(module)[i])))
        return known[:most]

    def times_called(self, dotted: str) -> int:
        """How many calls in the tree there are of a function of the tree."""
        return len(self._callers.get(dotted, ()))

    def answer(self, question: str, dotted: str, find: Callable[[str], _T]) -> _T:
        """What ``find`` says of a name, found once for all who ask; it may rest on nothing but the
        name and this index."""
        key = (question, dotted)
        if key not in self._answers_to:
            self._answers_to[key] = find(dotted)
        answer: _T = self._answers_to[key]
        return answer

    def _call_rows(self, module: str) -> list[bytes]:
        """The calls of a module, each frozen."""
        rows = self._rows.get(module)
        if rows is None:
            if len(self._rows) > _KEPT_ROWS:
                self._rows.clear()
            frozen = self._calls(module)
            rows = self._rows[module] = marshal.loads(marshal.loads(frozen)[2]) if frozen else []
        return rows

    def ancestors(self, dotted: str) -> list[str]:
        """Dotted names of a class and all its bases, in and outside of the tree, nearest first."""
        known = self._ancestors.get(dotted)
        if known is None:
            known = self._ancestors[dotted] = self._all_bases(dotted)
        return known

    def _all_bases(self, dotted: str) -> list[str]:
        result: list[str] = []
        pending = [dotted]
        seen: set[str] = set()
        while pending and len(seen) < _MAX_BASES:
            name = self._follow(pending.pop(0))
            if name in seen:
                continue
            seen.add(name)
            result.append(name)
            found = self.class_(name)
            if found is not None:
                module, cls = found
                pending.extend(b for b in (self.base_name(module, v) for v in cls.bases) if b)
        return result

    def mro(self, dotted: str) -> list[tuple[Summary, str]]:
        """The classes of the tree among the ancestors, itself first."""
        result = []
        for name in self.ancestors(dotted):
            found = self.class_(name)
            if found is not None:
                result.append((found[0], name))
        return result

    def base_name(self, module: Summary, value: Value) -> str | None:
        value = self.settle(module, value)
        if value is None:
            return None
        if value[0] == "item":
            return self.base_name(module, value[1])
        return self.localize(str(value[1]), module) if value[0] == "ref" else None


def import_heads(modules: Modules) -> frozenset[str]:
    """The first parts of every name by which a file of the tree can be imported."""
    return frozenset(
        name.partition(".")[0] for names in modules.alternatives.values() for name in names
    )
