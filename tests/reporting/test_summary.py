from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronport.findings import (
    Confidence,
    Context,
    Effort,
    Fix,
    FixSafety,
    Level,
    NotLookedAt,
    Related,
    Role,
    Verdict,
)
from neuronport.reporting import Tree, counts, summarize
from neuronport.reporting.joined.model import _blockers
from neuronport.reporting.summary import EffortRange, Ratio, duration, shown_level

from .sample import NATIVE, XLA, finding, judged, nothing, sample


def places(number: int, **changes: object) -> list:  # type: ignore[type-arg]
    return [finding(span=(n + 1, 1, 2), **changes) for n in range(number)]  # type: ignore[arg-type]


def test_it_is_made_once() -> None:
    audit = sample()
    assert summarize(audit) is summarize(audit)
    assert summarize(audit) is not summarize(sample())


def test_causes_rank_by_what_is_sure_then_by_level_then_by_work() -> None:
    unsure = {str(NATIVE): judged(Verdict.BREAKS, Confidence.POSSIBLE)}
    likely = {str(NATIVE): judged(Verdict.BREAKS, Confidence.LIKELY)}
    audit = nothing(
        findings=[
            *places(9, rule="slow-many", verdict=Verdict.SLOW),
            *places(8, rule="possible-many", by_target=unsure, effort=Effort.HOURS),
            *places(2, rule="breaks-two"),
            *places(1, rule="breaks-one"),
            *places(1, rule="breaks-one-likely", by_target=likely),
            *places(1, rule="breaks-for-days", by_target=likely, effort=Effort.DAYS),
            *places(1, rule="breaks-the-design", effort=Effort.REDESIGN),
        ]
    )
    assert [g.key for g in summarize(audit).groups] == [
        "breaks-the-design",
        "breaks-for-days",
        "breaks-two",
        "breaks-one",
        "breaks-one-likely",
        "slow-many",
        "possible-many",
    ]


def test_a_cause_joins_rules_and_counts_each_verdict() -> None:
    guarded = {str(NATIVE): judged(Verdict.LOCKS_IN)}
    audit = nothing(
        findings=[
            finding("a", group="wrapper"),
            finding("b", span=(4, 1, 2), group="wrapper", by_target=guarded),
        ]
    )
    (group,) = summarize(audit).groups
    assert group.verdicts[str(NATIVE)] == {Verdict.BREAKS: 1, Verdict.LOCKS_IN: 1}
    assert (group.rule, group.level, len(group.places)) == ("a", Level.ERROR, 2)


def test_other_roles_are_apart_unless_asked() -> None:
    audit = sample()
    summary = summarize(audit)
    assert summary.by_role == {Role.TEST: 1, Role.VENDORED: 1}
    assert not {f.location.path for f in summary.counted} & {"tests/test_train.py"}
    asked = replace(audit, fail_roles=frozenset(Role))
    assert summarize(asked).by_role == {}
    assert summarize(asked).failing == summary.failing + 2
    assert len(summary.ranked) == len(audit.findings) == len(summarize(asked).ranked)


@pytest.mark.parametrize(
    ("verdict", "confidence", "role", "fail_on", "expected"),
    [
        (Verdict.BREAKS, Confidence.CERTAIN, Role.CODE, Level.ERROR, True),
        (Verdict.BREAKS, Confidence.LIKELY, Role.CODE, Level.ERROR, True),
        (Verdict.BREAKS, Confidence.POSSIBLE, Role.CODE, Level.ERROR, False),
        (Verdict.BREAKS, Confidence.CERTAIN, Role.TEST, Level.ERROR, False),
        (Verdict.SLOW, Confidence.CERTAIN, Role.CODE, Level.ERROR, False),
        (Verdict.SLOW, Confidence.CERTAIN, Role.CODE, Level.WARNING, True),
        (Verdict.LOCKS_IN, Confidence.CERTAIN, Role.CODE, Level.NOTE, True),
        (Verdict.BENIGN, Confidence.CERTAIN, Role.CODE, Level.NOTE, False),
    ],
)
def test_what_fails_a_run(
    verdict: Verdict, confidence: Confidence, role: Role, fail_on: Level, expected: bool
) -> None:
    one = finding(by_target={str(NATIVE): judged(verdict, confidence)}, context=Context(role=role))
    assert counts(one, nothing(fail_on=fail_on)) is expected


def test_nothing_fails_when_asked_for_no_level() -> None:
    assert not counts(finding(), nothing(fail_on=Level.NONE))


def test_what_cannot_fail_a_run_is_not_shown_as_an_error() -> None:
    audit = nothing()
    assert shown_level(finding(), audit) is Level.ERROR
    assert shown_level(finding(context=Context(role=Role.EXAMPLE)), audit) is Level.NOTE
    unsure = finding(by_target={str(NATIVE): judged(Verdict.BREAKS, Confidence.POSSIBLE)})
    assert shown_level(unsure, audit) is Level.WARNING


def effort_of(*findings: object) -> EffortRange:
    return summarize(nothing(findings=findings)).effort[Level.ERROR]


def test_effort_is_summed_as_a_range() -> None:
    assert effort_of(*places(1)) == EffortRange(1, 15, 0, 1)
    assert effort_of(*places(2, effort=Effort.HOURS)) == EffortRange(120, 480 + 60, 0, 2)
    assert effort_of(*places(1, effort=Effort.DAYS)) == EffortRange(480, 2400, 0, 1)


