"""Gradients reduced over the workers only where some condition holds."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
METHODS = frozenset(("step",))
ROOTS = ("torch_xla",)
ONLY = ("reduce_gradients",)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if not event.name.endswith(".reduce_gradients") or event.role != "call":
        return
    if not event.name.startswith("torch_xla."):
        return
    ctx = view.ctx(event)
    if not ctx.guards:
        return
    guard = ctx.guards[-1]
    if view.facts.guards[guard].kind not in ("if", "ifexp", "bool"):
        return
    for other in view.facts.events:
        if other.kind == "method" and other.name == "step":
            place = view.facts.contexts[other.ctx]
            if place.scope == ctx.scope and guard not in place.guards:
                yield Hit(
                    event.span,
                    f"gradients are exchanged only if {view.text(view.facts.guards[guard].test)}, "
                    "the optimizer steps in any case",
                    Confidence.LIKELY,
                    paths=("xla",),
                )
                return
