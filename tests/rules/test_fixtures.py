"""Every rule and row fires where its fixtures say, and nowhere else in them."""

from __future__ import annotations

import pytest

from neuronport.rulebook.load import rulebook
from neuronport.rulebook.model import Fixture, Spec
from tests.rules.judging import judge_files

BOOK = rulebook()
SPECS = sorted(BOOK.all(), key=lambda s: s.id)


def lines_of(spec: Spec, fixture: Fixture, folder) -> set[int]:
    part = judge_files(folder, {fixture.file: fixture.code})
    assert not part.not_looked_at, f"{spec.id}: the fixture does not parse: {fixture.code}"
    code = fixture.code.splitlines()
    return {
        f.location.line
        for f in (*part.findings, *part.references)
        if f.rule == spec.id
        # Importing a name is reported beside its uses; rows about imports are of a kind of their own.
        and (spec.on == "import" or not code[f.location.line - 1].startswith(("from ", "import ")))
        and (not fixture.target or any(t.startswith(fixture.target) for t in f.by_target))
    }


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.id)
def test_fires_and_stays_silent(spec, tmp_path):
    assert spec.fires, f"{spec.id} has no case where it fires"
    assert len(spec.silent) >= 2, f"{spec.id} has fewer than two cases where it must not fire"
    assert len(spec.silent) >= len(spec.fires), f"{spec.id}: more silent cases than firing ones"
    for i, fixture in enumerate(spec.fires):
        assert lines_of(spec, fixture, tmp_path / f"fires{i}") == set(fixture.lines), fixture.code
    for i, fixture in enumerate(spec.silent):
        assert not lines_of(spec, fixture, tmp_path / f"silent{i}"), fixture.code


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.id)
def test_every_verdict_has_evidence(spec):
    assert spec.verdicts, f"{spec.id} has no verdict"
    for path in spec.verdicts:
        assert spec.evidence_for(path), f"{spec.id} says something of {path} without evidence"
