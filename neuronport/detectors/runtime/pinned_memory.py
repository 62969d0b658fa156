"""Page-locked host memory asked for: ``DataLoader(..., pin_memory=True)``, and the same as a
default, a setting or an entry of keyword arguments."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence, Verdict
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("pair", "param", "item", "attr")
KEYWORDS = frozenset(("pin_memory", "pin_mem", "dataloader_pin_memory", "pin_memory_device"))
NAMES = frozenset(("pin_memory", "pin_mem", "dataloader_pin_memory"))
ONLY = KEYWORDS | {"store"}
_FACTORIES = "torch."
_LOADERS = "torch.utils.data."


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    kind = event.kind
    if kind == "pair" and event.name in KEYWORDS:
        name = view.callee(event.role[1]) if event.role[0] == "keyword" else ""
        if name.startswith(_FACTORIES) and not name.startswith(_LOADERS):
            return  # a tensor in pinned memory: another rule
        yield from _asked(event, view, event.name, event.value)
    elif kind == "param" and event.name in NAMES:
        yield from _asked(event, view, event.name, event.value)
    elif kind == "item" and event.name == "store":
        index, value = event.args or (None, None)
        if index is not None and index[0] == "const" and index[1] in KEYWORDS:
            yield from _asked(event, view, index[1], value)
    elif kind == "attr" and event.role == "store" and event.name in NAMES and event.args:
        yield from _asked(event, view, event.name, event.args[0])


def _asked(event: Event, view: ModuleView, key: str, value: Value) -> Iterator[Hit]:
    if key == "pin_memory_device":
        for text, chain in view.strings(value):
            if text.startswith("cuda"):
                message = f'{key}="{text}" pins memory for a CUDA device'
                yield Hit(event.span, message, related=chain)
                return
        return
    if value is None:
        return
    if value == ("const", True):
        yield Hit(event.span, f"{key}=True pins memory only where there is CUDA to pin it for")
        return
    if value[0] == "const":
        return
    if view.truth_of(value) is False:
        yield Hit(
            event.span,
            f"{key} follows CUDA and is off on Neuron",
            verdict=Verdict.BENIGN,
            guarded=False,
        )
        return
    for atom in view.follow(value):
        if atom.value == ("const", True):
            yield Hit(
                event.span,
                f"{key} can be True, which pins memory only where there is CUDA to pin it for",
                Confidence.POSSIBLE,
                related=atom.chain,
            )
            return
