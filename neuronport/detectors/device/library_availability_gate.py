"""A branch that asks whether a CUDA-only library is there: ``is_xformers_available()``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.truth import conditions
from neuronport.source.view import ModuleView

EVENTS = ("use",)
_FINDERS = frozenset(("importlib.util.find_spec", "shutil.which", "importlib.metadata.version"))
_MAX_DEPTH = 12
_NAME = re.compile(r"^(is|has)_\w+(_available|_installed)?$")


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.role != "call":
        return
    last = event.name.rpartition(".")[2]
    if last[:3] not in ("is_", "has") or not _NAME.match(last) or event.name.startswith("torch."):
        return
    name = view.index.canonical(event.name, view.summary)
    if name in conditions()["false"]:
        yield Hit(
            event.span,
            f"{last}() is False on a Neuron host: what it guards is passed over there",
            Confidence.CERTAIN,
            guarded=False,
        )
    elif (
        name[:1] == "@"
        and view.truth_of(("call", ("ref", event.name), (), (), 0)) is False
        and _about_the_host(name, view)
    ):
        yield Hit(
            event.span,
            f"{last}() of this project is False on a Neuron host: what it guards is passed over",
            Confidence.LIKELY,
            guarded=False,
        )


def _about_the_host(function: str, view: ModuleView) -> bool:
    """Whether a function of the tree answers what is there, and not what a switch of its own is."""
    found = view.index.function(function)
    if found is None:
        return False
    module, body = found
    pending: list[tuple[Value, int]] = [(value, 0) for value in body.returns]
    while pending:
        value, depth = pending.pop()
        if not isinstance(value, tuple) or not value or depth > _MAX_DEPTH:
            continue
        if value[0] == "tried":
            return True
        if value[0] == "ref":
            dotted = view.index.canonical(value[1], module)
            if dotted in conditions()["false"] or dotted in _FINDERS:
                return True
            inner = view.index.function(dotted)
            if inner is not None and inner[0] is module:
                pending += [(v, depth + 1) for v in inner[1].returns]
            else:
                owner = view.index.split(dotted)
                bound = owner[0].exports.get(owner[1]) if owner is not None else None
                if owner is not None and owner[0] is module and bound != value:
                    pending.append((bound, depth + 1))
        elif value[0] == "v":
            pending.append((module.definitions[value[1]].value, depth + 1))
        else:
            pending += [(part, depth + 1) for part in value[1:] if isinstance(part, tuple)]
            for part in value[1:]:
                if isinstance(part, tuple) and part and isinstance(part[0], tuple):
                    pending += [(p, depth + 1) for p in part]
    return False
