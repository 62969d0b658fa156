"""Weights or tensors in float16: ``.half()``, ``.to(torch.float16)``, ``torch_dtype=torch.float16``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.precision import _dtypes
from neuronport.detectors.precision.float16_autocast import is_autocast
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

METHODS = _dtypes.METHODS
KEYWORDS = _dtypes.KEYWORDS
EVENTS = ("use", "method", "callkw")
ONLY = {"use": (), "method": frozenset(_dtypes.METHODS), "callkw": ()}
WITH = _dtypes.KEYWORDS
_CLASSES = re.compile(r"^(\w+_)?(targets?|labels?|ids|idxs?|ind(ex|ices)|tokens|classes)$", re.I)
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
        yield Hit(
            event.span,
            f"float16 by {how}: it runs on Neuron, where bfloat16 has float32's range",
            sure,
        )


def _is_whole(event: Event, view: ModuleView) -> bool:
    """Whether what is cast is called as classes and indices are."""
    name = view.text(event.value).rpartition(".")[2]
    return bool(_CLASSES.search(name)) and view.kind(event.value).kind != "module"


def _quantizes(event: Event, view: ModuleView) -> bool:
    """Whether a place packs or unpacks quantized weights, or calls their kernels."""
    return _QUANTIZED.search(f"{view.facts.path}:{view.scope(event)}") is not None
