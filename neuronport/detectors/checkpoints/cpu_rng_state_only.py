"""A checkpoint that keeps the CPU's random state and not the device's."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ONLY = ("get_rng_state", "set_rng_state")
METHODS = ("state_dict", "load_state_dict")
_GET = frozenset(("torch.get_rng_state", "torch.random.get_rng_state"))
_SET = frozenset(("torch.set_rng_state", "torch.random.set_rng_state"))


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.role != "call" or not event.name.endswith("_rng_state"):
        return
    dotted = view.index.canonical(event.name, view.summary)
    if dotted not in _GET and dotted not in _SET:
        return
    saving = dotted in _GET
    scope = view.ctx(event).scope
    wanted = "state_dict" if saving else "load_state_dict"
    keeps = False
    for other in view.facts.events:
        if other.kind not in ("use", "method") or view.ctx(other).scope != scope:
            continue
        if other.kind == "method":
            keeps = keeps or other.name == wanted
        elif (
            "rng_state" in other.name
            and other.name not in _GET | _SET
            and (
                other.name.startswith(("torch.", "torch_xla.")) or "device_rng_state" in other.name
            )
        ):
            return  # the device's state is kept as well
    yield Hit(
        event.span,
        "only the CPU's random state is "
        + ("saved" if saving else "restored")
        + ": dropout on the device does not resume where it stopped",
        Confidence.LIKELY if keeps else Confidence.POSSIBLE,
    )
