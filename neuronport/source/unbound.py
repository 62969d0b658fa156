"""Names that are set nowhere but where CUDA was found, and used all the same: Python stops there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from neuronport.readers.python.facts import Event, Guard, Value

if TYPE_CHECKING:
    from neuronport.source.view import ModuleView

_MAX_DEPTH = 3
_MOST = 8
"""Of more values than one less the reader keeps only some."""


class Unbound(NamedTuple):
    name: str
    line: int
    """Where it is used."""


def unbound(view: ModuleView) -> Mapping[int, Unbound]:
    """Line of a condition that does not hold on a Neuron host → a name that is set under it, or
    under others of that kind, alone, and used behind it whatever holds; the first use."""
    return view.once("unbound", lambda: _find(view))


def _find(view: ModuleView) -> dict[int, Unbound]:
    found: dict[int, Unbound] = {}
    known: dict[Value, tuple[int, ...]] = {}
    for event in view.facts.events:
        for value in _used(event):
            lines = known.get(value)
            if lines is None:
                lines = known[value] = _conditions(value, event, view)
            if lines and _always_comes(event, view):
                name = view.summary.definitions[_parts(value)[0]].name
                for line in lines:
                    if line < event.at[0]:
                        found.setdefault(line, Unbound(name, event.at[0]))
    return found


def _used(event: Event) -> Iterator[Value]:
    """The variables whose value an event asks for."""
    pending: list[tuple[Any, int]] = [(event.value, 0), *((a, 0) for a in event.args or ())]
    pending += [(value, 0) for _, value in event.kwargs]
    while pending:
        value, depth = pending.pop()
        if value is None or depth > _MAX_DEPTH:
            continue
        if value[0] == "v" or value[0] == "any":
            yield value
        elif value[0] in ("item", "attr"):
            pending.append((value[1], depth + 1))
        elif value[0] == "call":
            pending += [(part, depth + 1) for part in value[2]]


def _parts(value: Any) -> list[int]:
    """The definitions that a variable can be from; empty: not only from such."""
    values = value[1] if value[0] == "any" else (value,)
    if len(values) >= _MOST or any(v is None or v[0] != "v" for v in values):
        return []
    return [v[1] for v in values]


def _conditions(value: Any, event: Event, view: ModuleView) -> tuple[int, ...]:
    """The lines of the conditions under which alone a variable is set, when none of them holds on a
    Neuron host; what is set in another function is set by whoever calls it."""
    lines: list[int] = []
    names = set()
    for i in _parts(value):
        definition = view.summary.definitions[i]
        if not definition.guards or definition.scope != view.ctx(event).scope:
            return ()
        names.add(definition.name)
        skipping = [
            g
            for g in (view.facts.guards[i] for i in definition.guards)
            if g.kind == "if" and _alone(g, view) and view.truth.skipped(view.summary, g)
        ]
        if not skipping:
            return ()
        lines.append(skipping[0].line)
    return tuple(lines) if len(names) == 1 and "." not in next(iter(names)) else ()


def _alone(guard: Guard, view: ModuleView) -> bool:
    """Whether an ``if`` has no other branch: what such a one does, or where it ends, is not told."""
    return not any(
        view.facts.guards[i].kind == "if" and view.facts.guards[i].polarity is not guard.polarity
        for i in view.guards_at[guard.line]
    )


def _always_comes(event: Event, view: ModuleView) -> bool:
    """Whether the program comes to a place whenever it comes to its function."""
    ctx = view.ctx(event)
    if ctx.loops or ctx.tries or view.facts.scopes[ctx.scope].kind not in ("function", "module"):
        return False
    if ctx.scope == 0 and view.summary.stars:
        return False  # a star import may have brought the name
    return not ctx.guards
