"""What other modules may ask about one module, thawed part by part when it is asked for."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Self

from neuronport.readers.python.facts import (
    Class,
    Definition,
    Function,
    FunctionCall,
    Guard,
    ModuleFacts,
    Scope,
    Value,
    made,
)
from neuronport.source.frozen import Named, Numbered
from neuronport.source.once import first_time, kept
from neuronport.source.switches import may_switch, switches


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

    # Not ``dict`` and ``list``: a summary that tells what of it is consulted has others, which
    # compiled code must not see through.
    exports: Mapping[str, Value]
    functions: Mapping[str, Function]
    classes: Mapping[str, Class]
    definitions: Sequence[Definition]
    scopes: Sequence[Scope]
    guards: Sequence[Guard]
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
        parts = (
            {k: tuple(v) for k, v in self.functions.items()},
            {k: tuple(v) for k, v in self.classes.items()},
            self.definitions,
            [tuple(v) for v in self.scopes],
            [tuple(v) for v in self.guards],
        )
        frozen = [freeze(part) for (freeze, _), part in zip(_PARTS.values(), parts, strict=True)]
        plain: tuple[Any, ...] = (self.path, self.module, self.exports, self.stars, frozen)
        return marshal.dumps(plain)

    def freeze_calls(
        self, calls: Mapping[str, tuple[FunctionCall, ...]], hot_loops: Mapping[int, str]
    ) -> bytes:
        """Who calls what in this module; apart, because only some questions need it. Where it is, the
        names that are called with the positions of their calls, and as a part of its own the calls."""
        if not calls:
            return b""
        names: dict[str, list[int]] = {}
        rows: list[bytes] = []
        left = periodic_exits(self.guards)
        attributes = kept(self)
        seldom = {
            i
            for i, g in enumerate(self.guards)
            if g.kind == "except" or _is_periodic(g.test) or first_time(i, g, attributes)
        }
        switching = {i for i, g in enumerate(self.guards) if may_switch(g)}
        ended = {(g.line, not g.polarity) for g in self.guards if g.kind in ("early", "skip")}
        for caller, called in calls.items():
            held_by = caller.partition("#")[0]
            function = self.functions.get(held_by)
            begins = self._begins(caller) if left else 0
            for callee, args, kwargs, line, loops, guards in called:
                found = () if self._is_held(callee) else _callee_names(callee, self)
                if found:
                    hot = min((hot_loops[i] for i in loops if i in hot_loops), default="")
                    if (
                        not seldom.isdisjoint(guards)
                        or (begins and any(begins < i < line for i in left))
                        or (ended and hot and self._ends(guards, ended))
                    ):
                        hot += "?"
                    asked = [self.guards[i] for i in guards if i in switching]
                    off = switches(held_by, function, asked) if asked else ()
                    row = (held_by, args, kwargs, line, hot, guards, off)
                    for name in found:
                        names.setdefault(name, []).append(len(rows))
                    # Version 2: the same bytes for the same, so that they may be compared.
                    rows.append(marshal.dumps(row, 2))
        return marshal.dumps((self.path, names, marshal.dumps(rows))) if rows else b""

    def _ends(self, guards: Iterable[int], ended: set[tuple[int, bool]]) -> bool:
        """Whether a call is in a branch that then leaves the loop: it is made once at its end."""
        asked = (self.guards[i] for i in guards)
        return any(guard.kind == "if" and (guard.line, guard.polarity) in ended for guard in asked)

    def _begins(self, caller: str) -> int:
        """The line of a function of this module; 0: it is none, or holds others of its own."""
        function = self.functions.get(caller)
        if function is None or any(name.startswith(f"{caller}.") for name in self.functions):
            return 0
        return function.line

    def _is_held(self, callee: Value) -> bool:
        """Whether what is called is an attribute that an object holds: no method, here or in a base."""
        if callee is None or callee[0] != "attr" or callee[1] is None or callee[1][0] != "self":
            return False
        cls = self.classes.get(callee[1][1])
        values = cls.attributes.get(callee[2]) if cls is not None else None
        return bool(values) and all(v is None or v[0] not in ("ref", "any") for v in values or ())

    @classmethod
    def thaw(cls, frozen: bytes) -> Self:
        self = cls.__new__(cls)
        self.path, self.module, self.exports, self.stars, parts = marshal.loads(frozen)
        self._frozen = dict(zip(_PARTS, parts, strict=True))
        return self

    def __getattr__(self, name: str) -> Any:
        part = _PARTS.get(name)
        if part is None:
            raise AttributeError(name)
        thawed = part[1](self._frozen.pop(name))
        setattr(self, name, thawed)
        return thawed


class Beside(Summary):
    """Whoever imports: ``localize`` wants no more than where that is."""

    __slots__ = ()

    def __init__(self, path: str, module: str = "") -> None:
        self.path = path
        self.module = module


_PARTS: Mapping[str, tuple[Callable[[Any], bytes], Callable[[bytes], Any]]] = {
    "functions": (Named.freeze, partial(Named, form=Function)),
    "classes": (Named.freeze, partial(Named, form=Class)),
    "definitions": (Numbered.freeze, partial(Numbered, form=Definition)),
    "scopes": (marshal.dumps, lambda part: made(Scope, marshal.loads(part))),
    "guards": (Numbered.freeze, partial(Numbered, form=Guard)),
}
"""The parts of a summary that are thawed when they are asked for, in the order of ``freeze``: how
they are frozen and thawed."""


def periodic_exits(guards: Iterable[Guard]) -> list[int]:
    """The lines of the tests by which a block is left in all but every so many rounds."""
    return [g.line for g in guards if g.kind in ("early", "next") and _is_periodic(g.test)]


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


def _callee_names(callee: Value, module: Summary) -> tuple[str, ...]:
    """The name of a callee as the caller knows it; methods of ``self`` by the class they are in. One
    for each star import that can have brought it: at most one of them is in the tree."""
    for _ in range(4):
        if callee is None:
            return ()
        if callee[0] == "ref":
            return (str(callee[1]),)
        if callee[0] == "attr" and callee[1] is not None and callee[1][0] == "self":
            return (f"{callee[1][1]}.{callee[2]}",)
        if callee[0] == "v":
            callee = module.definitions[callee[1]][0]
            continue
        if callee[0] == "star":
            return tuple(f"{star}.{callee[1]}" for star in module.stars)
        return ()
    return ()
