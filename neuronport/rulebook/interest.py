"""What the reader has to look for: derived from the rows and the detectors, so that nothing a rule
could match is dropped before the rule sees it."""

from __future__ import annotations

from neuronport import detectors
from neuronport.readers.python.facts import Interest
from neuronport.rulebook.model import Rulebook
from neuronport.source import hot
from neuronport.source.truth import conditions


def interest(book: Rulebook) -> Interest:
    roots: set[str] = set()
    methods: set[str] = {*book.methods, *hot.METHODS}
    keywords: set[str] = set()
    names: set[str] = set()
    strings: list[str] = []
    for spec in book.rows.values():
        roots.add(spec.name.partition(".")[0])
    for name in conditions()["false"]:
        roots.add(name.partition(".")[0])
    for detector in detectors.all_detectors().values():
        roots |= detector.roots
        methods |= detector.methods
        keywords |= detector.keywords
        names |= detector.names
        if detector.strings:
            strings.append(f"(?:{detector.strings})")
    return Interest(
        frozenset(roots),
        frozenset(methods),
        frozenset(keywords),
        "|".join(sorted(set(strings))) or r"(?!)",
        frozenset(names),
    )
