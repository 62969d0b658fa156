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
    if not event.args and view.given(event, "images") and not view.given(event, "text"):
        return  # images alone have no length
    if _left_out(event, view):
        yield Hit(
            event.span,
            "every batch is padded to its own longest sample; the ids and the mask are left out of "
            "what is kept",
            POSSIBLE,
        )
        return
    yield Hit(event.span, "every batch is padded to its own longest sample", LIKELY)


_NEAR = 12


def _left_out(event: Event, view: ModuleView) -> bool:
    """Whether what is kept of the result is all but the ids: ``{k: v … if k not in ("input_ids",
    "attention_mask")}``; what else a processor gives does not have the length of a sample."""
    return any(
        event.at[0] < guard.line <= event.at[0] + _NEAR
        and guard.polarity
        and guard.test is not None
        and guard.test[0] == "cmp"
        and guard.test[2] == "not in"
        and guard.test[3] is not None
        and guard.test[3][0] in ("list", "tuple", "set")
        and ("const", "input_ids") in guard.test[3][1]
        for guard in view.facts.guards
    )


def _longest(event: Event, view: ModuleView) -> bool:
    for key, value in event.kwargs:
        if key == "padding":
            known, literal = view.constant(value)
            return known and (literal is True or literal == "longest")
    return False
