"""Attention masks of minus infinity."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import POSSIBLE, called, torch_call
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

METHODS = ("masked_fill", "masked_fill_")
EVENTS = ("use", "method")
_FILLS = frozenset(("torch.full", "torch.full_like", "torch.where"))
_INFINITIES = frozenset(
    ("math.inf", "torch.inf", "numpy.inf", "numpy.Inf", "numpy.NINF", "numpy.PINF")
)
ONLY = frozenset(METHODS) | frozenset(n.rpartition(".")[2] for n in _FILLS)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "use":
        if torch_call(event, view) in _FILLS:
            values = (*(event.args or ())[1:], *(v for k, v in event.kwargs if k == "fill_value"))
            if any(_infinite(view, value) for value in values):
                yield Hit(event.span, "a mask of minus infinity", POSSIBLE)
            return
    elif event.name not in METHODS:
        return
    call = called(event, view, METHODS)
    if call is not None and _infinite(view, call.argument("value", 1)):
        yield Hit(event.span, f"{call.name} with minus infinity", POSSIBLE)


def _infinite(view: ModuleView, value: Value, depth: int = 0) -> bool:
    if value is None or depth > 4:
        return False
    if value[0] == "neg":
        return _infinite(view, value[1], depth + 1)
    if value[0] == "v":
        return _infinite(view, view.summary.definitions[value[1]].value, depth + 1)
    if value[0] == "ref":
        return value[1] in _INFINITIES
    return (
        value[0] == "call"
        and value[1] == ("ref", "builtins.float")
        and value[2][:1] in ((("const", "-inf"),), (("const", "inf"),), (("const", "-Inf"),))
    )
