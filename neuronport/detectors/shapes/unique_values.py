"""``torch.unique`` and ``unique_consecutive``: found on the host, as many as the data says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import Call, called, counted, on_host, placed
from neuronport.detectors._uses import LOOP, TO_HOST, uses
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

_CHECKS = re.compile(r"(^|[._])(validat|check_|\w+_(validation|check)$)", re.I)
"""In the name of a function: it only asks whether what it is given is allowed."""
METHODS = ("unique", "unique_consecutive")
EVENTS = ("use", "method")
ONLY = frozenset(METHODS)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    call = called(event, view, METHODS)
    if call is None or on_host(view, call.tensor):
        return
    yield Hit(
        event.span,
        f"{call.name} runs on the CPU, and the data decides how many elements the result has",
        placed(event, view, call.confidence),
        replacement=_instead(call, event, view),
    )


_COUNTS = frozenset((".numel()", ".size()", ".shape", "len"))


def _instead(call: Call, event: Event, view: ModuleView) -> str:
    """What to write instead, by what is asked of the values; empty: as the rule says."""
    done = uses(event, view)
    made = counted(view, call.tensor)
    if made is not None and made.gives_places:
        return "the places that nonzero gives are sorted, and different, already: leave unique out"
    if done & TO_HOST:
        return (
            "the result goes to the host anyway: move the tensor there first (x.cpu().unique()), or "
            "ask where the data comes from"
        )
    if _CHECKS.search(view.scope(event)):
        return (
            "compare directly, with the bounds or the values that are allowed ((x != 0) & (x != 1)); or "
            "leave the check out, where there is a switch for it"
        )
    if LOOP in done:
        return (
            "a loop over all n values there can be, known to the host, each with its mask; or unique "
            "on the host, before the data is moved"
        )
    given = {key: value for key, value in call.kwargs if key is not None}
    if call.name == "unique_consecutive":
        return (
            "a mask of the places where a new value begins, x[..., 1:] != x[..., :-1], carried on "
            "beside the full length; or on the host, before the data is moved"
        )
    if "dim" in given:
        return (
            "leave it out where it only saves work: all rows on the device; for rows of whole numbers one "
            "number each, (z * height + y) * width + x, and scatter_add over all places there can be; or "
            "unique on the host, before the data is moved"
        )
    if view.constant(given.get("return_inverse")) == (True, True):
        return (
            "where the values are whole numbers from 0 to n - 1, they are their own inverse: work over all n "
            "of them, with scatter_add or F.one_hot(x, n); or unique on the host, before the data is moved"
        )
    if done & _COUNTS:
        return (
            "how many values occur, where they are whole numbers from 0 to n - 1: "
            "(F.one_hot(x.flatten(), n).sum(0) > 0).sum(); or on the host, before the data is moved"
        )
    return ""
