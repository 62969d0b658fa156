"""As many processes as there are GPUs: ``mp.spawn(f, nprocs=torch.cuda.device_count())``."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ROOTS = ("torch",)
_SPAWN = frozenset(("torch.multiprocessing.spawn", "torch.multiprocessing.start_processes"))
ONLY = frozenset(("spawn", "start_processes"))


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.role != "call":
        return
    if view.index.canonical(event.name, view.summary) not in _SPAWN:
        return
    value = view.argument(event, "nprocs", 2)
    if value is None:
        return
    for atom in view.follow(value):
        if _counts(atom.value, view):
            yield Hit(
                event.span,
                "one process per CUDA device is none on Neuron: nothing runs, and nothing fails",
                Confidence.LIKELY if len(view.follow(value)) > 1 else Confidence.CERTAIN,
                related=atom.chain,
            )
            return


def _counts(value: Value, view: ModuleView) -> bool:
    """Whether a number is that of CUDA devices, or a product with it."""
    if value is None:
        return False
    if value[0] == "call":
        return view.name(value[1]) == "torch.cuda.device_count"
    if value[0] == "bin" and value[1] == "*":
        return any(_counts(a.value, view) for part in value[2:] for a in view.follow(part))
    return False
