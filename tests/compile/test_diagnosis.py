from __future__ import annotations

import re

import pytest

from neuronport.compile.diagnosis import diagnose, rows

KINDS = {"documented", "source", "measured", "observed", "reported", "inferred"}
FIELDS = {"cause", "when", "remedy", "chips"}


def test_every_row_is_whole() -> None:
    codes = [row.code for row in rows()]
    assert len(codes) == len(set(codes))
    assert len(codes) > 120
    for row in rows():
        assert row.cause, row.code
        assert row.kind in KINDS, row.code
        assert row.source, row.code
        assert set(row.inferred) <= FIELDS, row.code
        assert all(getattr(row, field) for field in row.inferred), row.code
        assert row.pattern or re.fullmatch(r"NCC_[A-Z]{3,4}\d{3}", row.code), row.code
        assert "same as" not in row.cause + row.when + row.remedy, row.code


def test_no_pattern_matches_what_is_harmless() -> None:
    harmless = (
        ".\nCompiler status PASS\nINFO: exitcode=0\nCall compiler with cmd: neuronx-cc compile"
    )
    assert diagnose(harmless) == ()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[ERROR] [NCC_EVRF035] dot of integers", "NCC_EVRF035"),
        ("EBVF030: too large", "NCC_EBVF030"),
        ("RuntimeError: neuronx-cc failed with -9", "killed"),
        ("[F134] neuronx-cc terminated abnormally", "aborted"),
        ("failed to legalize operation 'torch.aten.frobnicate'", "not-legalized"),
        ("nrt_execute failed: NRT status 1006", "NRT_EXEC_OOB"),
        ("NRT_EXEC_OOB", "NRT_EXEC_OOB"),
        ("nrt status=10: bad version", "NRT_UNSUPPORTED_NEFF_VERSION"),
        (
            "ERROR: Too many instructions after unroll for function sg0000 !",
            "too-many-instructions",
        ),
    ],
)
def test_what_is_known(text: str, code: str) -> None:
    (found,) = diagnose(f"before\n{text}\nafter")
    assert found.code == code
    assert found.cause
    assert found.source
    assert found.said == text


def test_one_status_is_not_another() -> None:
    assert [p.code for p in diagnose("nrt status=1006")] == ["NRT_EXEC_OOB"]
    assert [p.code for p in diagnose("nrt status=100")] == []


def test_what_is_not_known_is_shown() -> None:
    (found,) = diagnose("[INTERNAL_ERROR] [NCC_IXYZ777] something")
    assert (found.code, found.cause, found.source) == ("NCC_IXYZ777", "", "")


def test_an_old_code() -> None:
    (found,) = diagnose("2024-02-21T22:24:14Z [TEN404] Internal tensorizer error")
    assert found.code == "TEN404"


def test_each_once_in_order() -> None:
    text = "[NCC_EOOM001] a\n[NCC_EVRF004] b\n[NCC_EOOM001] c"
    assert [(p.code, p.said[-1]) for p in diagnose(text)] == [
        ("NCC_EOOM001", "a"),
        ("NCC_EVRF004", "b"),
    ]


def test_operators_that_a_line_names() -> None:
    (found,) = diagnose("[NCC_EVRF029] Operation sort is not supported on trn2.")
    assert found.operators == ("hlo::sort",)
    (found,) = diagnose("failed to legalize operation 'torch.aten.sort.stable'")
    assert found.operators == ("aten::sort.stable",)


def test_a_long_line_keeps_the_code() -> None:
    (found,) = diagnose("x" * 5000 + " [NCC_EOOM001] full " + "y" * 5000)
    assert "NCC_EOOM001" in found.said
    assert len(found.said) <= 300
