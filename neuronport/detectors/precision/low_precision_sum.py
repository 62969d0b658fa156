"""A running sum in bfloat16 or float16."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import CERTAIN, LIKELY, same_scope, torch_call
from neuronport.detectors.precision._dtypes import formats
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("use",)
_STARTS = frozenset(f"torch.{n}" for n in ("zeros", "tensor", "full", "zeros_like", "as_tensor"))
ONLY = frozenset(n.rpartition(".")[2] for n in _STARTS)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if torch_call(event, view) not in _STARTS:
        return
    found = formats(view, view.argument(event, "dtype"))
    if not found or not set(found) <= {"bfloat16", "float16"}:
        return
    line = event.span.line
    local = same_scope(view, event)
    names = {
        d.name
        for _, d in local
        if d.line == line and d.value is not None and d.value[:2] == ("call", ("ref", event.name))
    }
    if not names:
        return
    for _, definition in local:
        value = definition.value
        if (
            definition.name in names
            and definition.line > line
            and value is not None
            and value[0] == "bin"
            and value[1] == "+"
            and _reads(view, value[2], definition.name)
            and _looped(view, line, definition.line)
        ):
            yield Hit(
                event.span,
                f"{definition.name} is a running sum in {found[0]}: small terms vanish",
                CERTAIN if len(found) == 1 else LIKELY,
            )
            return


def _reads(view: ModuleView, value: Value, name: str) -> bool:
    if value is None:
        return False
    if value[0] == "any":
        return any(_reads(view, item, name) for item in value[1])
    return value[0] == "v" and view.summary.definitions[value[1]].name == name


def _looped(view: ModuleView, start: int, line: int) -> bool:
    """Whether a line is inside a loop that begins after another line."""
    return any(start < loop.line <= line <= loop.end_line for loop in view.facts.loops)
