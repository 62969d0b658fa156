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
_NOT_TRAIN = re.compile(r"\w*train\w*\s*=\s*False", re.I)
_SWITCHES = frozenset(("train", "training", "is_train", "is_training"))
_PARTS = frozenset(("split", "mode", "phase", "stage", "subset", "image_set"))
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
    shuffle = view.argument(event, "shuffle", 2)
    shuffled = view.constant(shuffle) == (True, True)
    dataset = view.argument(event, "dataset", 0)
    source = _NOT_TRAIN.sub("", view.text(dataset))
    if (_OTHER.search(source) and not _TRAIN.search(source)) or _evaluates(dataset, view):
        return
    told, mixes = view.constant(shuffle)
    in_order = told and (mixes is None or mixes is False)
    if shuffled:
        sure = LIKELY
    elif _TRAIN.search(source):
        sure = POSSIBLE if in_order else LIKELY
    elif _TRAIN.search(view.scope(event).rpartition(".")[2]) and not in_order:
        sure = POSSIBLE
    elif shuffle is not None and not in_order and _TRAIN.search(view.facts.path):
        sure = LIKELY  # ``shuffle=not sampler``, in the script that trains
    else:
        return
    yield Hit(
        event.span, "drop_last is not set: the last batch of an epoch has another shape", sure
    )


def _evaluates(dataset: Value, view: ModuleView) -> bool:
    """``MNIST(root, train=False)``, ``load(name, split="test")``, in a variable too."""
    if dataset is not None and dataset[0] == "v":
        dataset = view.summary.definitions[dataset[1]].value
    if dataset is None or dataset[0] != "call":
        return False
    for key, value in dataset[3]:
        known, literal = view.constant(value)
        if known and (
            (key in _SWITCHES and literal is False)
            or (key in _PARTS and isinstance(literal, str) and _OTHER.search(literal))
        ):
            return True
    return False


def _whole(size: Value) -> bool:
    """``batch_size=len(dataset)``: one batch."""
    return size is not None and size[0] == "call" and size[1] == ("ref", "builtins.len")
