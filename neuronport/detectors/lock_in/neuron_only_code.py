"""A library that is there on Neuron only is imported where nothing makes up for its absence."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.lock_in._seams import behind_seam, how_sure
from neuronport.findings import Verdict
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("import",)
ROOTS = (
    "torch_neuronx",
    "neuronx_distributed",
    "neuronx_distributed_inference",
    "neuronx_distributed_training",
    "nkilib",
    "nki",
    "libneuronxla",
    "vllm_neuron",
    "optimum",
)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    root, _, rest = event.name.partition(".")
    if root not in ROOTS:
        return
    if root == "optimum" and rest.partition(".")[0] != "neuron":
        return
    if view.index.canonical(event.name, view.summary)[0] == "@":
        return
    if behind_seam(event, view):
        yield Hit(event.span, f"{event.name} behind a seam", verdict=Verdict.BENIGN)
        return
    yield Hit(event.span, f"{event.name} is there on Neuron only", how_sure(view))
