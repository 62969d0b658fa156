"""gather and scatter_add with an int64 index."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import called, on_host, placed
from neuronport.detectors.precision._dtypes import formats
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source import places
from neuronport.source.view import ModuleView

METHODS = ("gather", "scatter_add", "scatter_add_", "take_along_dim")
"""Not ``scatter``: it is as slow with a narrow index."""
EVENTS = ("use", "method")
_ARGUMENTS = ("input", "dim", "index", "indices", "src", "value", "reduce", "sparse_grad", "out")
"""Other arguments: another ``scatter``, of a plot."""
ONLY = frozenset(METHODS)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "method" and event.name not in METHODS:
        return
    if any(key not in _ARGUMENTS for key, _ in event.kwargs):
        return
    call = called(event, view, METHODS)
    if call is None:
        return
    index = call.argument("index", 1)
    if call.name == "take_along_dim":
        index = call.argument("indices", 0)
    if index is None or _narrow(view, index):
        return
    if on_host(view, call.tensor) or on_host(view, index):
        return
    sure = placed(event, view, call.confidence)
    if places.fills_parameters(event, view):
        sure = Confidence.POSSIBLE
    if call.name == "take_along_dim":
        yield Hit(
            event.span,
            "take_along_dim gathers with an int64 index, the only one it takes, which the device "
            "converts first",
            sure,
            replacement="gather along the dimension with an int32 index of the result's shape: "
            "take_along_dim takes int64 alone",
        )
        return
    yield Hit(
        event.span,
        f"{call.name} with an int64 index, which the device converts first",
        sure,
        replacement=_EXPANDED
        if _written_out(view, index)
        else _ADDED
        if "add" in call.name
        else "",
    )


_ADDED = (
    "an int32 index (index.int()); index_add where one index goes for whole rows; or a product with "
    "the one-hot rows of the index, where there are few of them"
)


_EXPANDED = (
    "an int32 index, and .expand() in place of .repeat() or .contiguous(), which write it out: "
    "index.int().expand(…)"
)


def _written_out(view: ModuleView, value: Value) -> bool:
    """Whether an index is repeated in memory where it could be expanded."""
    for _ in range(5):
        if value is not None and value[0] == "v":
            value = view.summary.definitions[value[1]].value
        if value is None or value[0] != "call" or value[1] is None or value[1][0] != "attr":
            return False
        if value[1][2] in ("repeat", "contiguous"):
            return True
        value = value[1][1]
    return False


def _narrow(view: ModuleView, value: Value, depth: int = 0) -> bool:
    """Whether an index was made int32."""
    if value is None or depth > 5:
        return False
    if value[0] == "v":
        return _narrow(view, view.summary.definitions[value[1]].value, depth + 1)
    if value[0] != "call" or value[1] is None:
        return False
    if "int32" in [f for k, v in value[3] if k == "dtype" for f in formats(view, v)]:
        return True
    if value[1][0] != "attr":
        return False
    if value[1][2] == "int" or any("int32" in formats(view, v) for v in value[2]):
        return True
    return _narrow(view, value[1][1], depth + 1)
