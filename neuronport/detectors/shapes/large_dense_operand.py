"""A dense tensor so large that compiling for one core takes long or fails."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import POSSIBLE, torch_call
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
_FACTORIES = frozenset(f"torch.{n}" for n in ("rand", "randn", "zeros", "ones", "empty"))
_ELEMENTS = 16_000 * 16_000
"""The reported case: a product of two such matrices did not compile."""
ONLY = frozenset(n.rpartition(".")[2] for n in _FACTORIES)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if torch_call(event, view) not in _FACTORIES or not event.args:
        return
    sizes = event.args
    if len(sizes) == 1 and sizes[0] is not None and sizes[0][0] in ("tuple", "list"):
        sizes = sizes[0][1]
    total = 1
    matrix = 0
    for size in sizes:
        known, number = view.constant(size)
        if not known or not isinstance(number, int):
            return
        total *= number
        matrix += number > 1
    if total >= _ELEMENTS and matrix >= 2:
        yield Hit(event.span, f"a dense tensor of {total:,} elements on one core", POSSIBLE)
