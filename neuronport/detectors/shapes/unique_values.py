"""``torch.unique`` and ``unique_consecutive``: found on the host, as many as the data says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import called, counted, on_host, placed
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
    instead = ""
    done = uses(event, view)
    made = counted(view, call.tensor)
    if made is not None and made.gives_places:
        instead = (
            "the places that nonzero gives are sorted, and different, already: leave unique out"
        )
    elif done & TO_HOST:
        instead = (
            "the result goes to the host anyway: move the tensor there first (x.cpu().unique()), or "
            "ask where the data comes from"
        )
    elif _CHECKS.search(view.scope(event)):
        instead = (
            "compare directly, with the bounds or the values that are allowed ((x != 0) & (x != 1)); or "
            "leave the check out, where there is a switch for it"
        )
    elif LOOP in done:
        instead = (
            "a loop over all n values there can be, known to the host, each with its mask; or unique "
            "on the host, before the data is moved"
        )
    yield Hit(
        event.span,
        f"{call.name} runs on the CPU, and the data decides how many elements the result has",
        placed(event, view, call.confidence),
        replacement=instead,
    )
