"""An index made as int64 on the device."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import POSSIBLE, torch_call
from neuronport.detectors.precision._dtypes import integral
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
_MAKERS = frozenset(("torch.arange", "torch.randint", "torch.randperm"))
ONLY = frozenset(n.rpartition(".")[2] for n in _MAKERS)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    name = torch_call(event, view)
    if name not in _MAKERS or not view.given(event, "device") or view.given(event, "dtype"):
        return
    if name == "torch.arange" and any(integral(view, a) is False for a in event.args or ()):
        return
    line = event.span.line
    for i in _indexing(view):
        definition = view.summary.definitions[i]
        value = definition.value
        if (
            definition.line == line
            and value is not None
            and value[:2] == ("call", ("ref", event.name))
        ):
            yield Hit(
                event.span, f"{definition.name} is int64 and indexes another tensor", POSSIBLE
            )
            return


def _indexing(view: ModuleView) -> set[int]:
    """Numbers of the assignments whose value is used as an index."""
    return view.once("int64-index", lambda: _find_indexing(view))


def _find_indexing(view: ModuleView) -> set[int]:
    return {
        e.args[0][1]
        for e in view.facts.events
        if e.kind == "item" and e.args and e.args[0] is not None and e.args[0][0] == "v"
    }
