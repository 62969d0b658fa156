"""Padding to the longest sample of a batch, so that every batch has another length."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import LIKELY, POSSIBLE
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

KEYWORDS = ("padding",)
METHODS = ("pad",)
EVENTS = ("use", "callkw", "method")
_COLLATORS = {
    "DataCollatorWithPadding": LIKELY,
    "DataCollatorForSeq2Seq": LIKELY,
    "DataCollatorForTokenClassification": LIKELY,
    "DataCollatorForMultipleChoice": LIKELY,
    "DataCollatorForLanguageModeling": POSSIBLE,
    "DataCollatorForWholeWordMask": POSSIBLE,
}
"""Collators that pad to the longest unless told otherwise; language modelling is often fed chunks
of one length."""
ONLY = {"use": frozenset(_COLLATORS), "method": ("pad",)}


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "use":
        if event.role != "call" or not event.name.startswith(("transformers.", "@")):
            return
        name = view.index.canonical(event.name, view.summary).rpartition(".")[2]
        sure = _COLLATORS.get(name)
        if sure is None or view.given(event, "pad_to_multiple_of"):
            return
        if any(key is None for key, _ in event.kwargs):
            return
        padding = view.argument(event, "padding")
        if padding is not None and not _longest(event, view):
            return
        yield Hit(event.span, f"{name} pads every batch to its own longest sample", sure)
        return
    if event.kind == "method" and event.name != "pad":
        return
    if not _longest(event, view) or view.given(event, "pad_to_multiple_of"):
        return
    yield Hit(event.span, "every batch is padded to its own longest sample", LIKELY)


def _longest(event: Event, view: ModuleView) -> bool:
    for key, value in event.kwargs:
        if key == "padding":
            known, literal = view.constant(value)
            return known and (literal is True or literal == "longest")
    return False
