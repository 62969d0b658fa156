"""A training loader that keeps the smaller batch at the end of the data."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import LIKELY, POSSIBLE
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("use",)
_LOADERS = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
_TRAIN = re.compile(r"train", re.I)
_OTHER = re.compile(r"(?<!t)eval|valid|(?<![a-z])val|test|infer|predict|dev(?![a-z])", re.I)
ONLY = ("DataLoader",)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.role != "call" or not event.name.endswith("DataLoader"):
        return
    name = view.index.canonical(event.name, view.summary)
    if name not in _LOADERS:
        return
    keys = {key for key, _ in event.kwargs}
    if keys & {"drop_last", "batch_sampler", None} or len(event.args or ()) > 8:
        return
    if any(a is not None and a[0] == "starred" for a in event.args or ()):
        return
    size = view.argument(event, "batch_size", 1)
    known, literal = view.constant(size)
    if size is None or (known and literal in (None, 1)) or _whole(size):
        return
    shuffled = view.constant(view.argument(event, "shuffle", 2)) == (True, True)
    source = view.text(view.argument(event, "dataset", 0))
    if _OTHER.search(source) and not _TRAIN.search(source):
        return
    if shuffled:
        sure = LIKELY
    elif _TRAIN.search(source) or _TRAIN.search(view.scope(event).rpartition(".")[2]):
        sure = LIKELY if _TRAIN.search(source) else POSSIBLE
    else:
        return
    yield Hit(
        event.span, "drop_last is not set: the last batch of an epoch has another shape", sure
    )


def _whole(size: Value) -> bool:
    """``batch_size=len(dataset)``: one batch."""
    return size is not None and size[0] == "call" and size[1] == ("ref", "builtins.len")
