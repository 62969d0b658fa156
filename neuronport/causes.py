"""Findings of one cause: a choice of CUDA, what asks about it, and the places that it reaches.

A choice is a finding of its own; the findings that only ask what was chosen (``if use_cuda:``,
``device.type == "cuda"``) belong to it, and so do the places where the chosen device arrives, which
are no findings: they work as soon as the choice knows Neuron.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from neuronport.findings import Finding, Related
from neuronport.source.reach import Reach

CHOICES = (
    "cuda-or-cpu-choice",
    "hardcoded-cuda-device",
    "cuda-default-device",
    "api/torch.cuda.is_available",
)
"""Rules that speak of a choice, those that say most about it first."""
CONSEQUENCES = frozenset(["cuda-availability-gate", "cuda-device-gate", "cuda-flag"])
"""Rules that speak of what follows from it."""
_STATEMENT = 4


def group(
    findings: Sequence[Finding], reaches: Iterable[tuple[str, Reach]]
) -> tuple[list[Finding], dict[str, tuple[Related, ...]]]:
    """The findings with their groups, and group → the places that its choice reaches.

    ``reaches``: the file of a place, and what is known of it.
    """
    choices: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.rule in CHOICES and not finding.group:
            choices.setdefault(finding.location.path, []).append(finding)
    for rows in choices.values():
        rows.sort(key=lambda f: (f.location.line, CHOICES.index(f.rule), f.location.column))
    places: dict[tuple[str, int, str], set[tuple[str, int, str]]] = {}
    arrives: dict[tuple[str, int], tuple[str, int, str]] = {}
    for path, reach in reaches:
        root = _choice(choices, reach.path, reach.first, reach.last)
        if root is None or (path, reach.line) == _at(root):
            continue
        places.setdefault(_key(root), set()).add((path, reach.line, reach.says))
        # A place that two choices reach asks about both; it is counted with the first.
        known = arrives.get((path, reach.line))
        arrives[path, reach.line] = min(known, _key(root)) if known else _key(root)
    belongs: dict[int, tuple[str, int, str]] = {}
    for i, finding in enumerate(findings):
        if finding.rule not in CONSEQUENCES or finding.group:
            continue
        root = None
        for step in finding.related[-1:]:
            root = _choice(choices, step.path, step.line, step.line + _STATEMENT)
        key = _key(root) if root is not None else arrives.get(_at(finding))
        if key is None or key[:2] == _at(finding):
            continue
        belongs[i] = key
        places.setdefault(key, set()).add((*_at(finding), "asks what was chosen"))
    named = {key: f"{key[2]}/{key[0]}:{key[1]}" for key in places}
    grouped = [
        replace(finding, group=named[key])
        if (key := belongs.get(i, _key(finding))) in named
        and (i in belongs or finding.rule in CHOICES)
        and not finding.group
        else finding
        for i, finding in enumerate(findings)
    ]
    return grouped, {named[key]: _steps(rows) for key, rows in places.items()}


def _choice(
    choices: Mapping[str, Sequence[Finding]], path: str, first: int, last: int
) -> Finding | None:
    """The first choice in some lines of a file."""
    for finding in choices.get(path, ()):
        if first <= finding.location.line <= last:
            return finding
    return None


def _at(finding: Finding) -> tuple[str, int]:
    return finding.location.path, finding.location.line


def _key(finding: Finding) -> tuple[str, int, str]:
    return (*_at(finding), finding.rule)


def _steps(rows: Iterable[tuple[str, int, str]]) -> tuple[Related, ...]:
    """One step for each line, by place."""
    by_line: dict[tuple[str, int], list[str]] = {}
    for path, line, says in sorted(rows):
        by_line.setdefault((path, line), []).append(says)
    return tuple(Related(path, line, ", ".join(says)) for (path, line), says in by_line.items())
