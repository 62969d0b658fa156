"""``DistributedDataParallel(model, device_ids=[rank])``: the arguments of one CUDA device per process."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.distributed._calls import is_none, may_be_none
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ONLY = ("DistributedDataParallel", "DDP")
_NAMES = frozenset(
    [
        "torch.nn.parallel.DistributedDataParallel",
        "torch.nn.parallel.distributed.DistributedDataParallel",
    ]
)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.role != "call" or not event.name.endswith(("DistributedDataParallel", "DDP")):
        return
    if view.index.canonical(event.name, view.summary) not in _NAMES:
        return
    for key, position in (("device_ids", 1), ("output_device", 2)):
        value = view.argument(event, key, position)
        if is_none(value) or not view.given(event, key, position):
            continue
        atoms = view.follow(value)
        if atoms and all(is_none(atom.value) for atom in atoms):
            continue
        sure = Confidence.POSSIBLE if may_be_none(value, view) else Confidence.LIKELY
        yield Hit(
            event.span,
            f"{key}={view.text(value)}: for one CUDA device per process; leave it out, the module "
            "stays where it is",
            sure,
        )
        return
