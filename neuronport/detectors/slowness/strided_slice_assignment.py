"""``x[..., ::2] = …``: writing into every second element."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import LIKELY, on_host, placed, uses_torch
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("item",)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name != "store" or not event.args or not _strided(event.args[0]):
        return
    if _is_masked(event.args[0]):
        return  # the mask decides what it costs: boolean-mask-assignment
    if not uses_torch(view) or view.receiver(event.value, "tensor") is None:
        return
    if view.kind(event.value).kind != "tensor" and not view.hot(event):
        return
    if on_host(view, event.value):
        return
    yield Hit(
        event.span,
        f"writes into a strided slice of {view.text(event.value)}: the whole buffer is copied",
        placed(event, view, LIKELY),
        replacement=_instead(event, view),
    )


def _instead(event: Event, view: ModuleView) -> str:
    """What to write there; empty: what the rule says, the halves of the last dimension joined."""
    index, written = (*(event.args or ()), None, None)[:2]
    if _is_same(event, view):
        return _BOTH
    if written is not None and written[0] in ("const", "neg"):
        return _FILLED
    others = _others(event, view)
    if _count(index) > 1:
        return _SHUFFLED if len(others) == _PHASES and _count(index) == 2 else _SPREAD
    if not _is_other_half(index, others):
        return _SPREAD
    parts = index[1] if index is not None and index[0] == "tuple" else (index,)
    last = len(parts) - 1
    at = next((i for i, part in enumerate(parts) if _strided(part)), last)
    plain = all(p is not None and p[0] == "slice" for p in parts[:at])
    if plain and (at < last or last == 0):
        return f"torch.stack((a, b), dim={at + 1}).flatten({at}, {at + 1})"
    return ""


_FILLED = "x.masked_fill(positions, value), with a mask of the positions made once"
_BOTH = "torch.where(mask, new, old), with a mask of the positions made once"
"""Where one slice is taken over: both have the shape of the whole."""
_SPREAD = (
    "torch.where(mask, v, x), with a mask of the positions made once and v of the shape of x: what has "
    "one value for each position is spread before, v.repeat_interleave(step, dim), cut to the length of x"
)
"""Where nothing is written beside it: there are no two halves to join."""
_SHUFFLED = (
    "F.pixel_shuffle(torch.stack((a, b, c, d), dim=-3), 2).squeeze(-3), for the last two dimensions: a at "
    "(0, 0), b at (0, 1), c at (1, 0), d at (1, 1)"
)
_PHASES = 4
"""Slices of two dimensions with a step of two."""


def _others(event: Event, view: ModuleView) -> set[Value]:
    """The strided slices of a value that its function writes."""
    stored = view.once("strided slices written", lambda: _stored(view))
    return stored.get((view.ctx(event).scope, view.text(event.value)), set())


def _stored(view: ModuleView) -> dict[tuple[int, str], set[Value]]:
    found: dict[tuple[int, str], set[Value]] = {}
    for event in view.facts.events:
        is_stored = event.kind == "item" and event.name == "store"
        if is_stored and event.args and _strided(event.args[0]):
            key = (view.ctx(event).scope, view.text(event.value))
            found.setdefault(key, set()).add(event.args[0])
    return found


def _is_other_half(index: Value, others: set[Value]) -> bool:
    """Whether every second element is written, and the others are too."""
    at, start, step = _phase(index)
    return step == _HALVES and any(
        _phase(other) == (at, 1 - start, _HALVES) for other in others if start in (0, 1)
    )


_HALVES = 2


def _phase(index: Value) -> tuple[int, int, int]:
    """Of a slice of one dimension: which it is, counted from the last, its start and its step."""
    parts = index[1] if index is not None and index[0] == "tuple" else (index,)
    for i, part in enumerate(parts):
        if part is not None and _strided(part):
            start = part[1]
            first = 0 if start is None or start == ("const", None) else -1
            if start is not None and start[0] == "const" and type(start[1]) is int:
                first = start[1]
            return i - len(parts), first, part[3][1]
    return 0, -1, 0


def _is_same(event: Event, view: ModuleView) -> bool:
    """Whether what is written is the same slice of another tensor: nothing is joined there."""
    written = event.args[1] if event.args and len(event.args) > 1 else None
    if written is not None and written[0] == "v":
        written = view.summary.definitions[written[1]].value
    return written is not None and written[0] == "item" and written[2] == (event.args or ())[0]


def _is_masked(index: Value) -> bool:
    """Whether a comparison stands beside the slice: ``x[::2, :, image > 0.5]``."""
    return (
        index is not None
        and index[0] == "tuple"
        and any(part is not None and part[0] in ("cmp", "invert") for part in index[1])
    )


def _count(index: Value) -> int:
    return sum(map(_strided, index[1])) if index is not None and index[0] == "tuple" else 1


def _strided(index: Value) -> bool:
    if index is None:
        return False
    if index[0] == "tuple":
        return any(_strided(part) for part in index[1])
    if index[0] != "slice" or index[3] is None or index[3][0] != "const":
        return False
    step = index[3][1]
    return isinstance(step, int) and step not in (0, 1)
