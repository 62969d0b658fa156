"""Autocast to float16."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import CERTAIN, LIKELY, POSSIBLE
from neuronport.detectors.precision._dtypes import formats
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
_AUTOCAST = frozenset(
    (
        "torch.autocast",
        "torch.amp.autocast",
        "torch.amp.autocast_mode.autocast",
        "torch.cuda.amp.autocast",
        "torch.cuda.amp.autocast_mode.autocast",
        "torch.cpu.amp.autocast",
    )
)

ONLY = ("autocast",)


def is_autocast(event: Event, view: ModuleView) -> bool:
    """Whether an event makes an autocast context, or decorates with one."""
    if event.role not in ("call", "decorator") or event.args is None:
        return False
    name = event.name
    if name[:1] == "@":
        name = view.index.canonical(name, view.summary)
    return name in _AUTOCAST


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if not is_autocast(event, view):
        return
    position = None if event.name.startswith("torch.cuda") else 1
    found = formats(view, view.argument(event, "dtype", position))
    if "float16" not in found:
        return
    sure = CERTAIN if found == ["float16"] else LIKELY if set(found) == {"float16"} else POSSIBLE
    yield Hit(event.span, "autocast to float16; bfloat16 needs no loss scaling", sure)
