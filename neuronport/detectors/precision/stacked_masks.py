"""Two masks of the smallest number, added: their sum is minus infinity."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import LIKELY
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

OPERANDS = ("masked_fill", "masked_fill_")
EVENTS = ("bin",)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name != "+" or event.args is None:
        return
    if _saturated(view, event.value) and _saturated(view, event.args[0]):
        yield Hit(event.span, "two masks of the smallest number are added", LIKELY)


def _saturated(view: ModuleView, value: Value) -> bool:
    """Whether a tensor was filled with the smallest number of a format."""
    while value is not None and value[0] == "item":
        value = value[1]
    if value is None or value[0] != "v":
        return False
    made = view.summary.definitions[value[1]].value
    if made is None or made[0] != "call" or made[1] is None or made[1][-1] not in OPERANDS:
        return False
    filler = made[2][1] if len(made[2]) > 1 else dict(made[3]).get("value")
    for atom in view.follow(filler):
        inner = atom.value
        if inner is None or inner[0] != "attr" or inner[2] != "min":
            return False
        base = inner[1]
        if base is None or base[:2] != ("call", ("ref", "torch.finfo")):
            return False
    return filler is not None
