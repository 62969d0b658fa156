"""``torch.save`` of tensors where they are: the file remembers the device."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView
from neuronport.source.written import moved_before

EVENTS = ("use",)
ONLY = ("save",)
METHODS = ("state_dict",)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind != "use" or event.role != "call" or not event.name.endswith("save"):
        return
    if view.index.canonical(event.name, view.summary) != "torch.save":
        return
    what = view.argument(event, "obj", 0)
    if not _holds_state(what, view, 0):
        return
    if moved_before(view.index, view.facts.module, event.at[0]):
        return
    on_xla = any(
        e.kind == "import" and e.name.startswith(("torch_xla", "torch_neuronx"))
        for e in view.facts.events
    )
    yield Hit(
        event.span,
        "saves tensors where they are: the file asks for the same device when it is read",
        Confidence.LIKELY if on_xla else Confidence.POSSIBLE,
    )


def _holds_state(value: Value, view: ModuleView, depth: int) -> bool:
    """Whether a value is, or holds, a ``state_dict()`` that was not moved to the CPU."""
    if value is None or depth > 4:
        return False
    if value[0] == "dict":
        return any(_holds_state(item, view, depth + 1) for _, item in value[1])
    if value[0] == "call":
        return value[1] is not None and value[1][0] == "attr" and value[1][2] == "state_dict"
    if value[0] in ("v", "any", "ref", "attr"):
        return any(
            atom.value is not None
            and atom.value[0] in ("dict", "call")
            and _holds_state(atom.value, view, depth + 1)
            for atom in view.follow(value)
        )
    return False
