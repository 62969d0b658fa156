"""A tensor that grows: ``cache = torch.cat([cache, new])`` step after step."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import (
    LIKELY,
    POSSIBLE,
    local_name,
    on_host,
    same_scope,
    torch_call,
)
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("use",)
_JOINS = frozenset(f"torch.{n}" for n in ("cat", "concat", "concatenate", "hstack", "vstack"))
_CACHE = re.compile(
    r"(^|_)(past|cache|cached|kv_?cache|layer_past|prefix_kv|history|hist)(_|$)", re.I
)
_KEYS = re.compile(r"past|kv|key|prefix", re.I)
"""Caches that hold what was before; others may be windows of a fixed length."""
_TOKENS = re.compile(
    r"ids|idx|token|seq|sequence|generated|output|sample|ys|prompt|mask|hyp|beam|decoded|text|word|pred",
    re.I,
)
_LAYERS = re.compile(r"layer|block|conv|module|stage|head|feature|branch|net|level|scale", re.I)
ONLY = frozenset(n.rpartition(".")[2] for n in _JOINS)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    name = torch_call(event, view)
    if name not in _JOINS or not event.args:
        return
    joined = event.args[0]
    if joined is None or joined[0] not in ("list", "tuple") or len(joined[1]) < 2:
        return
    target = _target(event, view)
    for item in joined[1]:
        word = _word(view, item)
        sure: Confidence | None = None
        if _CACHE.search(word):
            if _is_window(item):
                continue
            often = view.hot(event) or _in_loop(event, view)
            sure = LIKELY if often and _KEYS.search(word) else POSSIBLE
        elif target and _written(view, item) == target and _comes_round(event, view, item, target):
            sure = _loop(event, view, target)
        if sure is not None:
            if on_host(view, joined[1][0]) or on_host(view, joined[1][1]):
                return
            yield Hit(
                event.span,
                f"{word or target} grows with every step: a new shape, and a new graph, each time",
                sure,
            )
            return


def _is_window(value: Value) -> bool:
    """Whether only the end of a cache is taken: ``cache[:, -1:]``."""
    while value is not None and value[0] in ("call", "item"):
        if value[0] == "call":
            value = value[1][1] if value[1] is not None and value[1][0] == "attr" else None
            continue
        index = value[2]
        parts = index[1] if index is not None and index[0] == "tuple" else (index,)
        if any(_from_the_end(part) for part in parts):
            return True
        value = value[1]
    return False


def _from_the_end(part: Value) -> bool:
    if part is not None and part[0] == "slice":
        part = part[1]
    return part is not None and (part[0] == "neg" or (part[0] == "const" and _negative(part[1])))


def _negative(literal: object) -> bool:
    return isinstance(literal, int) and literal < 0


def _comes_round(event: Event, view: ModuleView, item: Value, target: str) -> bool:
    """Whether what is joined is what the round before has left: not made anew in this round, nor
    replaced after it."""
    loops = [view.facts.loops[i] for i in view.ctx(event).loops]
    loops = [loop for loop in loops if loop.kind != "comprehension"]
    if not loops:
        return False
    first, last = loops[-1].line, loops[-1].end_line
    made = item[1] if item is not None and item[0] == "any" else (item,)
    lines = [view.summary.definitions[v[1]].line for v in made if v is not None and v[0] == "v"]
    if lines and all(first <= line for line in lines):
        return False
    return not any(
        d.name == target and event.span.end_line < d.line <= last
        for _, d in same_scope(view, event)
    )


def _word(view: ModuleView, value: Value) -> str:
    while value is not None and value[0] in ("item", "unpack", "elem"):
        value = value[1]
    return _written(view, value)


def _written(view: ModuleView, value: Value) -> str:
    if value is not None and value[0] == "attr" and value[1] is not None and value[1][0] == "self":
        return f"self.{value[2]}"
    return local_name(view, value)


def _target(event: Event, view: ModuleView) -> str:
    """The name the result is assigned to."""
    targets = view.once("growing-tensor", lambda: _find_targets(view))
    return targets.get((view.ctx(event).scope, event.span.line), "")


def _find_targets(view: ModuleView) -> dict[tuple[int, int], str]:
    targets: dict[tuple[int, int], str] = {}
    for definition in view.summary.definitions:
        value = definition.value
        # ``torch.cat(…)`` itself, or a method of it: ``torch.cat(…).contiguous()``.
        while (
            value is not None
            and value[0] == "call"
            and value[1] is not None
            and value[1][0] == "attr"
        ):
            value = value[1][1]
        if value is not None and value[0] == "call" and len(value) > 4:
            targets.setdefault((definition.scope, value[4]), definition.name)
    return targets


def _in_loop(event: Event, view: ModuleView) -> bool:
    return any(view.facts.loops[i].kind != "comprehension" for i in view.ctx(event).loops)


def _loop(event: Event, view: ModuleView, target: str) -> Confidence | None:
    """How surely the loop around is one over steps and not over the layers of a network."""
    loops = [
        loop
        for loop in (view.facts.loops[i] for i in view.ctx(event).loops)
        if loop.kind != "comprehension"
    ]
    if not loops:
        return None
    over = loops[-1].over
    text = _all_names(over, view)
    if loops[-1].kind == "for" and (_LAYERS.search(text) or not _counts(over)):
        return None  # over the layers, or over things of which there are as many each time
    hot = view.hot(event)
    if "runs the model" in hot or _TOKENS.search(target):
        return LIKELY if hot or loops[-1].kind == "while" else POSSIBLE
    return None


def _counts(over: Value, depth: int = 0) -> bool:
    """Whether a loop goes over numbers of steps: ``range(…)``, ``tqdm(range(…))``, ``count()``."""
    if over is None or depth > 4:
        return False
    if over[0] == "call" and over[1] is not None:
        if str(over[1][-1]).rpartition(".")[2] in (
            "range",
            "count",
            "trange",
            "arange",
            "linspace",
        ):
            return True
        return any(_counts(value, depth + 1) for value in over[2])
    return over[0] in ("v", "param", "attr")


def _all_names(value: Value, view: ModuleView, depth: int = 0) -> str:
    """Every name that occurs in a value, in one text."""
    if value is None or depth > 5:
        return ""
    if value[0] in ("v", "param"):
        return local_name(view, value)
    if value[0] == "ref":
        return "" if str(value[1]).startswith("builtins.") else str(value[1])
    if value[0] == "attr":
        return f"{_all_names(value[1], view, depth + 1)} {value[2]}"
    if value[0] == "call":
        return " ".join(_all_names(v, view, depth + 1) for v in (value[1], *value[2]))
    if value[0] in ("item", "elem", "neg", "unpack"):
        return _all_names(value[1], view, depth + 1)
    if value[0] == "bin":
        return " ".join(_all_names(v, view, depth + 1) for v in value[2:])
    if value[0] == "self":
        return ""
    return ""
