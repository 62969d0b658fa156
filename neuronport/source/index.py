"""The index of a tree: every module's names, thawed when they are asked for."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

from neuronport.readers.python.facts import (
    Class,
    Definition,
    Function,
    Guard,
    ModuleFacts,
    Scope,
    Value,
    made,
    module_id,
)
from neuronport.workspace import Modules

_MAX_HOPS = 24
_MAX_BASES = 64
_KEPT_ROWS = 256
_KEPT_SUMMARIES = 400
"""Modules kept thawed; others are thawed again when they are asked for."""
_UNCUT = ("", "")
MOST_CALLERS = 64
"""No answer says more."""


class Summary:
    """What other modules may ask about one module."""

    __slots__ = (
        "_frozen",
        "_used",
        "classes",
        "definitions",
        "exports",
        "functions",
        "guards",
        "module",
        "path",
        "scopes",
        "stars",
    )

    _frozen: dict[str, bytes]
    """What has not been asked for yet; most that ask want no more than the exports."""
    _used: set[str]

    def __init__(self, facts: ModuleFacts) -> None:
        self.path = facts.path
        self.module = facts.module
        self.exports = facts.exports
        self.stars = facts.stars
        self.functions = facts.functions
        self.classes = facts.classes
        self.definitions = facts.definitions
        self.scopes = facts.scopes
        self.guards = facts.guards

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Summary) and other.module == self.module

    def __hash__(self) -> int:
        return hash(self.module)

    def packages(self) -> set[str]:
        """The packages whose names the module has at its top."""
        try:
            return self._used
        except AttributeError:
            self._used = self._packages(self.exports)
            return self._used

    @staticmethod
    def _packages(exports: Mapping[str, Value]) -> set[str]:
        return {
            value[1].partition(".")[0]
            for value in exports.values()
            if value is not None and value[0] == "ref" and value[1][:1] != "@"
        }

    def freeze(self) -> bytes:
        path, module, exports, stars, *rest = self._plain()
        return marshal.dumps((path, module, exports, stars, [marshal.dumps(part) for part in rest]))

    def digest(self, calls: bytes) -> bytes:
        """Of all that others may ask, with the frozen calls; what is frozen may be other bytes for
        the same."""
        rows = marshal.loads(calls) if calls else []
        return hashlib.sha256(marshal.dumps((self._plain(), rows), 2)).digest()

    def _plain(self) -> tuple[Any, ...]:
        return (
            self.path,
            self.module,
            self.exports,
            self.stars,
            # Where a body ends is not for others, or they would depend on every line of it.
            {k: (*v[:6], (), 0, v[8]) for k, v in self.functions.items()},
            {k: (*v[:5], 0) for k, v in self.classes.items()},
            self.definitions,
            [tuple(v) for v in self.scopes],
            [tuple(v) for v in self.guards],
        )

    def freeze_calls(self, hot_loops: Mapping[int, str]) -> bytes:
        """Who calls what in this module; apart, because only some questions need it."""
        rows = []
        for caller, function in self.functions.items():
            for callee, args, kwargs, line, loops, guards in function.calls:
                name = _callee_name(callee, self)
                if name:
                    hot = min((hot_loops[i] for i in loops if i in hot_loops), default="")
                    if hot and any(_is_periodic(self.guards[i].test) for i in guards):
                        hot += "?"
                    row = (caller.partition("#")[0], args, kwargs, line, hot, guards)
                    # Version 2: the same bytes for the same, so that they may be compared.
                    rows.append((name, marshal.dumps(row, 2)))
        return marshal.dumps(rows) if rows else b""

    @classmethod
    def thaw(cls, frozen: bytes) -> Self:
        self = cls.__new__(cls)
        self.path, self.module, self.exports, self.stars, parts = marshal.loads(frozen)
        self._frozen = dict(zip(_THAW, parts, strict=True))
        return self

    def __getattr__(self, name: str) -> Any:
        thaw = _THAW.get(name)
        if thaw is None:
            raise AttributeError(name)
        part = thaw(marshal.loads(self._frozen.pop(name)))
        setattr(self, name, part)
        return part


_THAW: Mapping[str, Callable[[Any], Any]] = {
    "functions": lambda part: dict(zip(part, made(Function, part.values()), strict=True)),
    "classes": lambda part: dict(zip(part, made(Class, part.values()), strict=True)),
    "definitions": partial(made, Definition),
    "scopes": partial(made, Scope),
    "guards": partial(made, Guard),
}
"""The parts of a summary that are thawed when they are asked for, in the order of ``_plain``."""


def _is_periodic(test: Value, depth: int = 0) -> bool:
    """``step % interval == 0``: what stands there does not happen in every round of the loop."""
    if test is None or depth > 4:
        return False
    if test[0] == "bin":
        return bool(test[1] == "%")
    if test[0] == "bool":
        return any(_is_periodic(part, depth + 1) for part in test[2])
    if test[0] == "cmp":
        return _is_periodic(test[1], depth + 1) or _is_periodic(test[3], depth + 1)
    return test[0] == "not" and _is_periodic(test[1], depth + 1)


def _callee_name(callee: Value, module: Summary) -> str:
    """The name of a callee as the caller knows it; methods of ``self`` by the class they are in."""
    for _ in range(4):
        if callee is None:
            return ""
        if callee[0] == "ref":
            return str(callee[1])
        if callee[0] == "attr" and callee[1] is not None and callee[1][0] == "self":
            return f"{callee[1][1]}.{callee[2]}"
        if callee[0] == "v":
            callee = module.definitions[callee[1]][0]
            continue
        if callee[0] == "star":
            for star in module.stars[:1]:
                return f"{star}.{callee[1]}"
        return ""
    return ""


class Call(NamedTuple):
    """One call of something in the tree."""

    module: str
    caller: str
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str | None, Value], ...]
    line: int
    in_hot_loop: str
    """``training`` or ``stepping``; with ``?``: not in every round; empty: in no such loop."""
    guards: tuple[int, ...]
    """Indices into the guards of the module that calls."""


class TreeIndex:
    """All modules of a tree by their ids (``@pkg.mod``), and what import names mean in them."""

    def __init__(self, frozen: Mapping[str, tuple[bytes, bytes]], modules: Modules) -> None:
        self._frozen = frozen
        self._modules = modules
        self._thawed: dict[str, Summary] = {}
        self._before: dict[str, Summary] = {}
        """Thawed longer ago; those not asked for until as many more are thawed are let go."""
        self._canonical: dict[tuple[str, str], str] = {}
        self._found: dict[tuple[str, str], str | None] = {}
        self.heads = import_heads(modules)
        self._split: dict[str, tuple[str, str] | None] = {}
        self._rows: dict[str, list[tuple[str, bytes]]] = {}
        self._ancestors: dict[str, list[str]] = {}
        self._starred: dict[tuple[str, str], dict[str, str]] = {}

    def module(self, name: str) -> Summary | None:
        """The summary of the module with the id ``name``, or None when the tree has none."""
        return self._module(name)

    def _module(self, name: str) -> Summary | None:
        found = self._thawed.get(name)
        if found is None:
            found = self._before.pop(name, None)
            if found is None:
                frozen = self._summary(name)
                if frozen is None:
                    return None
                found = Summary.thaw(frozen)
            if len(self._thawed) >= _KEPT_SUMMARIES // 2:
                self._before, self._thawed = self._thawed, {}
            self._thawed[name] = found
        return found

    def _names(self) -> Iterable[str]:
        return self._frozen

    def _has(self, name: str) -> bool:
        return name in self._frozen

    def _summary(self, name: str) -> bytes | None:
        frozen = self._frozen.get(name)
        return None if frozen is None else frozen[0]

    def _calls(self, name: str) -> bytes:
        return self._frozen[name][1]

    def in_tree(self, dotted: str) -> bool:
        return dotted[:1] == "@"

    def split(self, dotted: str) -> tuple[Summary, str] | None:
        """The module that a name of the tree begins with (the longest), and the rest."""
        if dotted[:1] != "@":
            return None
        known = self._split.get(dotted, _UNCUT)
        if known is _UNCUT:
            known = self._split[dotted] = self._cut(dotted)
        if known is None:
            return None
        module = self._module(known[0])
        assert module is not None
        return module, known[1]

    def _cut(self, dotted: str) -> tuple[str, str] | None:
        head, rest = dotted, ""
        while head:
            if self._has(head):
                return head, rest
            head, _, last = head.rpartition(".")
            rest = f"{last}.{rest}" if rest else last
        return None

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
            found = self.split(dotted)
            if found is None:
                return dotted
            module, rest = found
            if not rest:
                return module.module
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
                refs = [v for v in value[1] if v is not None and v[0] == "ref"]
                value = refs[0] if len(refs) == 1 else None
            else:
                return value
        return value

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
            for summary, cls_name in self.mro(owner):
                name = f"{cls_name}.{last}"
                function = summary.functions.get(name)
                if function is not None:
                    return summary, name, function
        return None

    def class_(self, dotted: str) -> tuple[Summary, Class] | None:
        found = self.split(dotted)
        if found is None:
            return None
        module, rest = found
        cls = module.classes.get(f"{module.module}.{rest}")
        return (module, cls) if cls is not None else None

    @cached_property
    def _callers(self) -> dict[str, list[tuple[str, int]]]:
        """Callee → where it is called: module and position in its calls."""
        result: dict[str, list[tuple[str, int]]] = {}
        for name in sorted(self._names()):
            for i, callee in self._edges(name, self._call_rows(name)):
                result.setdefault(callee, []).append((name, i))
        return result

    def _edges(self, module: str, calls: Iterable[Any]) -> Iterator[tuple[int, str]]:
        """Which of a module's calls are of something in the tree, and of what."""
        for i, row in enumerate(calls):
            callee = self.method_home(self.canonical_in(row[0], module))
            if callee[:1] == "@":
                yield i, callee

    def canonical_in(self, dotted: str, module: str) -> str:
        """``canonical`` for a name used in the module with this id."""
        if dotted[:1] != "@" and dotted.partition(".")[0] not in self.heads:
            return dotted
        importer = self.module(module)
        return dotted if importer is None else self.canonical(dotted, importer)

    def method_home(self, dotted: str) -> str:
        """The class of the tree that a method named by a subclass is defined in."""
        if dotted[:1] != "@":
            return dotted
        found = self._function(dotted)
        return dotted if found is None else found[1]

    def callers(self, dotted: str, most: int = MOST_CALLERS) -> list[Call]:
        """The calls in the tree of a function of the tree, the first of them."""
        result = []
        for module, i in self._callers.get(dotted, ())[: min(most, MOST_CALLERS)]:
            caller, args, kwargs, line, hot, guards = marshal.loads(self._call_rows(module)[i][1])
            result.append(Call(module, caller, args, kwargs, line, hot, guards))
        return result

    def _call_rows(self, module: str) -> list[tuple[str, bytes]]:
        """The name of what is called, and the call, frozen."""
        rows = self._rows.get(module)
        if rows is None:
            if len(self._rows) > _KEPT_ROWS:
                self._rows.clear()
            frozen = self._calls(module)
            rows = self._rows[module] = marshal.loads(frozen) if frozen else []
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
