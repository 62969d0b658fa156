"""A whole module is pickled, or read back: the file depends on the code and, read by today's
PyTorch, on ``weights_only=False``."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence, Verdict
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("use", "method")
METHODS = ("eval", "train", "parameters", "named_parameters", "state_dict", "modules")
"""Of what is read back: only a module has them. ``eval`` and the like on a loaded value."""
ONLY = ("save", *METHODS)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "use":
        if event.role == "call" and event.name.endswith("save"):
            yield from _saved(event, view)
        return
    if event.name in METHODS:
        yield from _read(event, view)


def _saved(event: Event, view: ModuleView) -> Iterator[Hit]:
    if view.index.canonical(event.name, view.summary) != "torch.save":
        return
    what = view.argument(event, "obj", 0)
    if what is None or what[0] == "dict":
        return
    known = view.kind(what)
    if known.kind == "module":
        yield Hit(
            event.span,
            f"{view.text(what)} is pickled as a whole, not its state_dict()",
            Confidence.LIKELY if known.derived else Confidence.POSSIBLE,
            verdict=Verdict.LOCKS_IN,
        )


def _read(event: Event, view: ModuleView) -> Iterator[Hit]:
    value = event.value
    if value is None or value[0] not in ("v", "call"):
        return
    call = _load(value, view)
    if call is None:
        return
    given = dict(call[3])
    if given.get("weights_only") == ("const", False) or None in given:
        return
    yield Hit(
        event.span,
        f"torch.load(…).{event.name}(): a whole module in a file is refused, as weights_only is "
        "True by default",
        Confidence.LIKELY,
    )


def _load(value: Value, view: ModuleView) -> tuple | None:  # type: ignore[type-arg]
    for atom in view.follow(value):
        inner = atom.value
        if inner is None or inner[0] != "call" or inner[1] != ("ref", "torch.load"):
            return None
        return inner
    return None
