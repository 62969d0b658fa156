"""``reduce_scatter`` with ``ReduceOp.PRODUCT``, which the neuron backend does not have."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.distributed._calls import called
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ONLY = ("reduce_scatter", "reduce_scatter_tensor")


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    name = called(event, view, "reduce_scatter", "reduce_scatter_tensor")
    if not name:
        return
    op = view.argument(event, "op", 2)
    if op is not None and view.name(op) == "torch.distributed.ReduceOp.PRODUCT":
        yield Hit(event.span, f"{name} by product")
