"""Complex numbers: polar, view_as_complex, view_as_real, complex dtypes."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import CERTAIN, placed, torch_call
from neuronport.detectors.precision import _dtypes
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

METHODS = (*_dtypes.METHODS, "cfloat", "cdouble")
KEYWORDS = _dtypes.KEYWORDS
EVENTS = ("use", "method", "callkw")
_MAKERS = frozenset(
    f"torch.{n}" for n in ("polar", "complex", "view_as_complex", "view_as_real", "resolve_conj")
)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "use":
        if event.role != "call":
            return
        name = torch_call(event, view)
        if name in _MAKERS:
            yield Hit(
                event.span,
                f"{name.rpartition('.')[2]}: complex numbers",
                placed(event, view, CERTAIN),
            )
            return
    for how, sure in _dtypes.made(event, view, "complex"):
        yield Hit(event.span, f"complex numbers by {how}", placed(event, view, sure))
