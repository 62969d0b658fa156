"""A branch that asks whether a CUDA-only library is there: ``is_xformers_available()``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from neuronport.detectors import Hit
from neuronport.detectors.device.accelerator_branch import asked_by_project
from neuronport.findings import Confidence, Verdict
from neuronport.readers.python.facts import Event, Value
from neuronport.source import decided
from neuronport.source.decided import Decided
from neuronport.source.summary import Summary
from neuronport.source.truth import conditions
from neuronport.source.understanding import understanding
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
        verdict, follows, instead = _follows(event, view, last)
        yield Hit(
            event.span,
            f"{last}() is False on a Neuron host{follows}",
            Confidence.CERTAIN,
            verdict,
            guarded=False,
            replacement=instead,
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
                replacement=_instead(last),
            )
            return
        verdict, follows, instead = _follows(event, view, last)
        yield Hit(
            event.span,
            f"{last}() of this project is False on a Neuron host{follows}",
            Confidence.LIKELY,
            verdict,
            guarded=False,
            replacement=instead,
        )


def _follows(event: Event, view: ModuleView, name: str) -> tuple[Verdict | None, str, str]:
    """What comes of the answer: a verdict where it is another than the rule's, in words, and what to
    do instead."""
    instead = _instead(name)
    decides = decided.of_question(event, view)
    if decides is Decided.STOPS:
        return Verdict.BREAKS, ", and the program stops here with an error", instead
    if decides is Decided.MARKS:
        skipped = "a marker for what the test needs, where that is not the library itself"
        return None, ": whether a test is skipped rests on it", skipped
    if decides is Decided.SAYS:
        kept = f"leave it where it is only written down; else {instead}"
        return None, ": that is what is written down or kept here", kept
    return None, ": the way that asks for it is not taken there", instead


def _instead(name: str) -> str:
    """What to write in place of a function's question, by the library in its name."""
    return next(says for words, says in _gates() if any(word in name for word in words))


@cache
def _gates() -> list[tuple[list[str], str]]:
    return [(row["words"], row["says"]) for row in understanding("library_gates")["instead"]]


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
