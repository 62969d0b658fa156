"""A branch that asks whether a CUDA-only library is there: ``is_xformers_available()``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from neuronport.detectors import Hit
from neuronport.detectors.device.accelerator_branch import asked_by_project
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.summary import Summary
from neuronport.source.truth import conditions
from neuronport.source.view import ModuleView

EVENTS = ("use",)
_NAME = re.compile(r"^(is|has)_\w+(_available|_installed)?$")
ONLY = ()
_MAX_DEPTH = 8
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
        if asked_by_project(name, event.name, view):
            return  # a question about a device
        package = _installs(name, view)
        if package:
            yield Hit(
                event.span,
                f"{last}() of this project asks only whether {package} is installed: on a Neuron "
                "host that need not be, and what this guards is passed over without it",
                Confidence.POSSIBLE,
                guarded=False,
            )
            return
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


def _installs(name: str, view: ModuleView) -> str:
    """The package a function of the tree looks for that can be installed without CUDA; empty: it
    looks for none, or its answer rests on more."""
    found = view.index.function(name)
    if found is None:
        return ""
    module, function = found
    asked = list(_sought((*function.returns, *function.conditions), module, view, 0))
    needs = conditions()["needs_cuda"]
    return asked[0] if asked and all(asked) and needs.isdisjoint(asked) else ""


def _sought(value: Any, module: Summary, view: ModuleView, depth: int) -> Iterator[str]:
    """The packages that ``find_spec`` is asked for in a value; an empty name for what rests on a
    device as well."""
    if not isinstance(value, tuple) or not value or depth > _MAX_DEPTH:
        return
    if value[0] == "v" and len(value) == 2:
        yield from _sought(module.definitions[value[1]].value, module, view, depth + 1)
        return
    if value[0] == "call" and value[1] is not None and value[1][0] == "ref":
        asked = view.index.canonical(value[1][1], module)
        if asked == "importlib.util.find_spec" and value[2]:
            known, package = view.resolver.constant(module, value[2][0])
            if known and isinstance(package, str):
                yield package.partition(".")[0]
            return
        if asked[:1] == "@":
            inner = view.index.function(asked)
            if inner is not None:
                owner, function = inner
                yield from _sought(
                    (*function.returns, *function.conditions), owner, view, depth + 1
                )
            return
        if asked in conditions()["false"]:
            yield ""
            return
    for part in value:
        yield from _sought(part, module, view, depth + 1)


def _changes(decorator: Value) -> bool:
    if decorator is not None and decorator[0] == "call":
        decorator = decorator[1]
    name = str(decorator[1]) if decorator is not None and decorator[0] == "ref" else ""
    return name.rpartition(".")[2] not in ("cache", "lru_cache", "staticmethod", "classmethod")
