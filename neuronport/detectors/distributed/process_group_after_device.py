"""A device is chosen or used before the process group starts: the neuron backend wants it first."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.distributed._calls import called
from neuronport.findings import Confidence, Related
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ONLY = ("init_process_group",)
_CHOOSES = frozenset(
    [
        "torch.cuda.set_device",
        "torch.neuron.set_device",
        "torch.accelerator.set_device_index",
        "torch.accelerator.set_device_idx",
    ]
)
_LASTS = frozenset(name.rpartition(".")[2] for name in _CHOOSES)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name.rpartition(".")[2] != "init_process_group":
        return
    if not called(event, view, "init_process_group"):
        return
    here = view.ctx(event)
    for other in view.facts.events:
        if other.span >= event.span:
            break
        if other.kind != "use" or other.role != "call":
            continue
        if other.name.rpartition(".")[2] not in _LASTS:
            continue
        ctx = view.ctx(other)
        if ctx.scope != here.scope:
            continue
        if view.index.canonical(other.name, view.summary) not in _CHOOSES:
            continue
        # A choice under a condition that the start does not share may not run before it; and what
        # only runs where CUDA is has to be changed first.
        shared = set(ctx.guards) <= set(here.guards) and view.skipping_guard(event) is None
        yield Hit(
            other.span,
            f"{view.text(('ref', other.name))} before init_process_group (line "
            f"{event.span.line}): the neuron backend starts the process group first",
            Confidence.LIKELY if shared else Confidence.POSSIBLE,
            related=(Related(view.facts.path, event.span.line, "the process group starts here"),),
            guarded=False,
        )
