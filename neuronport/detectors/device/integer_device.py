"""A bare number where a device is meant: ``.to(rank)``, ``device=0``, ``map_location=local_rank``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

METHODS = ("to",)
KEYWORDS = ("device", "map_location", "device_map")
EVENTS = ("method", "use", "callkw")
_RANK = re.compile(
    r"^(local_?|global_?|world_?)?rank$|^gpu(_?(id|idx|index|num|no|rank))?$|^(cuda|device)_?(id|idx|index)$",
    re.I,
)
_TEXT = re.compile(r"fmt|format|pattern|template|text|string|name|prefix", re.I)
"""In a name: what is filled in."""
_NUMBER_OF = re.compile(
    r"^(n|num|n_?um|nr|no|number|count|total)?_?(of_)?_?(local_)?(gpus?|devices?|cuda\w*)(_?(count|num|per_node))?(\(\))?$"
    r"|device_count\(\)$|^len\(.*(gpu|device).*\)$|^\d+$",
    re.I,
)
"""How many devices there are."""
ONLY = {"use": ("device",), "method": ("to",), "callkw": ()}
WITH = KEYWORDS


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "use" and (
        event.role != "call" or not (event.kwargs or event.name == "torch.device")
    ):
        return
    if event.kind == "method" and event.name == "to" and event.args:
        found = _number(event.args[0], view)
        if found is not None:
            receiver = view.receiver(event.value, "tensor", "module", "batch")
            if receiver is None:
                return
            sure = found if found is Confidence.LIKELY else receiver
            yield Hit(
                event.span,
                f".to({view.text(event.args[0])}): a number alone means a CUDA device",
                sure,
            )
            return
    if event.kind == "use" and event.name == "torch.device" and event.args:
        found = _number(event.args[0], view)
        if found is not None:
            yield Hit(
                event.span,
                f"torch.device({view.text(event.args[0])}): a number alone means a CUDA device",
                found,
            )
            return
    for key in ("device", "map_location"):
        value = view.argument(event, key)
        found = _number(value, view)
        if found is not None:
            yield Hit(
                event.span,
                f"{key}={view.text(value)}: a number alone means a CUDA device",
                Confidence.LIKELY if event.kind == "use" else found,
            )
            return
    value = view.argument(event, "device_map")
    if value is not None and value[0] == "dict":
        for _, item in value[1]:
            found = _number(item, view)
            if found is not None:
                yield Hit(
                    event.span,
                    f"device_map to {view.text(item)}: a number alone means a CUDA device",
                    found,
                )
                return


def _counts(value: Value, view: ModuleView) -> bool:
    """``i % torch.cuda.device_count()``, ``rank % num_gpus``: a remainder, and no text that is filled
    in."""
    if value is None or value[0] != "bin" or value[1] not in ("%", "//"):
        return False
    left, right = value[2], value[3]
    if left is None or left[0] == "fstr" or (left[0] == "const" and isinstance(left[1], str)):
        return False
    if right is None or right[0] in ("tuple", "dict") or _TEXT.search(view.text(left)):
        return False
    return bool(_NUMBER_OF.search(view.text(right))) and not any(view.strings(left))


def _number(value: Value, view: ModuleView) -> Confidence | None:
    """How surely a value is a device number."""
    if value is None:
        return None
    if value[0] == "const":
        number = value[1]
        if isinstance(number, int) and not isinstance(number, bool) and number >= 0:
            return Confidence.CERTAIN
        return None
    name = ""
    if value[0] == "param" or value[0] == "attr":
        name = value[2]
    elif value[0] == "v":
        name = view.summary.definitions[value[1]].name
        there = view.truth.choices(view.summary, value)
        if there and all(isinstance(choice, str) for choice in there):
            return None  # on a Neuron host it is no number
        atoms = view.follow(value)
        numbers = [a.value[1] for a in atoms if a.value is not None and a.value[0] == "const"]
        if numbers and all(type(n) is int and n >= 0 for n in numbers):
            return Confidence.LIKELY
        for atom in atoms:
            inner = atom.value
            if inner is not None and inner[0] == "const" and isinstance(inner[1], str):
                return None
            if inner is not None and inner[0] in ("fstr", "if"):
                return None
            if inner is not None and inner[0] == "call" and inner[1] is not None:
                if inner[1] == ("ref", "torch.device"):
                    return None
                if inner[1] in (
                    ("ref", "torch.distributed.get_rank"),
                    ("ref", "torch.cuda.current_device"),
                ):
                    return Confidence.CERTAIN
                if inner[1] == ("ref", "builtins.int"):
                    return Confidence.LIKELY if _RANK.search(name) else None
    elif value[0] == "bin":
        return Confidence.LIKELY if _counts(value, view) else None
    elif value[0] == "call" and value[1] is not None:
        if value[1] in (
            ("ref", "torch.distributed.get_rank"),
            ("ref", "torch.cuda.current_device"),
        ):
            return Confidence.CERTAIN
        return None
    return Confidence.LIKELY if name and _RANK.search(name) else None
