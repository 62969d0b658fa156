"""A CUDA tensor type by its name in a string: ``x.type("torch.cuda.FloatTensor")``, and where it is
only asked for: ``x.type() == "torch.cuda.FloatTensor"``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import Confidence, Verdict
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

STRINGS = r"^\s*(torch\.)?cuda\.(sparse\.)?[A-Z]?[a-zA-Z0-9]*Tensor\s*$"
EVENTS = ("str",)
_TYPE = re.compile(STRINGS)


_ASKED = "x.dtype and x.device.type, each asked for what is meant: torch.float16, not a CUDA type"
_KEYS = ("index", "key")


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if not _TYPE.search(event.name):
        return
    name = event.name.strip()
    role, listed, _ = _strings.unwrap(event.role)
    if _strings.is_compared(role):
        yield Hit(
            event.span,
            f"{view.text(role[2])} is compared with {name}: no tensor on Neuron is of that type",
            Confidence.CERTAIN,
            verdict=Verdict.LOCKS_IN,
            replacement=_ASKED,
        )
        return
    yield Hit(
        event.span,
        f"the tensor type {name} exists only with CUDA",
        # What a table of names is for is not seen.
        Confidence.LIKELY if listed or role[0] in _KEYS else Confidence.CERTAIN,
    )
