"""Sorting all of a vocabulary, mostly to take the first few."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import called, local_name, mask, on_host, placed, same_scope
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("use", "method")
METHODS = frozenset(("sort", "argsort", "msort"))
ROOTS = ("torch",)
ONLY = METHODS
_CHOOSING = frozenset(("gather", "index_select", "take_along_dim", "topk"))
_MAX_DEPTH = 4
_WORDS = ("logit", "prob", "vocab", "scores_processed", "next_token")
_OF_TOKENS = re.compile(
    r"vocab|token|nucleus|sampling|top_?[pk](?![a-z])|temperature|generat", re.I
)
"""What tells that probabilities are those of tokens, not of pixels or boxes."""


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    call = called(event, view, METHODS)
    if call is None or on_host(view, call.tensor):
        return
    name = local_name(view, call.tensor).lower()
    if not any(word in name for word in _WORDS):
        return
    if not _of_tokens(name, event, view) or _is_chosen(view, call.tensor):
        return
    sure = placed(event, view, call.confidence)
    if _is_masked(view, call.tensor):
        sure = Confidence.POSSIBLE  # one number for each place, as in losses that rank
    yield Hit(
        event.span,
        f"sorts all of {local_name(view, call.tensor)}: over a vocabulary this is a TopK as wide "
        "as the vocabulary",
        sure,
    )


def _of_tokens(name: str, event: Event, view: ModuleView) -> bool:
    if "prob" not in name or _OF_TOKENS.search(f"{name} {view.scope(event)} {view.facts.path}"):
        return True
    function = view.facts.functions.get(f"{view.facts.module}.{view.scope(event)}")
    params = function.params if function is not None else ()
    named = (*(p[0] for p in params), *(d.name for _, d in same_scope(view, event)))
    return any(map(_OF_TOKENS.search, named))


def _is_masked(view: ModuleView, value: Value) -> bool:
    """Whether a mask took some: what is left has one dimension."""
    if value is not None and value[0] == "v":
        value = view.summary.definitions[value[1]].value
    return value is not None and value[0] == "item" and mask(view, value[2]) is not None


def _is_chosen(view: ModuleView, value: Value) -> bool:
    """Whether a few were taken before: what is sorted is no vocabulary any more."""
    for _ in range(_MAX_DEPTH):
        if value is None:
            return False
        if value[0] == "v":
            value = view.summary.definitions[value[1]].value
        elif value[0] in ("unpack", "item", "attr"):
            value = value[1]
        elif value[0] == "call" and value[1] is not None:
            if str(value[1][-1]).rpartition(".")[2] in _CHOOSING:
                return True
            value = value[1][1] if value[1][0] == "attr" else None
        else:
            return False
    return False
