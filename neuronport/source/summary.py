"""What other modules may ask about one module, thawed part by part when it is asked for."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Self

from neuronport.readers.python.facts import (
    Class,
    Definition,
    Function,
    Guard,
    ModuleFacts,
    Scope,
    Value,
    made,
)


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
