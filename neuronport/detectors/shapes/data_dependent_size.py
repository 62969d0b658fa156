"""A size read from data: repeat_interleave by a tensor, bincount, one_hot without the number of
classes, arange and factories sized by ``.item()``."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import CERTAIN, LIKELY, called, on_host, placed, torch_call
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

METHODS = ("repeat_interleave", "bincount")
EVENTS = ("use", "method")
_SIZED = frozenset(
    f"torch.{n}" for n in ("arange", "zeros", "ones", "empty", "full", "rand", "randn", "linspace")
)
_ONE_HOT = ("torch.nn.functional.one_hot", "torch._C._nn.one_hot")
_MAX_DEPTH = 5
ONLY = frozenset(METHODS) | frozenset(n.rpartition(".")[2] for n in (*_SIZED, *_ONE_HOT))


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    name = torch_call(event, view)
    if name in _SIZED:
        for value in event.args or ():
            sure = _read_back(view, value)
            if sure is not None:
                yield Hit(
                    event.span,
                    f"{name.rpartition('.')[2]} is sized by a value read from a tensor",
                    placed(event, view, sure),
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
