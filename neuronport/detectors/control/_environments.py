"""Environments that a loop steps: they run on the host, and have to be told what to do there."""

from __future__ import annotations

import re
from typing import Any

from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

_NAMED = re.compile(r"(^|[_.])(\w*envs?|environments?|gym|game|sim|simulator)(_?\d+)?$", re.I)
_MAKERS = ("gym.", "gymnasium.", "dm_env.", "pettingzoo.", "stable_baselines3.common.vec_env.")
_MAX_DEPTH = 10


def steps_environment(event: Event, view: ModuleView) -> bool:
    """Whether what is read at a call is what an environment is stepped with."""
    read = (event.name, event.value) if event.kind == "method" else (event.name, event.args)
    return any(
        _comes_from(value, read, event.at[0], view, 0)
        for value in view.once("environment-steps", lambda: _stepped_with(view))
    )


def _stepped_with(view: ModuleView) -> list[Value]:
    """Everything that the environments of a module are stepped with."""
    return [
        value
        for event in view.facts.events
        if event.kind == "method" and event.name == "step" and event.args
        if _is_environment(event.value, view)
        for value in event.args
    ]


def _is_environment(value: Value, view: ModuleView) -> bool:
    if _NAMED.search(view.text(value)):
        return True
    return any(
        atom.value is not None
        and atom.value[0] == "call"
        and atom.value[1] is not None
        and atom.value[1][0] == "ref"
        and (atom.value[1][1].startswith(_MAKERS) or atom.value[1][1].endswith("Env"))
        for atom in view.follow(value)
    )


def _comes_from(value: Value, read: Any, line: int, view: ModuleView, depth: int) -> bool:
    """Whether a value is computed from what a call reads."""
    if not isinstance(value, tuple) or not value or depth > _MAX_DEPTH:
        return False
    tag = value[0]
    if tag == "v" and len(value) == 2:
        return _comes_from(view.summary.definitions[value[1]].value, read, line, view, depth + 1)
    if tag == "call":
        func = value[1]
        if (
            value[4] == line
            and func is not None
            and (read == func[:0:-1] or read == (func[-1], value[2]))
        ):
            return True
        target = view.resolver.callee(view.summary, func)
        if target is not None and target[0] == view.summary:
            return any(_comes_from(v, read, line, view, depth + 1) for v in target[1].returns)
        parts = (func, *value[2], *(v for _, v in value[3]))
        return any(_comes_from(part, read, line, view, depth + 1) for part in parts)
    return any(_comes_from(part, read, line, view, depth + 1) for part in _parts(value))


def _parts(value: tuple[Any, ...]) -> list[Any]:
    found: list[Any] = []
    for part in value[1:]:
        if isinstance(part, tuple) and part:
            found += part if isinstance(part[0], tuple) else (part,)
    return found
