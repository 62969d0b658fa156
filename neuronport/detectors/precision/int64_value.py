"""Integers beyond 32 bits in tensors."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import LIKELY, POSSIBLE, on_host, placed, torch_call
from neuronport.detectors.precision._dtypes import formats
from neuronport.findings import weakest
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("use",)
_FACTORIES = frozenset(
    f"torch.{n}" for n in ("tensor", "as_tensor", "full", "full_like", "randint", "arange", "where")
)
_CLOCKS = ("time.time_ns", "time.perf_counter_ns", "time.monotonic_ns", "builtins.hash")
_LIMIT = 2**31
ONLY = frozenset(n.rpartition(".")[2] for n in _FACTORIES) | {"iinfo"}


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    name = torch_call(event, view)
    if name == "torch.iinfo":
        if event.args and formats(view, event.args[0]) == ["int64"]:
            yield Hit(
                event.span,
                "the limits of int64 do not exist on a device that computes in 32 bits",
                weakest(POSSIBLE, placed(event, view, LIKELY)),
            )
        return
    if name not in _FACTORIES:
        return
    found = formats(view, view.argument(event, "dtype"))
    if found and found != ["int64"]:
        return
    for value in event.args or ():
        what = _wide(view, value)
        if what:
            host = on_host(view, ("call", ("ref", name), event.args, event.kwargs, 0))
            sure = POSSIBLE if host else placed(event, view, LIKELY)
            yield Hit(event.span, f"{what} does not fit 32 bits", sure)
            return


def _wide(view: ModuleView, value: Value, depth: int = 0) -> str:
    if value is None or depth > 4:
        return ""
    if value[0] in ("list", "tuple"):
        return next((w for w in (_wide(view, v, depth + 1) for v in value[1]) if w), "")
    number = _number(view, value)
    if number is not None:
        return str(number) if not -_LIMIT <= number < _LIMIT else ""
    func = value[1] if value[0] == "call" else None
    if func is not None and func[0] == "ref" and func[1] in _CLOCKS:
        return f"{func[1].removeprefix('builtins.')}()"
    return ""


def _number(view: ModuleView, value: Value, depth: int = 0) -> int | None:
    """An integer written out: ``2**40``, ``1 << 33``, a named constant."""
    if value is None or depth > 4:
        return None
    if value[0] == "bin":
        left, right = (_number(view, v, depth + 1) for v in value[2:])
        if left is None or right is None:
            return None
        if value[1] == "**" and 0 <= right <= 128 and abs(left) <= 1024:
            return int(left**right)
        if value[1] == "<<" and 0 <= right <= 128:
            return left << right
        if value[1] == "-":
            return left - right
        return left + right if value[1] == "+" else left * right if value[1] == "*" else None
    if value[0] == "neg":
        inner = _number(view, value[1], depth + 1)
        return None if inner is None else -inner
    if value[0] in ("const", "v", "ref"):
        known, literal = view.constant(value)
        if known and isinstance(literal, int) and not isinstance(literal, bool):
            return literal
    return None
