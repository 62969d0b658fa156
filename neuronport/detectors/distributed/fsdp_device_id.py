"""``FullyShardedDataParallel(model, device_id=rank)``: a number alone means the accelerator's device."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device.integer_device import _number
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ONLY = ("FullyShardedDataParallel", "FSDP")


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.role != "call" or not event.name.endswith(("FullyShardedDataParallel", "FSDP")):
        return
    dotted = view.index.canonical(event.name, view.summary)
    if not dotted.startswith("torch.distributed.fsdp."):
        return
    value = view.argument(event, "device_id")
    if _number(value, view) is None:
        return
    yield Hit(
        event.span,
        f"device_id={view.text(value)}: a number alone is a device of torch.accelerator",
        Confidence.LIKELY,
    )
