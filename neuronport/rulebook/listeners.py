"""Which detectors an event is shown to. Most events concern none, so this decides how long an audit
takes: what is asked of a name is asked once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from neuronport.detectors import Detector
from neuronport.readers.python.facts import Event


class Listeners:
    """The detectors by the kinds, names and keywords they asked for."""

    def __init__(self, chosen: Iterable[Detector]) -> None:
        self._by_kind: dict[str, list[Detector]] = {}
        self._keywords: dict[str, dict[str, list[Detector]]] = {}
        self._names: dict[tuple[str, str], tuple[Detector, ...]] = {}
        self._patterns: dict[str, re.Pattern[str]] = {}
        for detector in chosen:
            if detector.pattern:
                self._patterns[detector.rule] = re.compile(detector.pattern)
            for kind in sorted(detector.events):
                self._by_kind.setdefault(kind, []).append(detector)
                for keyword in sorted(detector.with_):
                    by_keyword = self._keywords.setdefault(kind, {})
                    by_keyword.setdefault(keyword, []).append(detector)

    def to(self, event: Event, name: str) -> Sequence[Detector]:
        """The detectors for an event; ``name`` is its name, canonical where it is a dotted one."""
        key = (event.kind, name)
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = self._named(*key)
        if not event.kwargs:
            return found
        by_keyword = self._keywords.get(event.kind)
        if by_keyword is None:
            return found
        more = {
            detector.rule: detector
            for keyword, _ in event.kwargs
            for detector in by_keyword.get(keyword or "", ())
        }
        for detector in found:
            more.pop(detector.rule, None)
        return [*found, *more.values()] if more else found

    def _named(self, kind: str, name: str) -> tuple[Detector, ...]:
        last = name.rpartition(".")[2]
        return tuple(d for d in self._by_kind.get(kind, ()) if self._wants(d, kind, name, last))

    def _wants(self, detector: Detector, kind: str, name: str, last: str) -> bool:
        if kind not in detector.only:
            return True
        if last in detector.only[kind]:
            return True
        pattern = self._patterns.get(detector.rule)
        return pattern is not None and pattern.search(name) is not None
