"""What the audit says of every sample, line by line, in files that people read in reviews.

    UPDATE_SNAPSHOTS=1 pytest tests/test_sample_findings.py

renews them; their diff is what a change of rules or understanding does.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from neuronport.audit import audit_serially
from neuronport.findings import Finding
from neuronport.targets import resolve
from neuronport.workspace import open_workspace

ROOT = Path(__file__).parents[1]
SNAPSHOTS = Path(__file__).parent / "snapshots"
SAMPLES = sorted(
    p.parent / p.name.removesuffix(".expected.tsv") for p in (ROOT / "samples").glob("*.tsv")
)
TARGETS = {"native": resolve("native@2.33"), "xla": resolve("xla@2.31")}


def row(finding: Finding) -> str:
    words = [
        f"{path} {finding.by_target[str(target)].verdict}"
        for path, target in TARGETS.items()
        if str(target) in finding.by_target
    ]
    place = f"{finding.location.path}:{finding.location.line}"
    return f"{place}  {finding.rule}  {', '.join(words)}  {finding.confidence}"


def rendered(sample: Path) -> str:
    python = open_workspace([str(sample)]).of_kind("python", "stub")
    part = audit_serially(python, list(TARGETS.values()), lambda phase: None)
    assert not part.not_looked_at
    lines = ["# findings: place, rule, verdict on each path, confidence"]
    lines += [row(f) for f in part.findings]
    lines += ["", "# references: harmless, or portable as it is"]
    lines += [row(f) for f in part.references]
    return "\n".join(lines) + "\n"


def snapshot(sample: Path) -> Path:
    return SNAPSHOTS / f"{sample.name}.txt"


def test_every_sample_is_labelled():
    assert {p.name for p in SAMPLES} == {p.name for p in (ROOT / "samples").iterdir() if p.is_dir()}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_the_findings_of_the_sample(sample):
    said = rendered(sample)
    if os.environ.get("UPDATE_SNAPSHOTS"):
        snapshot(sample).write_text(said, encoding="utf-8", newline="\n")
    assert said == snapshot(sample).read_text(encoding="utf-8"), "UPDATE_SNAPSHOTS=1 renews it"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_the_snapshot_is_of_the_sample(sample):
    """Every place it names is there, and holds what a finding can be about."""
    text = snapshot(sample).read_text(encoding="utf-8")
    rows = [x for x in text.splitlines() if x and x[0] != "#"]
    assert len(rows) > 20
    for line in rows:
        path, _, number = line.partition("  ")[0].partition(":")
        source = (sample / path).read_text(encoding="utf-8").splitlines()
        assert source[int(number) - 1].strip(), line
