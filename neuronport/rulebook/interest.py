"""What the reader has to look for: derived from the rows and the detectors, so that nothing a rule
could match is dropped before the rule sees it."""

from __future__ import annotations

import re

from neuronport import detectors
from neuronport.readers.python.facts import Interest
from neuronport.rulebook.model import Rulebook
from neuronport.source import hot
from neuronport.source.kinds import table
from neuronport.source.truth import conditions


def interest(book: Rulebook) -> Interest:
    roots: set[str] = set(book.roots)
    methods: set[str] = {*book.methods, *hot.METHODS, *table()["usage"]["methods"]}
    keywords: set[str] = set()
    names: set[str] = set()
    operands: set[str] = set()
    strings: list[str] = []
    modules: list[str] = []
    variables = [n.removeprefix("env:") for n in book.outside if n.startswith("env:")]
    keywords.update(n for n in variables if not n.endswith("*"))
    if variables:
        names_ = "|".join(sorted(re.escape(n).replace(r"\*", r"\w+") for n in variables))
        strings.append(rf"(?<!\w)(?:{names_})(?!\w)")
    programs = [n.removeprefix("command:") for n in book.outside if n.startswith("command:")]
    if programs:
        strings.append(rf"(?<![\w.-])(?:{'|'.join(sorted(map(re.escape, programs)))})(?![\w-])")
    for name in conditions()["false"]:
        roots.add(name.partition(".")[0])
    for detector in detectors.all_detectors().values():
        roots |= detector.roots
        methods |= detector.methods
        keywords |= detector.keywords
        names |= detector.names
        operands |= detector.operands
        if detector.modules:
            modules.append(f"(?:{detector.modules})")
        if detector.strings:
            strings.append(detector.strings)
    return Interest(
        frozenset(roots),
        frozenset(methods),
        frozenset(keywords),
        tuple(sorted(set(strings))),
        frozenset(names),
        frozenset(operands),
        "|".join(sorted(set(modules))) or r"(?!)",
    )
