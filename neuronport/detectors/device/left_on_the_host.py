"""A tensor made on the host that follows another to CUDA, and to no other device."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import on_host
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Guard, Span, Value
from neuronport.source.places import placed_otherwise
from neuronport.source.view import ModuleView

EVENTS = ("method",)
METHODS = frozenset(("cuda",))
ONLY = METHODS
_STEPS = ("if", "ifexp")


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name != "cuda":
        return
    guard = next((g for g in reversed(view.guards(event)) if g.kind in _STEPS), None)
    if guard is None or not guard.polarity:
        return
    leading = _leading(guard.test)
    if leading is None or leading == event.value or view.text(leading) == view.text(event.value):
        return
    if not on_host(view, event.value) or _moved_too(event, guard, view):
        return
    there = on_host(view, leading)
    if there:
        return
    moved, device = view.text(event.value, whole=True), f"{view.text(leading, whole=True)}.device"
    yield Hit(
        _around(event, guard, view),
        f"{moved} is made on the host and only follows {view.text(leading)} to CUDA: on Neuron it "
        "stays behind, and the next operation on both raises",
        Confidence.LIKELY if there is None else Confidence.CERTAIN,
        replacement=f"{moved}.to({device}), without the condition",
        guarded=False,
    )


def _leading(test: Value) -> Value:
    """What a condition asks whether it is on CUDA: ``x`` of ``x.is_cuda``, ``x.device.type ==
    "cuda"``."""
    found: Value = None
    if test is None:
        return None
    if test[0] == "attr" and test[2] == "is_cuda":
        found = test[1]
    elif test[0] == "cmp" and test[2] == "==" and test[3] == ("const", "cuda"):
        asked = test[1]
        if asked is not None and asked[0] == "attr" and asked[2] == "type":
            asked = asked[1]
        if asked is not None and asked[0] == "attr" and asked[2] == "device":
            found = asked[1]
    return found


def _moved_too(event: Event, guard: Guard, view: ModuleView) -> bool:
    """Whether the other branch has something else."""
    if placed_otherwise(event, guard, view):
        return True
    for definition in view.facts.definitions:
        value = definition.value
        if (
            definition.line == event.at[0]
            and value is not None
            and value[0] == "if"
            and value[1] == guard.test
        ):
            return bool(value[3] != event.value)
    return False


def _around(event: Event, guard: Guard, view: ModuleView) -> Span:
    """The condition and the move."""
    tests = [t for t in view.tests.get(guard.line, ()) if t.value == guard.test]
    places = [event.at, *(t.at for t in tests)]
    first, last = min(p[:2] for p in places), max(p[2:] for p in places)
    return Span(*first, *last)
