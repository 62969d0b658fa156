"""Double precision on the device: ``.double()``, ``dtype=torch.float64``."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import (
    LIKELY,
    call_value,
    on_host,
    placed,
    same_scope,
    torch_call,
)
from neuronport.detectors.distributed._calls import called
from neuronport.detectors.precision import _dtypes
from neuronport.findings import Verdict, weakest
from neuronport.readers.python.facts import Event, Value
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
        sure = placed(event, view, sure)
        message = f"float64 by {how}: the device computes it in float32"
        exchange = _exchanged(event, view)
        if exchange is None:
            yield Hit(event.span, message, sure)
            return
        collective = f"torch.distributed.{exchange.name.rpartition('.')[2]}"
        yield Hit(
            event.span,
            f"{message}, and {collective} in line {exchange.span.line} takes none of it",
            weakest(sure, LIKELY),
            verdict=Verdict.BREAKS,
            verdict_on=("native",),
            replacement=f"float32 before {collective}: two of them (value and rest) where the digits are "
            "needed, or the exchange on the host, over gloo",
        )


_COLLECTIVES = frozenset(
    [
        "all_gather",
        "all_gather_into_tensor",
        "all_reduce",
        "all_to_all_single",
        "broadcast",
        "gather",
        "reduce",
        "reduce_scatter_tensor",
        "scatter",
    ]
)


def _exchanged(event: Event, view: ModuleView) -> Event | None:
    """The collective that is given what the call at an event makes, in the same function, if any."""
    made = call_value(event)
    within = {i for i, d in same_scope(view, event) if d.value == made}
    for call in view.facts.events:
        if (
            call.kind == "use"
            and call.args
            and call.name.rpartition(".")[2] in _COLLECTIVES
            and view.ctx(call).scope == view.ctx(event).scope
            and called(call, view, *_COLLECTIVES)
            and any(value == made or _is_one(value, within) for value in call.args)
        ):
            return call
    return None


def _is_one(value: Value, within: set[int]) -> bool:
    """Whether a value is one of some assignments, or can be."""
    if value is None:
        return False
    if value[0] == "any":
        return any(_is_one(item, within) for item in value[1])
    return value[0] == "v" and value[1] in within
