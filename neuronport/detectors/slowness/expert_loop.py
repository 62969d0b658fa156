"""A Python loop over the experts of a mixture in forward."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Span, Value
from neuronport.source.view import ModuleView

EVENTS = ("loop",)
_EXPERTS = re.compile(r"(^|_)(n_|num_|local_)*experts?($|_)", re.I)
_COUNTING = [("ref", "builtins.range"), ("ref", "builtins.enumerate")]
_OTHER = re.compile(r"_(layers?|blocks?|order|names?|keys?|types?)$", re.I)
"""The layers of one expert, or what experts are called."""

_PASSING = [("ref", f"builtins.{name}") for name in ("enumerate", "range", "zip", "len")]


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name != "for":
        return
    name = _over(view, event.value, 0)
    if not name or not view.hot(event):
        return
    yield Hit(
        Span(event.span.line, event.span.column, event.span.line, event.span.column + 3),
        f"loops over {name} in Python: the graph holds every expert, one after another",
        Confidence.LIKELY if _is_routed(event, view) else Confidence.POSSIBLE,
    )


_ROUTING = re.compile(
    r"(^|_)(rout|gat(e|es|ing)(_|$)|top_?k|expert|weights?$|w$|dispatch|combine)", re.I
)
"""In the name of what chooses experts, or weighs them."""


def _is_routed(event: Event, view: ModuleView) -> bool:
    """Whether the function of a loop holds what chooses or weighs experts, or the loop counts them."""
    if _counts(event.value):
        return True
    scope = view.ctx(event).scope
    named = view.facts.functions.get(f"{view.facts.module}.{view.scope(event)}")
    if named is not None and any(_ROUTING.search(p[0]) for p in named.params):
        return True
    return any(
        d.scope == scope and d.line != event.span.line and _ROUTING.search(d.name)
        for d in view.facts.definitions
    )


def _counts(value: Value) -> bool:
    """Whether a loop goes over the numbers of experts."""
    return value is not None and value[0] == "call" and value[1] in _COUNTING


def _over(view: ModuleView, value: Value, depth: int) -> str:
    """The experts a loop goes over, as written; '': something else."""
    if value is None or depth > 3:
        return ""
    if value[0] in ("attr", "param", "v"):
        name = view.text(value)
        last = name.rpartition(".")[2]
        return name if _EXPERTS.search(last) and not _OTHER.search(last) else ""
    if value[0] == "call" and value[1] in _PASSING:
        for argument in value[2]:
            found = _over(view, argument, depth + 1)
            if found:
                return found
    return ""
