"""Sorting all of a vocabulary, mostly to take the first few."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import called, local_name, on_host, placed
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use", "method")
METHODS = frozenset(("sort", "argsort", "msort"))
ROOTS = ("torch",)
ONLY = METHODS
_WORDS = ("logit", "prob", "vocab", "scores_processed", "next_token")


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    call = called(event, view, METHODS)
    if call is None or on_host(view, call.tensor):
        return
    name = local_name(view, call.tensor).lower()
    if not any(word in name for word in _WORDS):
        return
    yield Hit(
        event.span,
        f"sorts all of {local_name(view, call.tensor)}: over a vocabulary this is a TopK as wide "
        "as the vocabulary",
        placed(event, view, call.confidence),
    )
