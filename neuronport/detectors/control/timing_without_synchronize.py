"""A clock read around work of the device, without waiting for it."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import uses_torch
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ROOTS = ("time", "timeit")
ONLY = ("time", "perf_counter", "monotonic", "time_ns", "perf_counter_ns")
METHODS = frozenset(("synchronize", "elapsed_time", "item", "cpu", "wait_device_ops"))
_CLOCKS = frozenset(
    ("time.time", "time.perf_counter", "time.monotonic", "time.time_ns", "time.perf_counter_ns")
)
_WAITING = ("synchronize", "wait_device_ops", "mark_step", "item", "cpu", "tolist", "sync")


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name not in _CLOCKS or event.role != "call" or not uses_torch(view):
        return
    hot = view.hot(event)
    if not hot or view.ctx(event).scope in _scopes_that_wait(view):
        return
    if not _differs(event, view):
        return
    yield Hit(
        event.span,
        f"{event.name}() is read while the device may still be working, {hot}: nothing in this "
        "function waits for it",
        Confidence.POSSIBLE,
    )


def _scopes_that_wait(view: ModuleView) -> frozenset[int]:
    """The functions in which something waits for the device, so that clocks tell something."""
    return view.once("timing-without-synchronize", lambda: _find_waits(view))


def _find_waits(view: ModuleView) -> frozenset[int]:
    return frozenset(
        view.facts.contexts[e.ctx].scope
        for e in view.facts.events
        if e.kind in ("method", "use") and e.name.rpartition(".")[2] in _WAITING
    )


def _differs(event: Event, view: ModuleView) -> bool:
    """Whether the function subtracts one reading from another."""
    scope = view.ctx(event).scope
    return any(d.scope == scope and _is_difference(d.value) for d in view.facts.definitions) or any(
        e.kind in ("format", "method", "use")
        and view.facts.contexts[e.ctx].scope == scope
        and any(_is_difference(v) for v in (e.value, *(e.args or ())))
        for e in view.facts.events
    )


def _is_difference(value: Value) -> bool:
    if value is None or value[0] != "bin" or value[1] != "-":
        return False
    left = value[2]
    return bool(
        left is not None
        and left[0] == "call"
        and left[1] is not None
        and left[1][0] == "ref"
        and left[1][1] in _CLOCKS
    ) or bool(left is not None and left[0] == "v" and value[3] is not None and value[3][0] == "v")
