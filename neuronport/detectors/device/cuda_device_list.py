"""A list, table or set of choices of devices that Neuron is not in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import Confidence, Verdict, weakest
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("str",)
STRINGS = _strings.STRINGS
_CASES = re.compile(r"(^|_)(test|tests|case|cases|param|params)(_|$)", re.I)
"""In a name: what a test is run with."""
_PARTS = frozenset(
    (
        "python",
        "numpy",
        "np",
        "torch",
        "pytorch",
        "random",
        "cudnn",
        "nccl",
        "version",
        "driver",
        "os",
    )
)
"""Beside ``cuda`` in a dict: it tells of parts of the program, not of devices."""
_ANYWHERE = frozenset(
    (
        "is_available",
        "is_initialized",
        "device_count",
        "empty_cache",
        "manual_seed",
        "manual_seed_all",
        "seed",
        "seed_all",
        "is_bf16_supported",
    )
)
"""Of ``torch.cuda``: what does not raise without it."""


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if not _strings.DEVICE.search(event.name):
        return
    role, listed, branched = _strings.unwrap(event.role)
    if role[0] == "key" and not listed:
        if any(key.strip().lower() in _PARTS for key in role[1]):
            return  # ``{"python": …, "numpy": …, "cuda": …}``: what is kept of each
        yield Hit(
            event.span,
            "a table by device that has a row for CUDA",
            Confidence.POSSIBLE,
            verdict=Verdict.LOCKS_IN,
        )
        return
    if role[0] == "annotation":
        yield Hit(event.span, "a type that names devices, and not Neuron", Confidence.POSSIBLE)
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
            replacement=_left_alone(event, view),
        )
        return
    found = _strings.place(event, view)
    if found is None:
        return
    items = _strings.row_of(event, view)
    if items is not None and (len(items) == 1 or not all(map(_strings.names_device, items))):
        yield Hit(
            event.span,
            f"names CUDA in a row of other things, {found[1]}"
            if len(items) > 1
            else f"CUDA alone, {found[1]}",
            weakest(found[0], Confidence.LIKELY if _is_case(role) else Confidence.POSSIBLE),
            replacement="another such row for the device that is there, run where there is one",
        )
        return
    yield Hit(event.span, f"a list of devices, {found[1]}", found[0])


_MAKING = frozenset(("__init__", "__new__", "__post_init__"))


def _left_alone(event: Event, view: ModuleView) -> str:
    """What to do with a list that lets CUDA alone come to what is CUDA's alone; empty: that is not
    so, as far as is known."""
    scope = view.facts.scopes[view.ctx(event).scope]
    owner = scope.owner
    # What is asked where an object is made holds for all of its methods.
    whole = bool(owner) and scope.qualname.rpartition(".")[2] in _MAKING
    for other in view.facts.events:
        if other.kind != "use" or other.role != "call" or not other.name.startswith("torch.cuda."):
            continue
        if other.name.startswith("torch.cuda.amp.") or other.name.rpartition(".")[2] in _ANYWHERE:
            continue
        ours = owner and view.facts.scopes[view.ctx(other).scope].owner == owner
        if ours and not whole and view.ctx(other).guards:
            ours = ""  # it asks for itself
        if ours or any(guard.line == event.at[0] for guard in view.guards(other)):
            return (
                f"leave it as long as what it lets in is CUDA's alone: {other.name} in line "
                f"{other.at[0]}"
            )
    return ""


def _is_case(role: Any) -> bool:
    """Whether a list holds what a test is run with."""
    return bool(role[0] == "assign" and _CASES.search(str(role[1])))
