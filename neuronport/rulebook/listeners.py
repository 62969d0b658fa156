"""Which detectors an event is shown to. Most events concern none, so this decides how long an audit
takes: what is asked of a name is asked once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from operator import itemgetter

from neuronport.detectors import Detector
from neuronport.readers.python.facts import Event


class Listeners:
    """The detectors by the kinds, names and keywords they asked for."""

    def __init__(self, chosen: Iterable[Detector]) -> None:
        self._by_name: dict[tuple[str, str], list[tuple[int, Detector]]] = {}
        """Kind and (last part of the) name → those that hear of nothing else, with their number."""
        self._asked: dict[str, list[tuple[int, Detector]]] = {}
        """Kind → those of which more than the name decides, likewise."""
        self._keywords: dict[str, dict[str, list[Detector]]] = {}
        self._patterns: dict[str, re.Pattern[str]] = {}
        for number, detector in enumerate(chosen):
            if detector.pattern:
                self._patterns[detector.rule] = re.compile(detector.pattern)
            for kind in sorted(detector.events):
                if kind in detector.only and not detector.pattern:
                    for name in detector.only[kind]:
                        by_name = self._by_name.setdefault((kind, name), [])
                        by_name.append((number, detector))
                else:
                    self._asked.setdefault(kind, []).append((number, detector))
                for keyword in sorted(detector.with_):
                    by_keyword = self._keywords.setdefault(kind, {})
                    by_keyword.setdefault(keyword, []).append(detector)

    def by_keyword(self, event: Event, heard: tuple[Detector, ...]) -> tuple[Detector, ...]:
        """Those who hear of an event anyway, and those who do for a keyword it has."""
        by_keyword = self._keywords.get(event.kind)
        if by_keyword is None:
            return heard
        more = {
            detector.rule: detector
            for keyword, _ in event.kwargs
            for detector in by_keyword.get(keyword or "", ())
        }
        for detector in heard:
            more.pop(detector.rule, None)
        return (*heard, *more.values()) if more else heard

    def named(self, kind: str, name: str) -> tuple[Detector, ...]:
        """The detectors for events of a kind; ``name``: canonical where it is a dotted one."""
        last = name.rpartition(".")[2]
        heard = [
            *self._by_name.get((kind, last), ()),
            *(n for n in self._asked.get(kind, ()) if self._wants(n[1], kind, name, last)),
        ]
        heard.sort(key=itemgetter(0))
        return tuple(detector for _, detector in heard)

    def _wants(self, detector: Detector, kind: str, name: str, last: str) -> bool:
        if detector.speaks_of is not None and not detector.speaks_of(kind, name):
            return False
        if kind not in detector.only:
            return True
        if last in detector.only[kind]:
            return True
        pattern = self._patterns.get(detector.rule)
        return pattern is not None and pattern.search(name) is not None
