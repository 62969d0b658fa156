"""A parameter, field or option whose default is a CUDA device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import Confidence, weakest
from neuronport.readers.python.facts import Event
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
    overriding = 0 if option else _overriding(role, view)
    if overriding:
        # Whoever calls it from outside the tree may take the default all the same.
        sure = Confidence.POSSIBLE if _is_inner(role, view) else Confidence.LIKELY
        confidence = weakest(confidence, sure)
        calls = (
            "the one known call gives" if overriding == 1 else f"all {overriding} known calls give"
        )
        where += f"; {calls} it one"
    yield Hit(
        event.span,
        f"without an argument the device is {event.name.strip()!r} ({where})",
        confidence,
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
