"""A parameter, field or option whose default is a CUDA device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import Confidence, Verdict, weakest
from neuronport.readers.python.facts import Event, Value
from neuronport.source.index import MOST_CALLERS, Call
from neuronport.source.view import ModuleView

EVENTS = ("str",)
STRINGS = _strings.STRINGS


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if not _strings.DEVICE.search(event.name):
        return
    role, listed, branched = _strings.unwrap(event.role)
    if listed or branched:
        return
    option = _strings.is_option(role, view)
    if role[0] not in ("default", "field") and not option:
        return
    if option and role[-1] not in ("default", "const", 1, "value"):
        return
    found = _strings.place(event, view)
    if found is None:
        return
    confidence, where = found
    if option:
        where = "default of a command line option"
        if _strings.builds_for(event, view):
            confidence = Confidence.POSSIBLE
    verdict = None
    overriding = 0 if option else _overriding(role, view)
    if overriding:
        # Whoever calls it from outside the tree may take the default all the same.
        sure = Confidence.POSSIBLE if _is_inner(role, view) else Confidence.LIKELY
        confidence, verdict = weakest(confidence, sure), Verdict.LOCKS_IN
        calls = (
            "the one known call gives" if overriding == 1 else f"all {overriding} known calls give"
        )
        where += f"; {calls} it one"
    elif role[0] == "default" and _only_compared(role, event.name, view):
        # Nothing is placed by it, or not before another device is given.
        confidence, verdict = Confidence.POSSIBLE, Verdict.LOCKS_IN
        where += "; as long as nobody gives another, it is only compared"
    yield Hit(
        event.span,
        f"without an argument the device is {event.name.strip()!r} ({where})",
        confidence,
        verdict=verdict,
    )


def _overriding(role: Any, view: ModuleView) -> int:
    """How many calls in the tree give a parameter or a field another value than its default; 0: some
    do not, or there are none, or too many."""
    kind, owner, parameter = role
    names, position = [owner], -1
    if kind == "default":
        function = view.summary.functions.get(owner)
        if function is None:
            return 0
        position = view.resolver.position(function, parameter)
        if function.owner and owner.endswith(".__init__"):
            names.append(function.owner)
    called = 0
    for name in names:
        if view.index.times_called(name) >= MOST_CALLERS:
            return 0
        for call in view.index.callers(name):
            if not _gives(call, parameter, position):
                return 0
            called += 1
    return called


def _only_compared(role: Any, default: str, view: ModuleView) -> bool:
    """Whether a plain function does nothing with a parameter but compare it: what it does after
    ``if device != "cuda"`` with another device does not count. Methods can keep it."""
    _, owner, parameter = role
    function = view.summary.functions.get(owner)
    if function is None or function.owner:
        return False
    this, facts = ("param", owner, parameter), view.facts
    tests = [e for e in facts.events if e.kind == "test" and _mentions(e.value, this, 0)]
    if not any(_compares(e.value, this) for e in tests):
        return False
    others = {
        i
        for i, guard in enumerate(facts.guards)
        if guard.test == ("cmp", this, "!=" if guard.polarity else "==", ("const", default))
    }
    for event in facts.events:
        if event.kind in ("str", "param") or not others.isdisjoint(view.ctx(event).guards):
            continue
        if event.kind == "test":
            if _mentions(event.value, this, 0) and not _compares(event.value, this):
                return False
            continue
        values = (event.value, *(event.args or ()), *(v for _, v in event.kwargs))
        if any(_mentions(value, this, 0) for value in values):
            return False
    for definition in facts.definitions:
        if others.isdisjoint(definition.guards) and _mentions(definition.value, this, 0):
            return False
    if any(_mentions(value, this, 0) for value in function.returns):
        return False
    for call in facts.calls.get(owner, ()):
        if any(_mentions(v, this, 0) for v in (*call[1], *(v for _, v in call[2]))):
            return False
    return True


def _compares(value: Value, this: Value) -> bool:
    return value is not None and value[0] == "cmp" and (value[1] == this or value[3] == this)


def _mentions(value: Any, this: Value, depth: int) -> bool:
    if value == this:
        return True
    if not isinstance(value, tuple) or depth > 8:
        return False
    return any(_mentions(part, this, depth + 1) for part in value)


def _gives(call: Call, parameter: str, position: int) -> bool:
    if any(key == parameter for key, _ in call.kwargs):
        return True
    before = call.args[: position + 1]
    return 0 <= position < len(call.args) and not any(
        value is not None and value[0] == "starred" for value in before
    )


def _is_inner(role: Any, view: ModuleView) -> bool:
    """Whether nobody outside the module is meant to call a function."""
    kind, dotted, _ = role
    name = dotted.removeprefix(f"{view.facts.module}.")
    function = view.summary.functions.get(dotted)
    if kind != "default" or function is None or function.owner:
        return False
    return "." in name or name.startswith("_")
