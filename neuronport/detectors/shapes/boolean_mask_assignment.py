"""Writing by a mask: ``x[mask] = v``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from neuronport.detectors import Hit
from neuronport.detectors.shapes._indexing import masked_item
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("item",)
_MAX_DEPTH = 6


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name != "store":
        return
    sure = masked_item(event, view)
    if sure is None:
        return
    written = event.args[1] if event.args is not None and len(event.args) > 1 else None
    says = f"{view.text(event.value)} is written by a mask, of which indices are made first"
    if _is_selected(event, view):
        says += "; so is what is written, for which wrong numbers were reported on trn2 (XLA)"
    yield Hit(event.span, says, sure, replacement=_ROWS if _is_tensor(written, event, view) else "")


_ROWS = (
    "torch.where(mask, v, x) if v is a scalar or has the shape of x; if it has one element for each "
    "that is marked: scatter by position, or on the host before the batch is moved"
)
_SCALARS = frozenset(("mean", "sum", "item", "min", "max", "amax", "amin", "median", "std"))


def _is_tensor(written: Value, event: Event, view: ModuleView) -> bool:
    """Whether what is written is a tensor of a shape that is not known to fit ``torch.where``."""
    if written is None or written[0] in ("const", "neg", "bin"):
        return False
    if written[0] == "item":
        # Picked by another tensor of indices: one for each that is marked.
        return not _is_selected(event, view) and any(
            view.kind(index).kind == "tensor" for index in _picked_by(written)
        )
    if written[0] == "call" and written[1] is not None and written[1][-1] in _SCALARS:
        return False
    return view.kind(written).kind == "tensor" and not _is_selected(event, view)


def _picked_by(item: tuple[Any, ...]) -> list[Value]:
    """What a subscript takes its elements by, without slices and literals."""
    index = item[2]
    parts = index[1] if index is not None and index[0] == "tuple" else (index,)
    return [p for p in parts if p is not None and p[0] in ("v", "param", "attr", "call", "item")]


def _is_selected(event: Event, view: ModuleView) -> bool:
    """Whether what is written was taken by the same mask: ``x[m] = x[m].flip(-1)``."""
    if event.args is None or len(event.args) < 2:
        return False
    return _takes(event.args[1], event.args[0], view, 0)


def _takes(value: Value, index: Value, view: ModuleView, depth: int) -> bool:
    if value is None or depth > _MAX_DEPTH:
        return False
    tag = value[0]
    if tag == "item":
        return bool(value[2] == index) or _takes(value[1], index, view, depth + 1)
    if tag == "v":
        return _takes(view.summary.definitions[value[1]].value, index, view, depth + 1)
    if tag == "bin":
        return any(_takes(side, index, view, depth + 1) for side in value[2:])
    if tag == "neg":
        return _takes(value[1], index, view, depth + 1)
    if tag == "call" and value[1] is not None:
        parts = (value[1][1], *value[2]) if value[1][0] == "attr" else value[2]
        return any(_takes(part, index, view, depth + 1) for part in parts)
    return False
