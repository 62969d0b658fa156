"""Every rule and row fires where its cases say, and nowhere else in them."""

from __future__ import annotations

from collections import defaultdict

import pytest

from neuronport.rulebook.load import whole_rulebook
from neuronport.rulebook.model import Fixture, Spec
from tests.rules.judging import judge_files

BOOK = whole_rulebook()
SPECS = sorted(BOOK.all(), key=lambda s: s.id)
FILES = sorted({spec.file for spec in SPECS})


def places(spec: Spec, fixture: Fixture, found) -> set[int]:
    """The lines of a case where the spec spoke."""
    code = fixture.code.splitlines()
    return {
        f.location.line
        for f in found
        # What a rule that says more says in its place counts for it.
        if (f.rule == spec.id or spec.id in BOOK.get(f.rule).supersedes)
        and (not fixture.target or any(t.startswith(fixture.target) for t in f.by_target))
        # Importing a name is reported beside its uses; cases that are about that list the line.
        and (
            spec.on == "import"
            or f.location.line in fixture.lines
            or not code[f.location.line - 1].startswith(("from ", "import "))
        )
    }


@pytest.mark.parametrize("file", FILES)
def test_fires_where_its_cases_say_and_nowhere_else(file, tmp_path):
    cases: dict[str, tuple[Spec, Fixture, bool]] = {}
    for spec in (s for s in SPECS if s.file == file):
        assert spec.fires, f"{spec.id} has no case where it fires"
        assert len(spec.silent) >= 2, f"{spec.id} has fewer than two cases where it must not fire"
        assert len(spec.silent) >= len(spec.fires), f"{spec.id}: more silent than firing cases"
        for fixture in (*spec.fires, *spec.silent):
            # A folder each, so that no case sees another's modules.
            cases[f"case{len(cases)}/{fixture.file}"] = (spec, fixture, fixture in spec.fires)
    part = judge_files(tmp_path, {name: fixture.code for name, (_, fixture, _) in cases.items()})
    assert not part.not_looked_at, "a case does not parse"
    found = defaultdict(list)
    for finding in (*part.findings, *part.references):
        found[finding.location.path].append(finding)
    wrong = []
    for name, (spec, fixture, fires) in cases.items():
        seen = places(spec, fixture, found[name])
        wanted = set(fixture.lines) if fires else set()
        if seen != wanted:
            wrong.append(f"{spec.id}: lines {sorted(wanted)}, found {sorted(seen)}\n{fixture.code}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("file", FILES)
def test_every_verdict_has_evidence(file):
    for spec in (s for s in SPECS if s.file == file):
        assert spec.verdicts, f"{spec.id} has no verdict"
        for path in spec.verdicts:
            assert spec.evidence_for(path), f"{spec.id} says something of {path} without evidence"
