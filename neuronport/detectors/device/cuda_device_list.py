"""A list, table or set of choices of devices that Neuron is not in."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import Confidence, Verdict
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("str",)
STRINGS = _strings.STRINGS
_OTHERS = _strings.OTHER_DEVICES | {"gpu", "rocm", "cuda", "default", "auto", "other", "none", ""}
"""What stands beside ``cuda`` in a table by device."""


def _is_way(key: str) -> bool:
    return key.strip().lower().partition(":")[0] in _OTHERS


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if not _strings.DEVICE.search(event.name):
        return
    role, listed, branched = _strings.unwrap(event.role)
    if role[0] == "key" and not listed:
        others = [key for key in role[1] if key != event.name]
        if others and not any(map(_is_way, others)):
            return  # ``{"python": …, "numpy": …, "cuda": …}``: what is kept of each
        yield Hit(
            event.span,
            "a table by device that has a row for CUDA",
            Confidence.POSSIBLE,
            verdict=Verdict.LOCKS_IN,
        )
        return
    if not listed or branched or _strings.has_neuron(event, view):
        return
    if _strings.is_option(role, view):
        if role[-1] == "choices" or (role[0] == "arg" and role[-1] == 0):
            yield Hit(
                event.span,
                "the choices of a command line option: `neuron` is refused",
                Confidence.LIKELY,
                verdict=Verdict.BREAKS,
            )
        return
    if _strings.is_compared(role):
        yield Hit(
            event.span,
            "a list of devices that something is looked up in: a Neuron device is not in it",
            Confidence.CERTAIN if _strings.is_device(role[2], view) else Confidence.POSSIBLE,
        )
        return
    found = _strings.place(event, view)
    if found is None:
        return
    yield Hit(event.span, f"a list of devices, {found[1]}", found[0])
