"""A branch that asks whether the device is CUDA."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView, describe

EVENTS = ("str", "use")
STRINGS = _strings.STRINGS


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "use":
        yield from _has_cuda(event, view)
        return
    if not _strings.DEVICE.search(event.name):
        return
    role, listed, _ = _strings.unwrap(event.role)
    if role[0] == "method" and role[2] == "startswith":
        yield Hit(
            event.span, f"asks whether {describe(role[1])} begins with 'cuda'", Confidence.CERTAIN
        )
        return
    if not _strings.is_compared(role):
        return
    if listed:
        return  # a list of devices: cuda-device-list
    _, op, other = role
    confidence = Confidence.CERTAIN if _is_device(other, view) else Confidence.LIKELY
    words = {"==": "is", "!=": "is not", "in": "is in", "not in": "is not in"}.get(op, op)
    yield Hit(
        event.span, f"asks whether {describe(other)} {words} {event.name.strip()!r}", confidence
    )


def _has_cuda(event: Event, view: ModuleView) -> Iterator[Hit]:
    """``hasattr(torch, "cuda")``, ``getattr(torch, "cuda")``."""
    if event.name not in ("builtins.hasattr", "builtins.getattr") or event.role != "call":
        return
    args = event.args or ()
    if len(args) < 2 or args[0] != ("ref", "torch") or args[1] != ("const", "cuda"):
        return
    yield Hit(event.span, "asks whether torch has cuda", Confidence.CERTAIN)


def _is_device(value: Value, view: ModuleView) -> bool:
    if value is None:
        return False
    if value[0] == "attr":
        return value[2] == "type" or bool(_strings.DEVICE_WORD.search(value[2]))
    if value[0] == "call":
        return any(_is_device(a, view) for a in value[2])
    if value[0] == "param":
        return bool(_strings.DEVICE_WORD.search(value[2]))
    if value[0] == "v":
        definition = view.summary.definitions[value[1]]
        return bool(_strings.DEVICE_WORD.search(definition.name)) or _is_device(
            definition.value, view
        )
    if value[0] == "ref":
        return bool(_strings.DEVICE_WORD.search(value[1].rpartition(".")[2]))
    return view.kind(value).kind == "device"
