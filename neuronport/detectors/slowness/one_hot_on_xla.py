"""``F.one_hot`` on an XLA tensor."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import POSSIBLE, on_host, torch_call
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ROOTS = ("torch",)
ONLY = ("one_hot",)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if torch_call(event, view) != "torch.nn.functional.one_hot" or not event.args:
        return
    if on_host(view, event.args[0]):
        return
    yield Hit(
        event.span,
        "one_hot on a device tensor was rejected by compilers of 2023",
        POSSIBLE,  # a compiler of today most likely takes it
        paths=("xla",),
    )
