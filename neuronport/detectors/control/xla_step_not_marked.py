"""A training loop on an XLA device in which nothing ends the lazy graph."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("method",)
METHODS = frozenset(("step", "backward"))
ROOTS = ("torch_xla",)
ONLY = ("step",)
_MARKS = frozenset(
    ("mark_step", "optimizer_step", "sync", "MpDeviceLoader", "ParallelLoader", "step", "compile")
)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name != "step" or not _lazy(view):
        return
    ctx = view.ctx(event)
    if not ctx.loops or "in the training loop" not in view.hot(event):
        return
    if view.kind(event.value).kind not in ("optimizer", "unknown"):
        return
    if "sched" in view.text(event.value).lower():
        return
    yield Hit(
        event.span,
        f"{view.text(event.value, whole=True)}.step() ends the iteration, and nothing marks the step: the lazy "
        "graph grows over all of them",
        Confidence.LIKELY,
        paths=("xla",),
    )


def _lazy(view: ModuleView) -> bool:
    """Whether the module uses an XLA device and nothing in it ends a step."""
    return view.once("xla-step-not-marked", lambda: _is_lazy(view))


def _is_lazy(view: ModuleView) -> bool:
    uses = marks = False
    for event in view.facts.events:
        if event.kind == "import":
            uses = uses or event.name.partition(".")[0] == "torch_xla"
        elif event.kind == "use" and event.name.startswith("torch_xla"):
            marks = marks or event.name.rpartition(".")[2] in _MARKS
    return uses and not marks
