"""Subscripts: by a mask, by a list of indices that the data decides the length of."""

from __future__ import annotations

from typing import Any

from neuronport.detectors._tensors import (
    _NOT_A_TENSOR,
    LIKELY,
    MASK_NAME,
    POSSIBLE,
    counted,
    filled,
    local_name,
    mask,
    on_host,
    placed,
    uses_arrays,
    uses_torch,
)
from neuronport.findings import Confidence, weakest
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

_PLAIN = frozenset(("const", "slice", "list", "dict", "fstr", "neg", "set", "comp", "lambda"))
_ONLY_TENSORS = frozenset(
    [
        "unsqueeze",
        "masked_fill",
        "permute",
        "flip",
        "contiguous",
        "expand",
        "index_select",
        "gather",
        "scatter",
        "softmax",
        "log_softmax",
        "sigmoid",
        "detach",
        "type_as",
        "new_zeros",
        "new_ones",
        "clamp_min",
        "float",
        "half",
        "long",
        "bool",
    ]
)
"""Methods that tensors have and arrays, lists and dictionaries do not."""


def indices(event: Event) -> list[Value]:
    """What a subscript indexes by, without slices and literals."""
    index = event.args[0] if event.args else None
    if index is None:
        return []
    parts = index[1] if index[0] == "tuple" else (index,)
    return [p for p in parts if p is not None and p[0] not in _PLAIN]


def masked_item(event: Event, view: ModuleView) -> Confidence | None:
    """How surely a subscript is by a mask on a device tensor, with its place taken into account."""
    found = indices(event)
    if not found or not uses_torch(view):
        return None
    base = event.value
    best: Confidence | None = None
    for index in found:
        sure = mask(view, index)
        if sure is None:
            sure = _named(index, view)
        if sure is not None and (best is None or weakest(best, sure) is best):
            best = sure
    if best is None:
        return None
    owner = view.receiver(base, "tensor", "batch")
    if owner is None or _NOT_A_TENSOR.search(local_name(view, base)):
        return None
    if best is POSSIBLE and owner is POSSIBLE and (uses_arrays(view) or not view.hot(event)):
        # Both only guessed: said only where tensors are what one meets.
        return POSSIBLE if _updates_itself(event) else None
    if owner is POSSIBLE:
        # Nothing but a tensor is indexed by a mask that is one.
        best = weakest(best, LIKELY)
    elif best is not POSSIBLE:
        best = weakest(best, owner)
    if on_host(view, base) or any(on_host(view, index) for index in found):
        return None
    if best is not POSSIBLE and any(filled(view, index) for index in found):
        best = POSSIBLE  # as many every time
    return placed(event, view, best)


def _named(index: Value, view: ModuleView) -> Confidence | None:
    """A mask by its name only."""
    name = local_name(view, index)
    if not name or not MASK_NAME.search(name):
        return None
    if counted(view, index) is not None:
        return None  # a list of indices, whatever its name
    known = view.kind(index)
    return POSSIBLE if known.kind in ("tensor", "unknown") else None


def _updates_itself(event: Event) -> bool:
    """``x[i] = x[i].flip(-1)``: a method only tensors have tells what ``x`` is."""
    value: Any = event.args[1] if event.args is not None and len(event.args) > 1 else None
    for _ in range(6):
        if value is None or value[0] != "call" or value[1] is None or value[1][0] != "attr":
            return False
        if value[1][2] in _ONLY_TENSORS:
            inner = value[1][1]
            while inner is not None and inner[0] == "call" and inner[1] is not None:
                inner = inner[1][1] if inner[1][0] == "attr" else None
            return inner is not None and inner[:2] == ("item", event.value)
        value = value[1][1]
    return False
