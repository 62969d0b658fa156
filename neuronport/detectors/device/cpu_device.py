"""The CPU written as the device: what a port has to look at where it is the program's choice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import OTHERWISE, Confidence, Related
from neuronport.readers.python.facts import Event, Guard
from neuronport.source.view import ModuleView

STRINGS = r"^cpu$"
EVENTS = ("str",)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name != "cpu":
        return
    role, listed, branched = _strings.unwrap(event.role)
    if listed or branched:
        return
    chosen = (
        role[0] in ("assign", "attr", "field") and _strings.DEVICE_WORD.search(str(role[-1]))
    ) or (role[0] == "arg" and role[2] == 0 and view.name(role[1]) == "torch.device")
    if not chosen:
        return
    guard = _left_by(event, role, view)
    if guard is None:
        says = "the device is the CPU, whatever the host has"
        yield Hit(event.span, says, Confidence.POSSIBLE)
        return
    says = f"the device is the CPU unless {view.text(guard.test)}"
    if not guard.polarity:
        says = f"the device is the CPU where {view.text(guard.test)}"
    step = Related(view.facts.path, guard.line, OTHERWISE)
    yield Hit(event.span, says, Confidence.POSSIBLE, related=(step,))


def _left_by(event: Event, role: tuple[Any, ...], view: ModuleView) -> Guard | None:
    """The condition by which something else than the CPU would be chosen, and that does not hold on
    a Neuron host: the CPU is its other branch, or what a variable holds before it; seen from the
    branch for what is chosen then."""
    for guard in view.guards(event):
        if guard.kind in ("if", "early", "next", "skip") and _strings.finds_none(
            guard, view, guard.polarity
        ):
            return guard._replace(polarity=not guard.polarity)
    scope, line, facts = view.ctx(event).scope, event.at[0], view.facts
    if role[0] in ("assign", "arg"):
        held = {d.name for d in facts.definitions if d.line == line and d.scope == scope}
        for definition in facts.definitions:
            if definition.line > line and definition.name in held and definition.scope == scope:
                for i in definition.guards:
                    guard = facts.guards[i]
                    if guard.line > line and _strings.finds_none(guard, view, not guard.polarity):
                        return guard
    return None
