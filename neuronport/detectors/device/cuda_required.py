"""A program that refuses to run without CUDA: ``if not torch.cuda.is_available(): raise``,
``assert x.is_cuda``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source import decided
from neuronport.source.truth import conditions
from neuronport.source.view import ModuleView

EVENTS = ("test",)
ONLY = ("if", "assert")
_MAX_DEPTH = 6
_KERNEL_FIRST = (
    "first replace the kernel that is compiled for CUDA, by PyTorch's operators or one in NKI; until "
    "then the test is right"
)
_WITHOUT = (
    "build without the sources for CUDA in place of the error, with PyTorch operators or an NKI kernel "
    "for what they compute"
)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    ends_when = False if event.name == "assert" else _raising(view).get(event.span.line)
    if ends_when is None:
        return
    name = _asks(event.value, view, 0)
    if not name:
        return
    truth = view.truth_of(event.value)
    if truth is (not ends_when):
        return
    # Of a tensor: whoever calls this may have asked before.
    sure = truth is ends_when and not name.endswith(".is_cuda")
    yield Hit(
        event.span,
        f"without CUDA ({name}) the program stops here",
        Confidence.CERTAIN if sure else Confidence.LIKELY,
        replacement=_instead(event, name, view),
    )


def _instead(event: Event, name: str, view: ModuleView) -> str:
    if _is_before_kernel(event, view):
        return _KERNEL_FIRST
    return _WITHOUT if not name.endswith(".is_cuda") and decided.is_build(view) else ""


def _is_before_kernel(event: Event, view: ModuleView) -> bool:
    """Whether what the test keeps others from calls what is compiled for CUDA."""
    return any(i in view.launching for i in view.guards_at.get(event.at[0], ()))


def _raising(view: ModuleView) -> dict[int, bool]:
    """Line of an ``if`` → what its test is when the program raises or exits there."""
    return view.once("cuda-required", lambda: _find_raising(view))


def _find_raising(view: ModuleView) -> dict[int, bool]:
    return {guard.line: not guard.polarity for guard in view.facts.guards if guard.kind == "raise"}


def _asks(value: Value, view: ModuleView, depth: int) -> str:
    """The name of what a test asks of CUDA, through variables and logic; empty: nothing."""
    if value is None or depth > _MAX_DEPTH:
        return ""
    tag = value[0]
    if tag == "ref":
        name = view.index.canonical(value[1], view.summary)
        return name if name in conditions()["false"] and "cuda" in name else ""
    if tag == "attr" and value[2] == "is_cuda":
        return view.text(value)
    if tag in ("call", "not"):
        return _asks(value[1], view, depth + 1)
    if tag == "v":
        return _asks(view.summary.definitions[value[1]].value, view, depth + 1)
    if tag == "bool":
        return next(filter(None, (_asks(v, view, depth + 1) for v in value[2])), "")
    if tag == "cmp":
        if _compares_tensors(value):
            return ""
        return _asks(value[1], view, depth + 1) or _asks(value[3], view, depth + 1)
    return ""


def _compares_tensors(value: tuple[Any, ...]) -> bool:
    """``x.is_cuda == y.is_cuda``: one has to be where the other is, wherever that may be."""
    _, left, op, right = value
    sides = (left, right)
    return op in ("==", "!=", "is", "is not") and any(
        side is not None and side[0] == "attr" and side[2] == "is_cuda" and other[:1] != ("const",)
        for side, other in (sides, sides[::-1])
        if other is not None
    )
