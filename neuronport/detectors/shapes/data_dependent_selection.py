"""An operation whose result is as long as the data says: nonzero, argwhere, one-argument where,
masked_select."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import COUNTING, POSSIBLE, Call, called, filled, on_host, placed
from neuronport.detectors._uses import TO_HOST, uses
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

_SELECTING = COUNTING - {"unique", "unique_consecutive"}
METHODS = tuple(sorted(_SELECTING))
EVENTS = ("use", "method")
_NAMES = _SELECTING | {"where"}
ONLY = frozenset(_NAMES)
_SETTING_UP = re.compile(
    r"^_*((re)?init(ialize)?|reset|set_?up|update_layers?|prepare|build|create|load|(un)?merge|prune"
    r"|reduce|convert|register)(_|$)"
)
"""Names of functions that run before the steps, or between them."""
_COUNTS = frozenset((".numel()", ".size()", ".shape", "len"))


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "method" and event.name not in _SELECTING:
        return
    call = called(event, view, _NAMES)
    if call is None:
        return
    if call.name == "where" and (event.kind == "method" or call.args or call.kwargs):
        return
    if on_host(view, call.tensor):
        return
    what = "torch.where with one argument is nonzero" if call.name == "where" else call.name
    sure = placed(event, view, call.confidence)
    done = uses(event, view)
    by = call.argument("mask", 0) if call.name == "masked_select" else call.tensor
    if (done & TO_HOST and "index" not in done) or filled(view, by):
        sure = POSSIBLE  # nothing follows on the device; or it is as long every time
    if not view.hot(event) and _sets_up(event, view):
        sure = POSSIBLE  # it runs once, not every step
    yield Hit(
        event.span,
        f"{what}: the data decides how many elements the result has",
        sure,
        replacement=_instead(call, view, done),
    )


def _sets_up(event: Event, view: ModuleView) -> bool:
    """Whether a place belongs to what sets a model up: it runs once, or seldom."""
    return any(map(_SETTING_UP.search, view.scope(event).split(".")))


def _instead(call: Call, view: ModuleView, done: frozenset[str]) -> str:
    """What to write instead, by what is asked of the result; empty: as the rule says."""
    name = view.text(call.tensor, whole=True)
    if len(name) > 40 or "…" in name:
        name = "mask"
    if call.name == "masked_select":
        return ""
    if done & _COUNTS and not done - _COUNTS - {"branch", "assert", "return"}:
        return f"only how many there are is asked: ({name} != 0).sum() counts them on the device"
    if ".item()" in done and "index" not in done:
        return (
            "only one place is asked for: keep it as a number of the host where it comes from, or "
            f"({name} != 0).int().argmax() on the device"
        )
    return ""
