"""Whether what a call reads goes into what the device computes next, within its function: arithmetic with
a tensor, an argument of one of PyTorch's operations."""

from __future__ import annotations

from typing import Any

from neuronport.detectors._tensors import call_value, same_scope
from neuronport.detectors.control._waits import REDUCING
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

_MAX_DEPTH = 8
_OF_NUMBERS = frozenset(
    f"builtins.{name}" for name in ("abs", "float", "int", "max", "min", "pow", "round", "sum")
)
"""What makes a number of numbers."""
_SIDES = ("bin", "cmp")
_SEVERAL = frozenset(("any", "bool", "list", "tuple", "set"))


def goes_on(event: Event, view: ModuleView) -> bool:
    if _is_added_up(event, view):
        return False
    scope = view.ctx(event).scope
    return call_value(event) in view.once(
        f"computed with {scope}", lambda: _Computed(event, view).found
    )


def _is_added_up(event: Event, view: ModuleView) -> bool:
    """Whether it is added to a total, for which what becomes of that does not matter yet."""
    sums = view.once("added up", lambda: [e for e in view.facts.events if e.kind == "augassign"])
    return any(
        e.ctx == event.ctx and e.at[:2] <= event.at[:2] and event.at[2:] <= e.at[2:] for e in sums
    )


class _Computed:
    """The calls of one function whose numbers are computed with on the device."""

    def __init__(self, event: Event, view: ModuleView) -> None:
        self.found: list[Value] = []
        self._followed: set[int] = set()
        ctx = view.ctx(event)
        scope = view.facts.scopes[ctx.scope]
        for _, definition in same_scope(view, event):
            self._walk(definition.value, view, 0)
        for other in view.facts.events:
            given = other.kind in ("use", "method") and (other.args or other.kwargs)
            if given and view.ctx(other).scope == ctx.scope:
                self._walk(call_value(other), view, 0)
        function = view.facts.functions.get(f"{view.facts.module}.{scope.qualname}")
        for value in function.returns if function is not None else ():
            self._walk(value, view, 0)

    def _walk(self, value: Any, view: ModuleView, depth: int) -> None:
        if not isinstance(value, tuple) or not value or depth > _MAX_DEPTH:
            return
        tag = value[0]
        if tag in _SIDES:
            left, right = (value[1], value[3]) if tag == "cmp" else (value[2], value[3])
            if _is_tensor(left, view):
                self._take(right, view, depth + 1)
            elif _is_tensor(right, view):
                self._take(left, view, depth + 1)
            self._walk(left, view, depth + 1)
            self._walk(right, view, depth + 1)
        elif tag == "call":
            arguments = (*value[2], *(v for _, v in value[3]))
            gives = bool(arguments) and view.kind(value).kind == "tensor"
            if gives and _is_operation(value[1], view):
                for item in arguments:
                    self._take(item, view, depth + 1)
            for item in (value[1], *arguments):
                self._walk(item, view, depth + 1)
        elif tag in _SEVERAL:
            for item in value[-1]:
                self._walk(item, view, depth + 1)
        elif tag in ("attr", "item", "neg", "not"):
            self._walk(value[1], view, depth + 1)
        elif tag == "if":
            for item in value[2:]:
                self._walk(item, view, depth + 1)

    def _take(self, value: Value, view: ModuleView, depth: int) -> None:
        """What is computed with, and what that is made of."""
        if value is None or depth > _MAX_DEPTH:
            return
        tag = value[0]
        if tag == "v":
            if value[1] not in self._followed:
                self._followed.add(value[1])
                self._take(view.summary.definitions[value[1]].value, view, depth + 1)
        elif tag == "call":
            self.found.append(value)
            if value[1] is not None and value[1][0] == "ref" and value[1][1] in _OF_NUMBERS:
                for item in value[2]:
                    self._take(item, view, depth + 1)
        elif tag in _SIDES:
            for side in (value[1], value[3]) if tag == "cmp" else value[2:]:
                self._take(side, view, depth + 1)
        elif tag == "neg":
            self._take(value[1], view, depth + 1)
        elif tag in _SEVERAL or tag == "if":
            for item in value[2:] if tag == "if" else value[-1]:
                self._take(item, view, depth + 1)


def _is_tensor(value: Value, view: ModuleView) -> bool:
    """Whether a value is a tensor, or a sum, a mean of what is hardly anything else."""
    if view.kind(value).kind == "tensor":
        return True
    if value is None or value[0] != "call" or value[1] is None or value[1][0] != "attr":
        return False
    return value[1][2] in REDUCING and view.kind(value[1][1]).kind == "unknown"


def _is_operation(func: Value, view: ModuleView) -> bool:
    """Whether a function is PyTorch's, or a method of a tensor."""
    if func is None:
        return False
    if func[0] == "attr":
        return view.kind(func[1]).kind == "tensor"
    return func[0] == "ref" and str(func[1]).startswith("torch.")
