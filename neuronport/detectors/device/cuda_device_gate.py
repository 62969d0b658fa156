"""A branch that asks whether the device is CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("str", "use")
STRINGS = _strings.STRINGS
_MOVES = ("to", "cuda")
_DEVICE_NAME = re.compile(r"(^|[._])dev(ice)?$", re.I)
_LINES = 3
"""Lines of a branch in which a move is looked for."""
_NOT_THERE = 'device.type == "cpu", or a test for the ability that is missing'
ONLY = {"use": ("hasattr", "getattr")}


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "use":
        yield from _has_cuda(event, view)
        return
    if not _strings.DEVICE.search(event.name):
        return
    role, listed, _ = _strings.unwrap(event.role)
    if role[0] == "method" and role[2] == "startswith":
        if listed and _strings.has_neuron(event, view):
            return
        yield Hit(
            event.span,
            f"asks whether {view.text(role[1])} begins with 'cuda'",
            Confidence.CERTAIN if _strings.is_device(role[1], view) else Confidence.POSSIBLE,
            replacement=_of_text(role[1], bool(view.tests_around(event, "not")), view),
        )
        return
    if not _strings.is_compared(role):
        return
    if listed:
        return  # a list of devices: cuda-device-list
    op, other = role[1:]
    confidence = Confidence.CERTAIN if _strings.is_device(other, view) else Confidence.POSSIBLE
    if op == "==" and view.is_test and _compares(event, "assert", view):
        confidence = Confidence.POSSIBLE
    text, name = repr(event.name.strip()), view.text(other)
    if op in ("in", "not in"):
        question = f"asks whether {text} is {op} {name}"
    else:
        question = f"asks whether {name} is {'not ' if op in ('!=', 'is not') else ''}{text}"
    other_way = (op in ("!=", "is not", "not in")) is not _compares(event, "not", view)
    yield Hit(
        event.span,
        question,
        confidence,
        replacement=_there_already(event, other, view) or _of_text(other, True, view) or _NOT_THERE
        if other_way
        else _of_text(other, False, view),
    )


def _of_text(asked: Value, other_way: bool, view: ModuleView) -> str:
    """What to ask instead of what may be the text of a device, which has no type of its own. Empty: it
    is no device by its name, or the type of one is asked for already."""
    if (
        asked is not None
        and asked[0] == "call"
        and asked[1] == ("ref", "builtins.str")
        and asked[2]
    ):
        asked = asked[2][0]
    if asked is None or asked[0] not in ("v", "param", "attr") or asked[-1] == "type":
        return ""
    name = view.text(asked, whole=True)
    if not _DEVICE_NAME.search(name):
        return ""
    return f'torch.device({name}).type {"==" if other_way else "!="} "cpu": right for a text too'


def _compares(event: Event, name: str, view: ModuleView) -> bool:
    """Whether a comparison stands behind a ``not`` (``not x.device.type == "cuda"``), or is asserted,
    so that nothing is chosen by it."""
    return any(
        test.value is not None and test.value[:1] == ("cmp",)
        for test in view.tests_around(event, name)
    )


def _there_already(event: Event, asked: Value, view: ModuleView) -> str:
    """What to write where something is moved if it is not there: to move it says so already. Empty:
    something else happens there."""
    while asked is not None and asked[0] == "attr" and asked[2] in ("type", "device"):
        asked = asked[1]
    name = view.text(asked, whole=True)
    for moved in view.facts.events:
        if (
            moved.kind == "method"
            and moved.name in _MOVES
            and 0 <= moved.at[0] - event.at[0] <= _LINES
            and view.text(moved.value, whole=True) == name
            and any(g.line == event.at[0] and g.polarity for g in view.guards(moved))
        ):
            return (
                f"{name}.to(device) without the test, with the device of the model: what is there "
                "already stays"
            )
    return ""


def _has_cuda(event: Event, view: ModuleView) -> Iterator[Hit]:
    """``hasattr(torch, "cuda")``, ``getattr(torch, "cuda")``."""
    if event.name not in ("builtins.hasattr", "builtins.getattr") or event.role != "call":
        return
    args = event.args or ()
    if len(args) < 2 or args[0] != ("ref", "torch") or args[1] != ("const", "cuda"):
        return
    yield Hit(event.span, "asks whether torch has cuda", Confidence.CERTAIN)
