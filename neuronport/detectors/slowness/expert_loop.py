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
        Confidence.LIKELY,
    )


def _over(view: ModuleView, value: Value, depth: int) -> str:
    """The experts a loop goes over, as written; '': something else."""
    if value is None or depth > 3:
        return ""
    if value[0] in ("attr", "param", "v"):
        name = view.text(value)
        return name if _EXPERTS.search(name.rpartition(".")[2]) else ""
    if value[0] == "call" and value[1] in _PASSING:
        for argument in value[2]:
            found = _over(view, argument, depth + 1)
            if found:
                return found
    return ""
