"""Summaries that tell who listens what of them is consulted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neuronport.source.summary import Summary
from neuronport.source.telling import ALL, Classes, Entries, Listener, Rows, Teller


class Watched(Summary):
    """A summary that tells the index what of it is consulted."""

    __slots__ = ("_listener", "plain")

    def __init__(self, plain: Summary, listener: Listener) -> None:
        self.path = plain.path
        self.module = plain.module
        self.plain = plain
        """What tells nobody."""
        self._listener = listener

    @property
    def stars(self) -> tuple[str, ...]:  # type: ignore[override]
        self._teller("stars").tell(ALL)
        return self.plain.stars

    def packages(self) -> set[str]:
        self._teller("packages").tell(ALL)
        return self.plain.packages()

    def __getattr__(self, name: str) -> Any:
        part = getattr(self.plain, name)
        form = _FORMS.get(name)
        if form is not None:
            kind, telling = form
            part = telling(part, self._teller(kind))
        setattr(self, name, part)
        return part

    def _teller(self, kind: str) -> Teller:
        return Teller(self._listener, self.module, kind)


_FORMS: dict[str, tuple[str, Callable[[Any, Teller], Any]]] = {
    "exports": ("export", Entries),
    "functions": ("function", Entries),
    "classes": ("class", Classes),
    "definitions": ("definition", Rows),
}
"""Part of a summary → kind of the things in it, and what tells of them."""
