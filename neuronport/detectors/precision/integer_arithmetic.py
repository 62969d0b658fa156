"""Integer matrix products and sums over processes, which the hardware does in floating point."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import LIKELY, called, on_host, placed, torch_call
from neuronport.detectors.precision._dtypes import integral
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

METHODS = ("matmul", "mm", "bmm", "addmm", "index_add_", "scatter_add_", "index_add", "scatter_add")
EVENTS = ("use", "method")
_REDUCTIONS = frozenset(
    f"torch.distributed.{n}" for n in ("all_reduce", "reduce", "reduce_scatter_tensor")
)
_PRODUCTS = frozenset(("matmul", "mm", "bmm"))
ONLY = frozenset(METHODS) | frozenset(n.rpartition(".")[2] for n in _REDUCTIONS)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "use":
        name = torch_call(event, view)
        if not name:
            return
        if name in _REDUCTIONS:
            value = view.argument(event, "tensor", 0)
            if integral(view, value) and on_host(view, value) is not True:
                yield _reduced(event, view)
            return
    elif event.name not in METHODS:
        return
    call = called(event, view, METHODS)
    if call is None or not integral(view, call.tensor):
        return
    if call.name in _PRODUCTS:
        other = call.argument("other", 0) or call.argument("mat2", 0)
        if integral(view, other) and not on_host(view, call.tensor):
            yield Hit(event.span, "a matrix product of integers", placed(event, view, LIKELY))
        return
    if "add" in call.name and call.name != "addmm" and not on_host(view, call.tensor):
        yield Hit(
            event.span,
            f"{call.name} counts in integers",
            placed(event, view, LIKELY),
        )


def _reduced(event: Event, view: ModuleView) -> Hit:
    """Of a reduction over the processes: by its operator, a sum unless told otherwise."""
    position = 1 if event.name.endswith("all_reduce") else 2
    operator = view.name(view.argument(event, "op", position)).rpartition(".")[2]
    how = "summed" if not view.given(event, "op", position) or operator == "SUM" else "reduced"
    by = f" ({operator})" if how == "reduced" and operator else ""
    return Hit(event.span, f"integers are {how}{by} over the processes", LIKELY)
