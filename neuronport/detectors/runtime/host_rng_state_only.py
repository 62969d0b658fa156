"""The random state of the host saved or restored without the device's."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ROOTS = ("torch", "torch_xla")
_HOST = frozenset(
    f"torch.{module}{verb}_rng_state" for module in ("", "random.") for verb in ("get", "set")
)

ONLY = frozenset(("get_rng_state", "set_rng_state"))


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.role != "call":
        return
    name = view.index.canonical(event.name, view.summary)
    if name not in _HOST or _saves_device(view):
        return
    yield Hit(event.span, f"{name} is the host's random state only", Confidence.POSSIBLE)


def _saves_device(view: ModuleView) -> bool:
    """Whether the module handles the state of a device as well."""
    for event in view.facts.events:
        if event.kind in ("use", "method", "attr") and "rng_state" in event.name:
            last = event.name.rpartition(".")
            if event.kind != "use" or last[0] not in ("torch", "torch.random"):
                return True
        elif event.kind == "use" and event.name.endswith(("fork_rng", "get_device_module")):
            return True
    return False
