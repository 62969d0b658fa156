"""``torch.version.cuda`` is a text, or None: what becomes of it."""

from __future__ import annotations

import re
from typing import Any

from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

_VERSION = ("ref", "torch.version.cuda")
_TAKES_APART = frozenset(
    ("split", "rsplit", "replace", "partition", "rpartition", "strip", "startswith", "rstrip")
)
_READS = frozenset(
    (
        "builtins.float",
        "builtins.int",
        "packaging.version.parse",
        "packaging.version.Version",
        "pkg_resources.parse_version",
    )
)
"""What raises when it is given None."""
_DEFAULTS = frozenset(("os.environ.get", "os.getenv"))
_MAX_DEPTH = 12
_INTO_TEXT = re.compile(
    r"""\b[fF]["'].*\{[^{}]*\btorch\.|["']\s*:\s*(str\()?torch\.[\w.]+(\(\))?\)?\s*(,|\}|$)"""
)
"""A text with something of PyTorch in it, or what a table keeps of it by a name."""
_SAYING = re.compile(r"(^|\.)(print|str|repr|format|debug|info|warning|warn|error|log|write|echo)$")


def taken_apart(event: Event, view: ModuleView) -> int:
    """The line where the version that is asked for at a place is read as a text, be it by way of a
    variable or as the default of an environment variable; 0: nowhere, or somebody looks first."""
    if _is_looked_at(view):
        return 0
    facts = view.facts
    for definition in facts.definitions:
        guards = (facts.guards[i] for i in definition.guards)
        if any(view.truth.skipped(view.summary, g) for g in guards):
            continue
        if _reads(definition.value, view, 0):
            return definition.line
    return next(
        (
            call.at[0]
            for calls in view.calls_at.values()
            for call in calls
            if call.kind == "use"
            and call.name in _READS
            and call.args
            and _is_version(call.args[0], view, 0)
            and view.skipping_guard(call) is None
        ),
        0,
    )


def only_said(event: Event, view: ModuleView, text: str) -> bool:
    """Whether what is asked for at a place is only printed, logged or put into a text; ``text`` is
    the line where it stands."""
    line, name = event.span.line, ("ref", event.name)
    if any(
        test.value is not None and _holds(test.value, name, view, 0)
        for test in view.tests.get(line, ())
    ):
        return False
    said = any(
        _SAYING.search(call.name) and any(_holds(value, name, view, 0) for value in call.args or ())
        for call in view.calls_at.get(line, ())
    )
    return (
        said
        or _INTO_TEXT.search(text) is not None
        or any(
            d.line == line and d.value is not None and d.value[0] == "fstr"
            for d in view.facts.definitions
        )
    )


def _is_looked_at(view: ModuleView) -> bool:
    """Whether a condition of the module asks whether there is a version at all, or what it is."""
    return any(_mentions(guard.test, view, 0) for guard in view.facts.guards)


def _mentions(value: Any, view: ModuleView, depth: int) -> bool:
    if not isinstance(value, tuple) or not value or depth > _MAX_DEPTH:
        return False
    return _is_version(value, view, 0) or any(_mentions(part, view, depth + 1) for part in value)


def _holds(value: Any, name: Value, view: ModuleView, depth: int) -> bool:
    """Whether a name is part of a value, be it by way of variables."""
    if not isinstance(value, tuple) or not value or depth > _MAX_DEPTH:
        return False
    if value[0] == "v" and len(value) == 2:
        return _holds(view.facts.definitions[value[1]].value, name, view, depth + 1)
    return value == name or any(_holds(part, name, view, depth + 1) for part in value)


def _reads(value: Any, view: ModuleView, depth: int) -> bool:
    if not isinstance(value, tuple) or not value or depth > _MAX_DEPTH:
        return False
    if value[0] == "call" and value[1] is not None:
        func = value[1]
        if func[0] == "attr" and func[2] in _TAKES_APART and _is_version(func[1], view, 0):
            return True
        if (
            func[0] == "ref"
            and func[1] in _READS
            and value[2]
            and _is_version(value[2][0], view, 0)
        ):
            return True
    return any(_reads(part, view, depth + 1) for part in value)


def _is_version(value: Value, view: ModuleView, depth: int) -> bool:
    """Whether a value is the version itself, as far as one environment variable is not set."""
    if value is None or depth > _MAX_DEPTH:
        return False
    if value[0] == "v" and len(value) == 2:
        return _is_version(view.facts.definitions[value[1]].value, view, depth + 1)
    if value[0] == "call" and value[1] is not None and value[1][0] == "ref":
        name, args = value[1][1], value[2]
        return name in _DEFAULTS and len(args) > 1 and _is_version(args[1], view, depth + 1)
    return value == _VERSION
