"""Looking for what is rare in very many short texts.

A regular expression of a hundred alternatives is tried at every character of every string of a
program, and hardly ever matches. Whether it can match at all is cheap to tell: patterns that begin
with ``^`` are tried once, and the others only where one of the words is there that a match of them
must contain, which are read off the patterns.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

_LEAST = 2
"""A word of fewer letters tells nothing."""
_REMEMBERED = 64
"""Length up to which texts are remembered: names and keys come again and again."""


def searcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """A function that says whether any of ``patterns`` matches somewhere in a text, as
    ``re.search`` with all of them does."""
    bound = [p for p in patterns if _is_bound(_parsed(p))]
    free = [p for p in patterns if p not in bound]
    at_start = re.compile(_any(bound)).match
    anywhere = re.compile(_any(free)).search
    words: list[str] | None = []
    for pattern in free:
        needed = _needed(_parsed(pattern))
        words = None if words is None or needed is None else [*words, *needed]
    shortest = None if words is None else _without_longer(words)

    def look(text: str) -> bool:
        if at_start(text) is not None:
            return True
        # Of other alphabets, letters with odd lower cases are not worth an argument.
        if shortest is not None and text.isascii():
            lower = text.lower()
            for word in shortest:
                if word in lower:
                    break
            else:
                return False
        return anywhere(text) is not None

    remembered = lru_cache(maxsize=1 << 16)(look)

    def search(text: str) -> bool:
        return remembered(text) if len(text) <= _REMEMBERED else look(text)

    return search


def _any(patterns: Iterable[str]) -> str:
    return "|".join(f"(?:{p})" for p in patterns) or r"(?!)"


def _without_longer(words: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for word in sorted(set(words), key=lambda w: (len(w), w)):
        if not any(shorter in word for shorter in kept):
            kept.append(word)
    return kept


def _parsed(pattern: str) -> list[tuple[Any, Any]]:
    """The items of a pattern; empty, so that nothing is known, where Python does not tell."""
    try:
        return list(importlib.import_module("re._parser").parse(pattern))
    except (ImportError, AttributeError):  # pragma: no cover - not in the Pythons of today
        return []


def _is_bound(items: Sequence[tuple[Any, Any]]) -> bool:
    """Whether a match can only be at the beginning."""
    if not items:
        return False
    kind, rest = str(items[0][0]), items[0][1]
    if kind == "AT":
        return str(rest) in ("AT_BEGINNING", "AT_BEGINNING_STRING")
    if kind == "SUBPATTERN":
        many_lines = rest[1] & re.MULTILINE
        return not many_lines and _is_bound(list(rest[-1]))
    if kind == "BRANCH":
        return all(_is_bound(list(branch)) for branch in rest[1])
    return False


def _needed(items: Iterable[tuple[Any, Any]]) -> list[str] | None:
    """Words of which every match contains one, in lower case; None: they cannot be told."""
    found: list[list[str]] = []
    run = ""
    for kind, rest in items:
        name = str(kind)
        if name == "LITERAL" and rest < 128:
            run += chr(rest).lower()
            continue
        if run:
            found.append([run])
            run = ""
        inner: list[str] | None = None
        if name == "SUBPATTERN":
            inner = _needed(rest[-1])
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            inner = _needed(rest[2]) if rest[0] else None
        elif name == "ATOMIC_GROUP":
            inner = _needed(rest)
        elif name == "BRANCH":
            parts = [_needed(branch) for branch in rest[1]]
            if all(part is not None for part in parts):
                inner = [word for part in parts for word in part or ()]
        if inner is not None:
            found.append(inner)
    if run:
        found.append([run])
    best = max(found, key=lambda words: min(map(len, words), default=0), default=None)
    if not best or min(map(len, best)) < _LEAST:
        return None
    return best
