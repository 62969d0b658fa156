"""What a person can do about a finding that is not written: what a codemod, its rule, the finding itself
and the table of operators know, the best first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neuronport.codemods.engine.model import Left
from neuronport.findings import Finding
from neuronport.operators import workarounds_for
from neuronport.rulebook.load import rulebook

_MOST = 4
_OPERATOR = "operator-support/"
_ENDED = frozenset(["suppressed", "declined", "done", "overlaps", "part-of-a-group"])
"""Reasons after which there is nothing to do, or another thing than the rule knows."""


def with_ways(left: Left) -> Left:
    """The same with the ways that its rule knows behind those it has."""
    if left.reason in _ENDED:
        return left
    found = dict.fromkeys((*left.ways, *_known(left.finding)))
    return replace(left, ways=tuple(found)[: max(_MOST, len(left.ways))])


def _known(finding: Finding) -> Iterator[str]:
    yield from dict.fromkeys(t.replacement for t in finding.by_target.values() if t.replacement)
    if finding.group.startswith(_OPERATOR):
        operator = finding.group.removeprefix(_OPERATOR)
        for target in finding.by_target:
            for workaround in workarounds_for(operator, target.partition("@")[0]):
                yield workaround.new.strip().replace("\n", "; ")
    spec = rulebook().get(finding.rule)
    if spec is not None:
        yield from spec.ways
