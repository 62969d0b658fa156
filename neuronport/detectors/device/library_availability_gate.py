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
_NAME = re.compile(r"^(is|has)_\w+(_available|_installed)?$")
ONLY = ()
PATTERN = r"(^|\.)(is|has)_\w+$"


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
        and _asks(name, view)
        and view.truth_of(("call", ("ref", event.name), (), (), 0)) is False
    ):
        yield Hit(
            event.span,
            f"{last}() of this project is False on a Neuron host: what it guards is passed over",
            Confidence.LIKELY,
            guarded=False,
        )


def _asks(name: str, view: ModuleView) -> bool:
    """Whether the answer of a function of the tree can be another elsewhere: not a plain False, nor
    one that a decorator (``singledispatch``) can put another function in the place of."""
    found = view.index.function(name)
    if found is None:
        return False
    function = found[1]
    return not any(map(_changes, function.decorators)) and not all(
        value is not None and value[0] == "const" for value in function.returns
    )


def _changes(decorator: Value) -> bool:
    if decorator is not None and decorator[0] == "call":
        decorator = decorator[1]
    name = str(decorator[1]) if decorator is not None and decorator[0] == "ref" else ""
    return name.rpartition(".")[2] not in ("cache", "lru_cache", "staticmethod", "classmethod")
