"""The words by which findings are chosen: rules, prefixes, groups, areas, verdicts, codemods."""

from __future__ import annotations

import re

from neuronport.findings import Finding, Verdict
from neuronport.rulebook.model import Rulebook

_MOST_SLASHES = 4
"""Before the cause: the id of a row has one or two."""


def fits(word: str, finding: Finding) -> bool:
    """Whether a word of ``--select``, ``--ignore`` or a suppression is about a finding."""
    if word in (finding.rule, finding.area, finding.group, finding.verdict.value):
        return True
    if finding.fix is not None and word == finding.fix.codemod:
        return True
    if word.endswith("*"):
        return finding.rule.startswith(word[:-1])
    return word.endswith("/") and finding.rule.startswith(word)


def is_known(word: str, book: Rulebook) -> bool:
    """Whether a word can be about any finding at all."""
    if word in book.areas or word in set(Verdict) or book.get(word) is not None:
        return True
    if word.endswith(("*", "/")):
        prefix = word.rstrip("*")
        return any(rule.startswith(prefix) for rule in book.ids())
    return group_rule(word, book) != "" or word in codemod_names(book)


GROUPED = frozenset(("host-read", "operator-support"))
"""Rules whose detectors name causes; those of choices are named for their place."""
_PLACE = re.compile(r".*[^/]:[1-9][0-9]*", re.DOTALL)


def group_rule(word: str, book: Rulebook) -> str:
    """The rule of a group's id, ``RULE/CAUSE`` as reports print it; empty: it is none."""
    from neuronport.causes import CHOICES

    parts = word.split("/")
    for end in range(1, min(len(parts), _MOST_SLASHES)):
        rule, cause = "/".join(parts[:end]), "/".join(parts[end:])
        if cause and book.get(rule) is not None:
            named = rule in GROUPED or (rule in CHOICES and _PLACE.fullmatch(cause))
            return rule if named else ""
    return ""


def codemod_names(book: Rulebook) -> frozenset[str]:
    """The rewrites that rules name."""
    return frozenset(spec.fix.codemod for spec in book.all() if spec.fix is not None)
