"""Metrics computed in every step: ``metric.compute()`` in a training loop."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.control._waits import LIKELY, POSSIBLE, reached
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("method",)
METHODS = frozenset(("compute",))
ONLY = METHODS


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name != "compute" or event.args:
        return
    made = any(
        atom.value is not None
        and atom.value[0] == "call"
        and view.callee(atom.value[1]).startswith(("torchmetrics.", "ignite.metrics.", "evaluate."))
        for atom in view.follow(event.value)
    )
    if not made and "metric" not in view.text(event.value).lower():
        return
    if not view.hot(event):
        return
    place = reached(event, view, LIKELY if made else POSSIBLE)
    if place is not None:
        confidence, why = place
        yield Hit(
            event.span,
            f"{view.text(event.value, whole=True)}.compute() reduces and reads a metric, {why}",
            confidence,
        )
