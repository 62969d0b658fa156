"""What the answer of a question about the host decides: ``torch.cuda.is_available()`` in a test may
choose the device of the whole program, or whether a line is logged. Only the first leaves a chip
idle."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from neuronport.readers.python.facts import Event, Guard, ModuleFacts, Value

if TYPE_CHECKING:
    from neuronport.source.view import ModuleView

_WORDS = frozenset(("cuda", "cpu", "gpu", "xpu", "mps", "npu", "hpu", "mlu", "musa"))
_MOVES = frozenset(("cuda", "to", "cpu", "xpu", "npu"))
_PLACES = (
    "torch.device",
    "torch.nn.DataParallel",
    "torch.nn.parallel.",
    "torch.set_default_",
    "torch.distributed.init_process_group",
    "torch.multiprocessing.",
)
_PLACES_LAST = frozenset(
    ("set_device", "current_device", "device_count", "LongTensor", "FloatTensor", "ByteTensor")
)
_MAX_DEPTH = 8
_MAX_LINES = 8
"""How far above a call the test that it is part of may begin."""


class Decided(StrEnum):
    DEVICE = "device"
    """Where something runs: the way not taken is the accelerator's."""
    STOPS = "stops"
    """Whether the program goes on: the answer of a Neuron host ends it."""
    SKIPS = "skips"
    """Whether something else happens: a setting, a message, a kernel of CUDA's."""
    UNKNOWN = "unknown"
    """Not tested where it is asked."""


def of_question(event: Event, view: ModuleView) -> Decided:
    """What the answer at a call decides, by the test the call stands in."""
    return _of(view, event.span.line, lambda test: _asks(test, event.name, event.span.line, 0))


def of_test(event: Event, view: ModuleView) -> Decided:
    """What a ``test`` event decides."""
    if event.name == "assert":
        return Decided.STOPS
    return _of(view, event.span.line, lambda test: test == event.value)


def _of(view: ModuleView, line: int, ours: Any) -> Decided:
    facts = view.facts
    lines = range(line, line - _MAX_LINES, -1)
    for test in (t for n in lines for t in view.tests.get(n, ())):
        if test.name == "assert" and ours(test.value):
            return Decided.STOPS if view.truth_of(test.value) is False else Decided.UNKNOWN
    found = [
        i
        for n in lines
        for i in view.guards_at.get(n, ())
        if facts.guards[i].kind != "bool" and ours(facts.guards[i].test)
    ]
    if not found:
        return Decided.UNKNOWN
    if any(_ends(facts.guards[i], view) for i in found):
        return Decided.STOPS
    if any(i in view.choosing for i in found):
        return Decided.DEVICE
    return Decided.SKIPS


def _ends(guard: Guard, view: ModuleView) -> bool:
    """Whether the block of a test that raises is the one a Neuron host comes to."""
    truth = view.truth_of(guard.test)
    return guard.kind == "raise" and truth is not None and truth is not guard.polarity


def _asks(value: Value, name: str, line: int, depth: int) -> bool:
    """Whether a test holds the call itself, not a variable that has its answer."""
    if not isinstance(value, tuple) or not value or depth > _MAX_DEPTH:
        return False
    if value[0] == "call" and value[4:] == (line,) and value[1] == ("ref", name):
        return True
    return any(_asks(part, name, line, depth + 1) for part in _parts(value))


def _parts(value: tuple[Any, ...]) -> Iterator[Any]:
    for part in value[1:]:
        if isinstance(part, tuple):
            yield part
            if part and isinstance(part[0], tuple):
                yield from part


def choosing(facts: ModuleFacts) -> frozenset[int]:
    """The guards under which something is placed on a device or a device is named."""
    found: set[int] = set()
    for event in facts.events:
        guards = facts.contexts[event.ctx].guards
        if guards and not found.issuperset(guards) and _chooses(event):
            found.update(guards)
    for definition in facts.definitions:
        if definition.guards and "device" in definition.name.lower():
            found.update(definition.guards)
    return frozenset(found)


def _chooses(event: Event) -> bool:
    if event.kind == "str":
        return event.name.strip().partition(":")[0].lower() in _WORDS
    if event.kind == "method":
        return event.name in _MOVES
    if event.kind == "use":
        if event.name.startswith(_PLACES):
            return True
        return event.name.rpartition(".")[2] in _PLACES_LAST
    return False
