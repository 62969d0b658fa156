"""``barrier(group=…)``: the neuron backend has a barrier of the default group only."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.distributed._calls import called, is_none, may_be_none
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ONLY = ("barrier",)
_DEFAULT = frozenset(
    [
        "torch.distributed.group.WORLD",
        "torch.distributed.GroupMember.WORLD",
        "torch.distributed.distributed_c10d._get_default_group",
    ]
)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if not event.name.endswith("barrier") or not called(event, view, "barrier"):
        return
    group = view.argument(event, "group", 0)
    if is_none(group) or not view.given(event, "group", 0) or view.name(group) in _DEFAULT:
        return
    atoms = view.follow(group)
    backends = {
        text
        for atom in atoms
        if atom.value is not None and atom.value[0] == "call"
        for key, value in atom.value[3]
        if key == "backend"
        for text, _ in view.strings(value)
    }
    if backends and backends <= {"gloo", "mpi"}:
        return
    made = any(
        atom.value is not None
        and atom.value[0] == "call"
        and atom.value[1] is not None
        and str(atom.value[1][-1]).endswith("new_group")
        for atom in atoms
    )
    sure = Confidence.LIKELY if made and not may_be_none(group, view) else Confidence.POSSIBLE
    yield Hit(event.span, f"a barrier of the group {view.text(group)}", sure)
