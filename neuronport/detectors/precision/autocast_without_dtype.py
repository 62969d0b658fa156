"""``torch.autocast(device.type)`` without a dtype: float16 on the ``neuron`` device."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import CERTAIN, LIKELY
from neuronport.detectors.precision.float16_autocast import is_autocast
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
_OTHERS = ("cuda", "cpu", "mps", "xpu", "xla", "hpu", "npu", "mtia", "meta")
"""Device types with a default of their own, or with a rule of their own (cuda)."""
ONLY = ("autocast",)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if not is_autocast(event, view) or event.name.startswith("torch.cuda"):
        return
    if view.given(event, "dtype", 1) or any(key is None for key, _ in event.kwargs):
        return
    if view.constant(view.argument(event, "enabled", 2)) == (True, False):
        return
    kind = view.argument(event, "device_type", 0)
    if kind is None:
        return
    texts = [text for text, _ in view.strings(kind)]
    if texts and all(text.partition(":")[0] in _OTHERS for text in texts):
        return
    yield Hit(
        event.span,
        "autocast without a dtype is float16 on the neuron device",
        CERTAIN if texts == ["neuron"] else LIKELY,
    )
