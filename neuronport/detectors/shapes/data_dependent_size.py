"""A size read from data: repeat_interleave by a tensor, bincount, one_hot without the number of
classes, arange and factories sized by ``.item()``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from neuronport.detectors import Hit
from neuronport.detectors._tensors import (
    CERTAIN,
    LIKELY,
    POSSIBLE,
    called,
    on_host,
    placed,
    torch_call,
)
from neuronport.findings import Confidence, weakest
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

METHODS = ("repeat_interleave", "bincount")
EVENTS = ("item", "use", "method")
_SIZED = frozenset(
    f"torch.{n}" for n in ("arange", "zeros", "ones", "empty", "full", "rand", "randn", "linspace")
)
_ONE_HOT = ("torch.nn.functional.one_hot", "torch._C._nn.one_hot")
_MAX_DEPTH = 5
_NAMES = frozenset(METHODS) | frozenset(n.rpartition(".")[2] for n in (*_SIZED, *_ONE_HOT))
ONLY = {"use": _NAMES, "method": _NAMES}
_BOUNDS = frozenset(("v", "call", "bin", "item", "neg"))
"""What an end of a slice can be that was read from a tensor."""


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "item":
        index = event.args[0] if event.args else None
        if index is not None and index[0] in ("slice", "tuple"):
            yield from _sliced(event, index, view)
        return
    name = torch_call(event, view)
    if name in _SIZED:
        for value in _sizes(name, event, view):
            sure = _read_back(view, value) or _largest(view, value)
            if sure is not None:
                # That the value is read may be certain, that its size differs is not.
                sure = placed(event, view, weakest(sure, LIKELY))
                if not any(k == "device" for k, _ in event.kwargs) and not view.hot(event):
                    sure = POSSIBLE  # it lies on the host, and nothing says that it is moved
                yield Hit(
                    event.span,
                    f"{name.rpartition('.')[2]} is sized by a value read from a tensor",
                    sure,
                )
                return
        return
    if name in _ONE_HOT:
        classes = view.argument(event, "num_classes", 1)
        open_ended = not view.given(event, "num_classes", 1) or view.constant(classes) == (True, -1)
        unpacked = any(k is None for k, _ in event.kwargs)
        if open_ended and not unpacked and not on_host(view, view.argument(event, "tensor", 0)):
            yield Hit(
                event.span,
                "one_hot without num_classes: the largest label decides the width",
                placed(event, view, CERTAIN),
            )
        return
    if not name and event.name not in METHODS:
        return
    call = called(event, view, METHODS)
    if call is None or on_host(view, call.tensor):
        return
    if call.name == "bincount":
        if not call.given("minlength", 1):
            yield Hit(
                event.span,
                "bincount without minlength: the largest value decides the length",
                placed(event, view, call.confidence),
            )
        return
    if call.given("output_size"):
        return
    repeats = call.argument("repeats", 0)
    if repeats is None and name and len(event.args or ()) == 1:
        repeats = call.tensor
    if repeats is None:
        return
    known = view.kind(repeats)
    if known.kind == "tensor" and not on_host(view, repeats):
        yield Hit(
            event.span,
            "repeat_interleave by a tensor: its sum decides the length",
            placed(event, view, CERTAIN if known.derived else LIKELY),
        )


def _sizes(name: str, event: Event, view: ModuleView) -> Iterator[Value]:
    """The arguments of a factory that say how much it makes."""
    if name == "torch.linspace":
        yield view.argument(event, "steps", 2)
        return
    sizes = (event.args or ())[: 1 if name == "torch.full" else None]
    for value in (*sizes, *(v for k, v in event.kwargs if k in ("size", "end"))):
        if value is not None and value[0] in ("tuple", "list"):
            yield from value[1]
        else:
            yield value


def _largest(view: ModuleView, value: Value) -> Confidence | None:
    """Whether a number is the largest element of a tensor, which is read without a word:
    ``torch.arange(lengths.max())``."""
    if value is not None and value[0] == "v":
        value = view.summary.definitions[value[1]].value
    if value is None or value[0] != "call" or value[1] is None or value[1][0] != "attr":
        return None
    base, name = value[1][1:]
    if name not in _LARGEST or value[2] or value[3]:
        return None
    known = view.kind(base)
    if known.kind != "tensor" or on_host(view, base):
        return None
    return LIKELY


def _sliced(event: Event, index: Any, view: ModuleView) -> Iterator[Hit]:
    """``x[:, : lengths[i]]``: as long as a value of a tensor says."""
    for part in index[1] if index[0] == "tuple" else (index,):
        if part is None or part[0] != "slice":
            continue
        for bound in (part[2], part[1]):
            if bound is None or bound[0] not in _BOUNDS:
                continue
            sure = _read_back(view, bound) or _is_value(view, bound)
            if sure is None or view.receiver(event.value, "tensor", "batch") is None:
                continue
            if on_host(view, event.value):
                return
            left = _length(part[1], part[2], view)
            fixed = left is not None and not any(
                _read_back(view, term) or _is_value(view, term) for term in left
            )
            said: dict[tuple[int, Value], object] = view.once("slices said", dict)
            if said.setdefault((event.span.line, bound), event.at) == event.at:
                if fixed:
                    yield Hit(
                        event.span,
                        f"a slice moves with {view.text(bound)}, which is read from a tensor: as long "
                        "every time, from another offset for every value",
                        POSSIBLE,
                        replacement=_GATHERED,
                    )
                    return
                yield Hit(
                    event.span,
                    f"a slice {'begins' if bound is part[1] else 'ends'} at {view.text(bound)}, which is "
                    "read from a tensor: a new shape for every value",
                    placed(event, view, weakest(sure, LIKELY)),
                    replacement=_MASKED,
                )
            return


_MASKED = (
    "a fixed length and a mask (torch.arange(n) < length), or lengths that the host knows before the "
    "batch is moved"
)
_GATHERED = "indices made on the device, start + torch.arange(n), and index_select: the offset stays a tensor"


def _length(start: Value, end: Value, view: ModuleView) -> list[Value] | None:
    """What the length of a slice is made of: ``x[i : i + n]`` is as long as ``n`` says. None: its
    ends have nothing in common."""
    left = _terms(start, view)
    right: list[Value] = []
    for sign, term in _terms(end, view):
        if (sign, term) in left:
            left.remove((sign, term))
        else:
            right.append(term)
    if start is None or end is None or len(right) == len(_terms(end, view)):
        return None
    return [*right, *(term for _, term in left)]


def _terms(
    value: Value, view: ModuleView, sign: str = "+", depth: int = 0
) -> list[tuple[str, Value]]:
    """What is added and taken away in a sum."""
    held = value
    if value is not None and value[0] == "v":
        held = view.summary.definitions[value[1]].value
    if held is None or held[0] != "bin" or depth > _MAX_DEPTH:
        return [(sign, value)]
    if held[1] != "+" and held[1] != "-":
        return [(sign, value)]
    other = sign
    if held[1] == "-":
        other = "-" if sign == "+" else "+"
    return [
        *_terms(held[2], view, sign, depth + 1),
        *_terms(held[3], view, other, depth + 1),
    ]


def _is_value(view: ModuleView, value: Value, depth: int = 0) -> Confidence | None:
    """Whether a number is computed from an element of a tensor on the device, as it stands."""
    if value is None or depth > _MAX_DEPTH:
        return None
    if value[0] == "v":
        return _is_value(view, view.summary.definitions[value[1]].value, depth + 1)
    if value[0] in ("bin", "neg"):
        sides = value[2:] if value[0] == "bin" else value[1:]
        return next((c for c in (_is_value(view, v, depth + 1) for v in sides) if c), None)
    if value[0] == "item" or (
        value[0] == "call"
        and value[1] is not None
        and value[1][0] == "attr"
        and value[1][2] in _LARGEST
    ):
        base = value[1] if value[0] == "item" else value[1][1]
        known = view.kind(base)
        if known.kind == "tensor" and known.derived and not on_host(view, base):
            return LIKELY
    return None


_LARGEST = frozenset(("amax", "max", "min", "sum"))


def _read_back(view: ModuleView, value: Value, depth: int = 0) -> Confidence | None:
    """How surely a number was read from a tensor: ``.item()``, ``int(t)``, or a tensor itself."""
    if value is None or depth > _MAX_DEPTH:
        return None
    if value[0] == "v":
        return _read_back(view, view.summary.definitions[value[1]].value, depth + 1)
    if value[0] == "bin":
        for side in value[2:]:
            sure = _read_back(view, side, depth + 1)
            if sure is not None:
                return sure
        return None
    if value[0] != "call" or value[1] is None:
        return None
    func = value[1]
    if func[0] == "attr":
        if func[2] == "item" and not value[2] and not on_host(view, func[1]):
            return view.receiver(func[1], "tensor")
        if func[2] in ("max", "min", "sum", "amax", "long", "int") and depth:
            known = view.kind(func[1])
            return LIKELY if known.kind == "tensor" and not on_host(view, func[1]) else None
        return None
    if func[0] == "ref" and func[1] == "builtins.int" and len(value[2]) == 1:
        inner = value[2][0]
        known = view.kind(inner)
        if known.kind == "tensor" and not on_host(view, inner):
            return CERTAIN if known.derived else LIKELY
        return _read_back(view, inner, depth + 1)
    return None
