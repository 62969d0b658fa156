"""Double precision on the device: ``.double()``, ``dtype=torch.float64``."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import LIKELY, call_value, on_host, placed, torch_call
from neuronport.detectors.precision import _dtypes
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

METHODS = _dtypes.METHODS
KEYWORDS = _dtypes.KEYWORDS
EVENTS = ("use", "method", "callkw")
ONLY = {
    "use": ("set_default_dtype", "set_default_tensor_type"),
    "method": frozenset(_dtypes.METHODS),
    "callkw": (),
}
WITH = _dtypes.KEYWORDS


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "use" and event.role != "call":
        return
    if torch_call(event, view) in ("torch.set_default_dtype", "torch.set_default_tensor_type"):
        if event.args and (
            _dtypes.formats(view, event.args[0]) == ["float64"]
            or any("DoubleTensor" in text for text, _ in view.strings(event.args[0]))
        ):
            yield Hit(event.span, "everything is made in float64 from here on", LIKELY)
        return
    for how, sure in _dtypes.made(event, view, "float64"):
        if event.kind != "callkw" and on_host(view, call_value(event)):
            return
        if view.only(view.argument(event, "device"), "cpu"):
            return
        yield Hit(
            event.span,
            f"float64 by {how}: the device computes it in float32",
            placed(event, view, sure),
        )
