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
ONLY = {
    "use": frozenset(n.rpartition(".")[2] for n in _MAKERS),
    "method": frozenset(METHODS),
    "callkw": (),
}
WITH = _dtypes.KEYWORDS


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "use":
        if event.role != "call":
            return
        name = torch_call(event, view)
        if name in _MAKERS:
            if _asked_for(event, view):
                return
            yield Hit(
                event.span,
                f"{name.rpartition('.')[2]}: complex numbers",
                placed(event, view, CERTAIN),
            )
            return
    if _asked_for(event, view):
        return
    for how, sure in _dtypes.made(event, view, "complex"):
        yield Hit(event.span, f"complex numbers by {how}", placed(event, view, sure))


def _asked_for(event: Event, view: ModuleView) -> bool:
    """Whether a place runs only for inputs that are complex already."""
    return any(
        guard.polarity
        and guard.test is not None
        and guard.test[0] == "call"
        and guard.test[1] is not None
        and str(guard.test[1][-1]).rpartition(".")[2] == "is_complex"
        for guard in view.guards(event)
    )
