"""Weights or tensors in float16: ``.half()``, ``.to(torch.float16)``, ``torch_dtype=torch.float16``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.precision import _dtypes
from neuronport.detectors.precision.float16_autocast import is_autocast
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

METHODS = _dtypes.METHODS
KEYWORDS = _dtypes.KEYWORDS
EVENTS = ("use", "method", "callkw")
ONLY = {"use": (), "method": frozenset(_dtypes.METHODS), "callkw": ()}
WITH = _dtypes.KEYWORDS
_CLASSES = re.compile(r"^(\w+_)?(targets?|labels?|ids|idxs?|ind(ex|ices)|tokens|classes)$", re.I)
_WRITES = re.compile(
    r"^(?:convert|export|merge|(?:apply|make)_delta|consolidate)(?:_\w+)?\.py|^\w+_(?:to_hf|convert|export)\.py"
    r"|[:._](?:export(?:_|$)|(?:apply|make)_delta|convert_\w*(?:checkpoint|ckpt|_hf|onnx))",
    re.I,
)
"""In the name of a file or function that turns checkpoints into others."""
_QUANTIZED = re.compile(
    r"quant|gptq|awq|marlin|exllama|(?:^|[._:])(?:un)?pack|fp8|q4|int[48](?!\d)", re.I
)
"""In the name of a file, class or function."""


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "use" and event.role not in ("call", "decorator"):
        return
    if event.kind == "use" and is_autocast(event, view):
        return
    for how, sure in _dtypes.made(event, view, "float16"):
        if _quantizes(event, view):
            yield Hit(
                event.span,
                f"float16 by {how}, as the format of quantized weights or their kernel has it",
                Confidence.POSSIBLE,
            )
            continue
        if event.kind == "method" and _is_whole(event, view):
            yield Hit(
                event.span,
                f"float16 by {how} of {view.text(event.value)}: whole numbers above 2048 are rounded, "
                "where it holds classes or indices",
                Confidence.POSSIBLE,
                replacement="leave classes and indices as they are; what the model gives is cast to fit",
            )
            continue
        if view.skipping_guard(event) is not None:
            yield Hit(
                event.span,
                f"float16 by {how}, only where there is CUDA: on Neuron the way beside it is taken",
                Confidence.POSSIBLE,
            )
            continue
        if _writes(event, view):
            yield Hit(
                event.span,
                f"float16 by {how}, in what turns files of weights into others",
                Confidence.POSSIBLE,
                replacement="leave the format of files that others read; bfloat16 where they are read",
            )
            continue
        if _only_where_it_is(event, view):
            yield Hit(
                event.span,
                f"float16 by {how}, where something is float16 already: where all is bfloat16, nothing "
                "comes here",
                Confidence.POSSIBLE,
                replacement="the dtype that was there before, kept: x.to(dtype)",
            )
            continue
        yield Hit(
            event.span,
            f"float16 by {how}: it runs on Neuron, where bfloat16 has float32's range",
            sure,
            replacement=_MET if _is_input(event, view) else "",
        )


_MET = (
    "the dtype of the model or the tensors it goes with (x.dtype), which one place chooses: "
    "torch.bfloat16 on Neuron"
)
_HALF = [("ref", "torch.float16"), ("ref", "torch.half")]


def _is_input(event: Event, view: ModuleView) -> bool:
    """Whether a tensor is cast or made, not a model: it has to be of the dtype of what it meets."""
    if event.kind == "method":
        return view.kind(event.value).kind == "tensor"
    return event.kind == "use" and event.name.startswith("torch.") and event.name.count(".") == 1


def _only_where_it_is(event: Event, view: ModuleView) -> bool:
    """Whether a place is only come to where something is float16: ``if vae.dtype == torch.float16``."""
    return any(
        guard.kind != "raise" and _asks(guard.test, guard.polarity, view, 0)
        for guard in view.guards(event)
    )


def _asks(test: Value, holds: bool, view: ModuleView, depth: int) -> bool:
    """Whether a condition holds, or does not, only where something is float16."""
    if test is None or depth > _MAX_DEPTH:
        return False
    if test[0] == "v":
        return _asks(view.summary.definitions[test[1]].value, holds, view, depth + 1)
    if test[0] == "not":
        return _asks(test[1], not holds, view, depth + 1)
    if test[0] == "bool":
        asked = [_asks(part, holds, view, depth + 1) for part in test[2]]
        return any(asked) if (test[1] == "and") is holds else all(asked)
    return (
        test[0] == "cmp"
        and test[2] == ("==" if holds else "!=")
        and (test[1] in _HALF or test[3] in _HALF)
    )


_MAX_DEPTH = 5


def _is_whole(event: Event, view: ModuleView) -> bool:
    """Whether what is cast is called as classes and indices are."""
    name = view.text(event.value).rpartition(".")[2]
    return bool(_CLASSES.search(name)) and view.kind(event.value).kind != "module"


def _writes(event: Event, view: ModuleView) -> bool:
    """Whether a place belongs to what turns a checkpoint into another: it runs once, on the host, and
    others read what it writes."""
    if view.hot(event):
        return False
    name = f"{view.facts.path.rpartition('/')[2]}:{view.scope(event)}"
    return _WRITES.search(name) is not None


def _quantizes(event: Event, view: ModuleView) -> bool:
    """Whether a place packs or unpacks quantized weights, or calls their kernels."""
    return _QUANTIZED.search(f"{view.facts.path}:{view.scope(event)}") is not None
