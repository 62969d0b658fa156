"""A list, table or set of choices of devices that Neuron is not in."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import Confidence, Verdict
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("str",)
STRINGS = _strings.STRINGS


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if not _strings.DEVICE.search(event.name):
        return
    role, listed, branched = _strings.unwrap(event.role)
    if role[0] == "key" and not listed:
        yield Hit(
            event.span,
            "a table by device that has a row for CUDA",
            Confidence.POSSIBLE,
            verdict=Verdict.LOCKS_IN,
        )
        return
    if not listed or branched or _has_neuron(event, view):
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


def _has_neuron(event: Event, view: ModuleView) -> bool:
    """Whether a list that the line has names Neuron too."""
    line = event.span[0]
    for other in view.facts.events:
        if other.kind in ("str", "import") or not other.span[0] <= line <= other.span[2]:
            continue
        values = (other.value, *(other.args or ()), *(v for _, v in other.kwargs))
        if any(_names_neuron(v) for v in values):
            return True
    return any(_names_neuron(d.value) for d in view.facts.definitions if d.line == line)


def _names_neuron(value: Value, depth: int = 0) -> bool:
    if value is None or depth > 5:
        return False
    if value[0] in ("list", "tuple", "set"):
        if ("const", "neuron") in value[1]:
            return True
        return any(_names_neuron(v, depth + 1) for v in value[1])
    if value[0] == "call":
        return any(_names_neuron(v, depth + 1) for v in (*value[2], *(v for _, v in value[3])))
    if value[0] == "cmp":
        return _names_neuron(value[1], depth + 1) or _names_neuron(value[3], depth + 1)
    if value[0] == "bool":
        return any(_names_neuron(v, depth + 1) for v in value[2])
    if value[0] == "not":
        return _names_neuron(value[1], depth + 1)
    return False
