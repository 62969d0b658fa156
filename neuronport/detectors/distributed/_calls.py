"""Calls of ``torch.distributed`` by any alias, shared by the rules of this area."""

from __future__ import annotations

from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

_SPELLINGS = ("torch.distributed.", "torch.distributed.distributed_c10d.")


def called(event: Event, view: ModuleView, *names: str) -> str:
    """The short name when ``event`` calls one of ``torch.distributed.NAMES``, else ''."""
    if event.role != "call":
        return ""
    last = event.name.rpartition(".")[2]
    if last not in names:
        return ""
    dotted = view.index.canonical(event.name, view.summary)
    return last if any(dotted == f"{prefix}{last}" for prefix in _SPELLINGS) else ""


def is_none(value: Value) -> bool:
    return value == ("const", None)


def may_be_none(value: Value, view: ModuleView) -> bool:
    """Whether a value is ``None`` on some branch or by default, or not known."""
    if value is None:
        return True
    for atom in view.follow(value):
        inner = atom.value
        if inner is None or is_none(inner):
            return True
        if inner[0] == "param":
            function = atom.module.functions.get(inner[1])
            if function is not None and any(
                name == inner[2] and is_none(default) for name, default, _, _ in function.params
            ):
                return True
    return False
