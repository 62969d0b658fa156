"""Indexing, gathering or adding by a list whose length the data decides."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import (
    CERTAIN,
    LIKELY,
    Counted,
    called,
    counted,
    local_name,
    on_host,
    placed,
)
from neuronport.detectors.shapes._indexing import indices
from neuronport.findings import weakest
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

_POSITIONS = {
    "index_select": 1,
    "index_add": 1,
    "index_add_": 1,
    "index_fill": 1,
    "index_fill_": 1,
    "index_copy": 1,
    "index_copy_": 1,
    "index_put": 0,
    "index_put_": 0,
    "take": 0,
}
"""Where the index stands, the tensor not counted."""
METHODS = tuple(_POSITIONS)
EVENTS = ("item", "method", "use")
ONLY = {"use": frozenset(_POSITIONS), "method": frozenset(_POSITIONS)}


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "item":
        for index in indices(event):
            made = counted(view, index)
            if made is not None:
                owner = view.receiver(event.value, "tensor", "batch")
                if owner is None or on_host(view, event.value) or on_host(view, index):
                    return
                if _is_first(event, view, index):
                    yield Hit(event.span, _message(made, index, view), placed(event, view, LIKELY))
                return
        return
    if event.kind == "method" and event.name not in _POSITIONS:
        return
    call = called(event, view, _POSITIONS)
    if call is None:
        return
    index = call.argument("indices" if "put" in call.name else "index", _POSITIONS[call.name])
    made = counted(view, index)
    if made is not None and not on_host(view, call.tensor):
        sure = CERTAIN if event.kind == "use" else weakest(LIKELY, call.confidence)
        says = _message(made, index, view)
        yield Hit(event.span, f"{call.name}: {says}", placed(event, view, sure))


def _is_first(event: Event, view: ModuleView, index: Value) -> bool:
    """Whether nothing has been said of an index in this line: the others are of the same length."""
    said: dict[tuple[int, Value], tuple[int, ...]] = view.once("indices said", dict)
    return said.setdefault((event.span.line, index), event.at) == event.at


def _message(made: Counted, index: Value, view: ModuleView) -> str:
    says = made.says(view)
    name = local_name(view, index)
    what = f"{name} comes from {says}" if name and name not in says else f"the index is {says}"
    return f"{what}: the data decides how long it is"