def test_one_cause_or_one_codemod_is_mended_once_at_best() -> None:
    assert effort_of(*places(5, group="wrapper")) == EffortRange(1, 15 + 4, 0, 5)
    # what the tool writes is only looked at; what a person has to judge is not
    safe, review = (Fix("seam", safety, "t") for safety in (FixSafety.SAFE, FixSafety.REVIEW))
    assert effort_of(*places(5, fix=safe)) == EffortRange(1, 5, 0, 5)
    assert effort_of(*places(5, fix=review)) == EffortRange(1, 15 + 4, 0, 5)


def test_another_place_of_one_cause_is_mended_like_the_first() -> None:
    assert effort_of(*places(3)) == EffortRange(3, 15 + 2, 0, 3)
    two_causes = [*places(2, rule="a"), *places(2, rule="b")]
    assert effort_of(*two_causes) == EffortRange(4, 2 * 15 + 2, 0, 4)
    # minutes that were spent teach nothing of the hours
    mixed = [*places(1), *places(1, effort=Effort.HOURS)]
    assert effort_of(*mixed) == EffortRange(61, 15 + 480, 0, 2)


def test_redesigns_are_counted_not_summed() -> None:
    got = effort_of(*places(2, effort=Effort.REDESIGN), *places(1))
    assert got == EffortRange(1, 15, 2, 3)
    assert str(got) == "1 to 15 min plus 2 redesigns"
    assert str(effort_of(*places(4, effort=Effort.REDESIGN, group="kernel"))) == "1 redesign"


@pytest.mark.parametrize(
    ("minutes", "shown"),
    [
        (1, "1 min"),
        (59, "59 min"),
        (60, "1 h"),
        (90, "1.5 h"),
        (480, "8 h"),
        (960, "2 days"),
        (48_000, "100 days"),
    ],
)
def test_durations(minutes: int, shown: str) -> None:
    assert duration(minutes) == shown


@given(st.lists(st.sampled_from(Effort), min_size=1, max_size=40), st.booleans())
def test_the_range_is_a_range(efforts: list[Effort], grouped: bool) -> None:
    got = effort_of(
        *(
            finding(span=(n + 1, 1, 2), effort=e, group="g" if grouped else "")
            for n, e in enumerate(efforts)
        )
    )
    assert 0 <= got.low <= got.high
    assert got.places == len(efforts)
    assert (got.redesigns > 0) == (Effort.REDESIGN in efforts)


def test_the_ratio_is_per_target_and_counts_one_place_once() -> None:
    ratio = summarize(sample()).ratio
    assert ratio[str(NATIVE)] == Ratio(portable=1, benign=1, findings=13)
    # What falls back on one target is portable on the other.
    assert ratio[str(XLA)] == Ratio(portable=2, benign=1, findings=12)


def test_the_ratio_is_rounded_down_and_absent_without_places() -> None:
    assert Ratio(999, 0, 1).percent == 99
    assert Ratio(1, 0, 0).percent == 100
    assert Ratio(0, 0, 0).percent is None
    assert summarize(nothing()).ratio[str(NATIVE)].percent is None


def test_references_of_tests_are_left_out_of_the_ratio() -> None:
    works = finding(verdict=Verdict.PORTABLE)
    audit = nothing(references=[works, replace(works, context=Context(role=Role.TEST))])
    assert summarize(audit).ratio[str(NATIVE)].works == 1


def test_what_was_not_looked_at_is_counted_by_reason() -> None:
    missing = [NotLookedAt("a", "x"), NotLookedAt("b", "y"), NotLookedAt("c", "y")]
    summary = summarize(nothing(not_looked_at=missing, tree=Tree("p", 10, 4, 1)))
    assert summary.not_looked_at == {"y": 2, "x": 1}
    assert summary.unread == 3


def test_files_and_areas_come_worst_first() -> None:
    audit = nothing(
        findings=[
            *places(5, rule="s", path="slow.py", verdict=Verdict.SLOW, area="b"),
            *places(1, rule="e", path="breaks.py", area="a"),
        ]
    )
    summary = summarize(audit)
    assert list(summary.by_file) == ["breaks.py", "slow.py"]
    assert list(summary.by_area) == ["a", "b"]


def test_a_choice_on_which_others_rest_comes_before_more_work() -> None:
    reach = [Related("other.py", n, "given to .to()") for n in (1, 2)]
    audit = nothing(
        findings=[
            *places(1, rule="kernel", effort=Effort.DAYS),
            *places(9, rule="work", effort=Effort.HOURS),
            *places(1, rule="choice", group="choice/a.py:1"),
        ],
        reaches={"choice/a.py:1": reach},
    )
    groups = summarize(audit).groups
    assert [g.key for g in groups] == ["kernel", "choice/a.py:1", "work"]
    assert groups[1].reach == reach


def test_what_falls_back_counts_as_much_as_what_breaks() -> None:
    """As docs/using.md says; the blockers of a report's page put what breaks first."""
    reach = [Related("other.py", n, "given to .to()") for n in range(1, 40)]
    audit = nothing(
        findings=[
            *places(1, rule="breaks", path="b.py"),
            *places(1, rule="a-fallback", path="a.py", verdict=Verdict.FALLS_BACK),
            *places(1, rule="choice", group="choice/c.py:1", verdict=Verdict.FALLS_BACK),
        ],
        reaches={"choice/c.py:1": reach},
    )
    groups = summarize(audit).groups
    assert [g.key for g in groups] == ["choice/c.py:1", "breaks", "a-fallback"]
    assert [groups[i].key for i in _blockers(groups)] == ["breaks", "choice/c.py:1", "a-fallback"]
