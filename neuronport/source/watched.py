"""Summaries that tell who listens what of them is consulted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neuronport.source.summary import Summary
from neuronport.source.telling import ALL, Classes, Entries, Listener, Rows, Teller


class Watched(Summary):
    """A summary that tells the index what of it is consulted."""

    __slots__ = ("listener", "plain_stars")

    plain_stars: tuple[str, ...]
    listener: Listener | None

    @property
    def stars(self) -> tuple[str, ...]:
        if self.listener is not None:
            Teller(self.listener, self.module, "stars").tell(ALL)
        return self.plain_stars

    @stars.setter
    def stars(self, stars: tuple[str, ...]) -> None:
        self.listener = None
        self.plain_stars = stars

    def watch(self, listener: Listener) -> None:
        self.exports = Entries(self.exports, Teller(listener, self.module, "export"))
        self.listener = listener

    def __getattr__(self, name: str) -> Any:
        part = super().__getattr__(name)
        form = _FORMS.get(name)
        if form is not None:
            assert self.listener is not None
            kind, telling = form
            part = telling(part, Teller(self.listener, self.module, kind))
            setattr(self, name, part)
        return part

    def packages(self) -> set[str]:
        assert self.listener is not None
        assert isinstance(self.exports, Entries)
        Teller(self.listener, self.module, "packages").tell(ALL)
        return self._packages(self.exports.entries)


_FORMS: dict[str, tuple[str, Callable[[Any, Teller], Any]]] = {
    "functions": ("function", Entries),
    "classes": ("class", Classes),
    "definitions": ("definition", Rows),
}
"""Part of a summary → kind of the things in it, and what tells of them."""
