"""A number read from a tensor in a loop and computed with: a new constant in every step."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import LIKELY, POSSIBLE, local_name, on_host
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

OPERANDS = ("item",)
EVENTS = ("bin",)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    loops = [
        loop
        for loop in (view.facts.loops[i] for i in view.ctx(event).loops)
        if loop.kind != "comprehension"
    ]
    if not loops or event.args is None:
        return
    for number, other in ((event.value, event.args[0]), (event.args[0], event.value)):
        if number is None or number[0] != "v":
            continue
        made = view.summary.definitions[number[1]]
        if not _read(made.value) or not loops[-1].line <= made.line <= loops[-1].end_line:
            continue
        known = view.kind(other)
        if known.kind != "tensor" or on_host(view, other):
            continue
        yield Hit(
            event.span,
            f"{local_name(view, number)} is a Python number that changes with every step: "
            "a constant of the graph, so another graph each time",
            LIKELY if view.hot(event) or not known.derived else POSSIBLE,
        )
        return


def _read(value: Value) -> bool:
    return (
        value is not None
        and value[0] == "call"
        and value[1] is not None
        and value[1][0] == "attr"
        and value[1][2] == "item"
        and not value[2]
    )
