"""Findings of one cause: a choice of CUDA, what asks about it, and the places that it reaches.

A choice is a finding of its own; the findings that only ask what was chosen (``if use_cuda:``,
``device.type == "cuda"``) belong to it, and so do the places where the chosen device arrives, which
are mostly no findings: they work as soon as the choice knows Neuron. A choice that an ``if``
statement makes is one as well: the condition stands for it, with the devices named in its branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from neuronport.findings import ASKED_TOO, DECIDES, OTHERWISE, Finding, Related, Verdict
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
QUESTIONS = ("api/torch.cuda.is_available", "api/torch.cuda.device_count")
"""Rules that speak of a question which a condition may choose by."""
CHOSEN = "CUDA or the CPU: a Neuron chip is never chosen"
"""What a condition decides that is a choice, in words."""
_FOLLOWED = "cuda-availability-gate"
"""Its steps lead to the question that was asked."""
_LED = ("hardcoded-cuda-device", "accelerator-branch", "cpu-device")
"""Rules that speak of a part of a choice that a condition makes."""
_STATEMENT = 4

_Key: TypeAlias = "tuple[str, int, str]"
"""Of a choice: file, line, rule."""


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
    places: dict[_Key, set[tuple[str, int, str]]] = {}
    arrives: dict[tuple[str, int], _Key] = {}
    for path, reach in reaches:
        root = _choice(choices, reach.path, reach.first, reach.last)
        if root is None or (path, reach.line) == _at(root):
            continue
        places.setdefault(_key(root), set()).add((path, reach.line, reach.says))
        # A place that two choices reach asks about both; it is counted with the first.
        known = arrives.get((path, reach.line))
        arrives[path, reach.line] = min(known, _key(root)) if known else _key(root)
    belongs: dict[int, _Key] = {}
    for i, finding in enumerate(findings):
        if finding.rule not in CONSEQUENCES or finding.group:
            continue
        root = None
        if finding.rule == _FOLLOWED:
            for step in finding.related[-1:]:
                root = _choice(choices, step.path, step.line, step.line + _STATEMENT)
        key = _key(root) if root is not None else arrives.get(_at(finding))
        if key is None or key[:2] == _at(finding):
            continue
        belongs[i] = key
        places.setdefault(key, set()).add((*_at(finding), "asks what was chosen"))
    leads = _led(findings, belongs)
    belongs = {i: _lead(key, leads) for i, key in belongs.items()}
    merged: dict[_Key, set[tuple[str, int, str]]] = {}
    for key, reached in places.items():
        lead = _lead(key, leads)
        merged.setdefault(lead, set()).update(row for row in reached if row[:2] != lead[:2])
    for i, finding in enumerate(findings):
        if i not in belongs and not finding.group and _key(finding) in leads:
            belongs[i] = _lead(_key(finding), leads)
    named = {key: f"{key[2]}/{key[0]}:{key[1]}" for key in (*merged, *belongs.values())}
    grouped = [
        replace(finding, group=named[key])
        if (key := belongs.get(i, _key(finding))) in named and not finding.group
        else finding
        for i, finding in enumerate(findings)
    ]
    return grouped, {name: _steps(merged.get(key, ())) for key, name in named.items()}


def _led(findings: Sequence[Finding], belongs: Mapping[int, _Key]) -> dict[_Key, _Key]:
    """Choice → the one that stands for it: ``device = "cuda"`` does what the condition above it
    says, and who asks for another accelerator beside it makes the same choice."""
    led = [
        (finding, step)
        for finding in findings
        if finding.rule in _LED and not finding.group
        for step in finding.related
        if step.says in (DECIDES, ASKED_TOO, OTHERWISE)
    ]
    asked: dict[tuple[str, int], list[int]] = {}
    paths = {step.path for _, step in led}
    for i, finding in enumerate(findings):
        if finding.location.path not in paths:
            continue
        if i in belongs or (finding.rule in QUESTIONS and finding.verdict is Verdict.FALLS_BACK):
            asked.setdefault(_at(finding), []).append(i)
    leads: dict[_Key, _Key] = {}
    for finding, step in led:
        last = step.line + _STATEMENT
        if step.says == DECIDES:
            last = min(last, finding.location.line)
        for line in range(step.line, last + 1):
            for i in asked.get((step.path, line), ()):
                leads.setdefault(_key(finding), belongs.get(i, _key(findings[i])))
    return leads


def _lead(key: _Key, leads: Mapping[_Key, _Key]) -> _Key:
    """The choice that stands for another, or itself."""
    seen = {key}
    while key in leads and leads[key] not in seen:
        key = leads[key]
        seen.add(key)
    return key


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
