"""Rotary embeddings by complex numbers in real ones: the table keeps the angles.

``torch.polar(torch.ones_like(a), a)`` becomes the angles ``a``, which have the shape that the complex
numbers had, so that slicing, viewing and handing on stay as they are; ``view_as_complex(x)`` becomes the
pairs themselves, and the product a function of the seam that turns pairs by angles. All files of a
project that have to do with the table are rewritten together or not at all. Under review: the sums are
the same up to rounding, cosine and sine are computed at each use, and a table in a module's buffers is
kept out of checkpoints, for those that exist hold the complex one.

By hand: complex numbers of other lengths, Fourier transforms, modules that are cast as a whole to half
precision (which would round the angles).
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Left
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.codemods.engine.turns import RULE, Turns, turns
from neuronport.findings import Finding, FixSafety

TITLE = "Turn pairs of real numbers by angles"
_WAYS = (
    "pairs of real numbers: (x * cos - y * sin, x * sin + y * cos), stacked in a last dimension",
    "cos and sin computed once on the host and kept as two real buffers",
    "x * cos + rotate_half(x) * sin, with the weights permuted once",
)
_KNOWN: WeakKeyDictionary[Project, tuple[Turns, list[Change]]] = WeakKeyDictionary()


def fix(finding: Finding, source: Source, project: Project) -> Any:
    if patterns.is_skipped(finding):
        return None
    if project not in _KNOWN:
        found = turns(project)
        _KNOWN[project] = (found, _changes(found, project))
    found, changes = _KNOWN[project]
    mine = [c for c in changes if c.finding is finding]
    if not mine:
        return Left(finding, "by-hand", found.reason or "no table of angles goes here", _WAYS)
    return changes


def _changes(found: Turns, project: Project) -> list[Change]:
    """One change for each place, all of one group; none, where a place is no finding."""
    places: dict[tuple[str, int], Finding] = {}
    for path in {path for path, _ in found.edits}:
        source = project.source(path)
        for finding in project.findings.get(path, ()) if source is not None else ():
            if source is not None and finding.rule == RULE and not patterns.is_skipped(finding):
                places[path, source.place(finding.location)[0]] = finding
    if not found.edits.keys() <= places.keys():
        found.reason = found.reason or "a place that belongs to it is left out"
        return []
    spans = {}
    for key, finding in places.items():
        source = project.source(key[0])
        spans[key] = (source.place(finding.location),) if source is not None else ()
    return [
        Change(
            places[key],
            "complex-rotary",
            FixSafety.REVIEW,
            TITLE,
            tuple(dict.fromkeys(edits)),
            group="rotary",
            covers=spans[key],
            note=found.note,
        )
        for key, edits in sorted(found.edits.items())
    ]
