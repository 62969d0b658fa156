"""Properties that only GPUs have: ``torch.cuda.get_device_properties(0).major``."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("attr",)
METHODS = frozenset(
    (
        "major",
        "minor",
        "multi_processor_count",
        "gcnArchName",
        "warp_size",
        "max_threads_per_multi_processor",
        "regs_per_multiprocessor",
        "shared_memory_per_block",
        "shared_memory_per_block_optin",
        "shared_memory_per_multiprocessor",
        "L2_cache_size",
        "is_integrated",
        "is_multi_gpu_board",
    )
)
ONLY = METHODS
_GIVE = frozenset(
    f"torch.{module}.get_device_properties" for module in ("cuda", "neuron", "accelerator")
)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name not in METHODS or event.role != "load":
        return
    for atom in view.follow(event.value):
        value = atom.value
        if value is not None and value[0] == "call" and value[1] is not None:
            name = view.index.canonical(value[1][1], atom.module) if value[1][0] == "ref" else ""
            if name in _GIVE:
                message = f"{event.name} is a property of GPUs"
                yield Hit(event.span, message, Confidence.LIKELY, related=atom.chain)
                return
