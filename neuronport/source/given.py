"""Which callers come to a place that stands under conditions on what they pass: ``if size is None:``,
``if mode == "host":``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from neuronport.readers.python.facts import Event, Function, Guard, Value
from neuronport.source.index import MOST_CALLERS, Call
from neuronport.source.view import ModuleView

_MAX_DEPTH = 5
_KINDS = frozenset(("if", "ifexp", "bool", "early", "next"))
_COMPARES: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MADE = frozenset(("call", "item", "attr", "bin", "list", "tuple", "dict", "unpack", "elem", "neg"))
"""What is computed is hardly None."""
_ZERO = ("const", 0)
_SOMETHING: Value = ("elem", None)
"""What has to be passed to whoever calls is there."""


def comers(event: Event, view: ModuleView) -> list[Call] | None:
    """The calls in the tree of the function around a place that may come to it; None: no condition
    there tells calls apart, or not all of them are known."""
    ctx = view.ctx(event)
    if not ctx.guards:
        return None
    scope = view.facts.scopes[ctx.scope]
    dotted = f"{view.facts.module}.{scope.qualname}"
    if scope.kind != "function":
        return None
    asked = [
        guard
        for guard in map(view.facts.guards.__getitem__, ctx.guards)
        if guard.kind in _KINDS and _asks(guard.test, dotted, 0)
    ]
    function = view.facts.functions.get(dotted) if asked else None
    if function is None or function.line != scope.line:
        return None
    calls = view.index.callers(dotted)
    if not calls or view.index.times_called(dotted) >= MOST_CALLERS:
        return None
    sure: list[Call] = []
    found: list[Call] = []
    for call in calls:
        given = _given(call, function, view)
        come = [_comes(guard, dotted, given, function) for guard in asked]
        if False not in come:
            found.append(call)
            if None not in come:
                sure.append(call)
    return sure or found if len(found) < len(calls) or sure else None


def _comes(
    guard: Guard, dotted: str, given: Mapping[str, Value], function: Function
) -> bool | None:
    """Whether a condition lets by what a call gives; one that is of nothing else does."""
    if not _asks(guard.test, dotted, 0):
        return True
    holds = _holds(guard.test, dotted, given, function, 0)
    return None if holds is None else holds is guard.polarity


def _asks(test: Value, dotted: str, depth: int) -> bool:
    """Whether a test is of a parameter of a function."""
    if test is None or depth > _MAX_DEPTH:
        return False
    tag = test[0]
    if tag == "param":
        return bool(test[1] == dotted)
    if tag in ("not", "cmp"):
        return _asks(test[1], dotted, depth + 1)
    return tag == "bool" and any(_asks(part, dotted, depth + 1) for part in test[2])


def _given(call: Call, function: Function, view: ModuleView) -> dict[str, Value]:
    """What a call gives for each parameter, as far as is known; None in it: something."""
    found: dict[str, Value] = {name: default for name, default, _, _ in function.params}
    names = view.resolver.positional(function)
    starred = False
    for i, value in enumerate(call.args):
        starred = starred or (value is not None and value[0] == "starred")
        if i < len(names):
            found[names[i]] = None if starred else _held(value, call, view)
    for key, value in call.kwargs:
        starred = starred or key is None
        if key is not None:
            found[key] = _held(value, call, view)
    if starred:
        return {}
    return found


def _held(value: Value, call: Call, view: ModuleView) -> Value:
    """What a variable of whoever calls holds; what is a parameter there need not be what it is by
    default."""
    if value is not None and value[0] == "v":
        module = view.index.module(call.module)
        value = module.definitions[value[1]].value if module is not None else None
    if value is not None and value[0] == "param":
        module = view.index.module(call.module)
        function = module.functions.get(value[1]) if module is not None else None
        needed = function is not None and any(
            p[0] == value[2] and p[1] is None for p in function.params
        )
        return _SOMETHING if needed else None
    return value


def _holds(
    test: Value, dotted: str, given: Mapping[str, Value], function: Function, depth: int
) -> bool | None:
    """What a test is for what a call gives; None: that cannot be told."""
    if test is None or depth > _MAX_DEPTH:
        return None
    tag = test[0]
    if tag == "param":
        value = given.get(test[2]) if test[1] == dotted else None
        return bool(value[1]) if value is not None and value[0] == "const" else None
    if tag == "not":
        inner = _holds(test[1], dotted, given, function, depth + 1)
        return None if inner is None else not inner
    if tag == "bool":
        parts = [_holds(part, dotted, given, function, depth + 1) for part in test[2]]
        decides: bool = test[1] == "or"
        if decides in parts:
            return decides
        return None if None in parts else not decides
    if tag != "cmp" or test[1] is None or test[1][:2] != ("param", dotted):
        return None
    value, other = given.get(test[1][2]), test[3]
    if value is None or other is None or other[0] != "const":
        return None
    if test[2] in ("is", "is not"):
        if other[1] is not None or value[0] not in _MADE | {"const"}:
            return None
        return (value == other) is (test[2] == "is")
    compare = _COMPARES.get(test[2])
    if compare is None:
        return None
    if value[0] != "const":
        # What is passed in place of a 0 that stands for nothing is a size.
        default = next((p[1] for p in function.params if p[0] == test[1][2]), None)
        if other != _ZERO or default != _ZERO or value[0] not in _MADE:
            return None
        return bool(compare(1, 0))
    try:
        return bool(compare(value[1], other[1]))
    except TypeError:
        return None
