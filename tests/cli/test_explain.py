"""`neuronport explain`: a page for every rule and row, made from its data."""

from __future__ import annotations

import json

import pytest

from neuronport.reporting.pages import markdown_page, text_page
from neuronport.reporting.result import RenderOptions
from neuronport.rulebook import pages
from neuronport.rulebook.load import whole_rulebook as rulebook
from neuronport.rulebook.lookup import find_rule, near_rules
from tests.cli.running import neuronport

BOOK = rulebook()
SPECS = sorted(BOOK.all(), key=lambda s: s.id)


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.id)
def test_every_page_says_all_that_is_known(spec):
    text = flat("".join(text_page(spec, RenderOptions())))
    markdown = "".join(markdown_page(spec))
    for page in (text, markdown):
        assert spec.id in page
        assert str(spec.effort) in page
        for windows in spec.verdicts.values():
            for window in windows:
                assert str(window.verdict) in page
                assert pages.window_words(window) in page
        for evidence in spec.evidence:
            assert str(evidence.kind) in page
            assert evidence.sdk in page
        if spec.fix:
            assert spec.fix.codemod in page
            assert str(spec.fix.safety) in page
    for evidence in spec.evidence:
        assert flat(evidence.source) in text
        assert flat(evidence.says) in text
    for words in spec.replacement.values():
        assert flat(words) in text
    if spec.fires:
        for line in spec.fires[0].code.splitlines():
            assert line.rstrip() in markdown
    assert json.loads(json.dumps(pages.as_json(spec)))["id"] == spec.id


def test_text_stays_within_the_columns_but_for_code():
    for spec in SPECS:
        shown = "".join(text_page(spec, RenderOptions(width=80)))
        evidence = shown.partition("\nEvidence\n")[2].splitlines()
        # A source may be one long word; what has spaces is wrapped.
        assert all(len(line) <= 80 or " " not in line.strip() for line in evidence), spec.id


def test_an_id_a_name_and_a_name_without_prefix():
    row = next(s for s in SPECS if s.id.startswith("api/") and "#" not in s.id and "." in s.name)
    assert row in find_rule(row.id, BOOK)
    assert row in find_rule(row.name, BOOK)
    assert not find_rule(row.name + "zz", BOOK)


def test_formats_on_the_command_line():
    spec = next(s for s in SPECS if s.name.startswith("flash_attn.") and s.fires)
    text = neuronport("explain", spec.id)
    assert text.returncode == 0
    assert text.stdout == "".join(text_page(spec, RenderOptions()))
    assert "\x1b" not in text.stdout
    assert neuronport("explain", spec.id, "--format", "markdown").stdout == "".join(
        markdown_page(spec)
    )
    assert json.loads(neuronport("explain", spec.id, "--format", "json").stdout) == pages.as_json(
        spec
    )


def test_an_unknown_name_gets_suggestions_and_2():
    done = neuronport("explain", "flash_atn")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "no rule 'flash_atn'" in done.stderr
    assert "api/flash_attn" in done.stderr
    nothing = neuronport("explain", "qqqqqq")
    assert nothing.returncode == 2
    assert "did you mean" not in nothing.stderr


def test_a_letter_too_few_is_still_understood():
    for spec in SPECS[::37]:
        name = spec.name.removesuffix(".*") or spec.id
        near = near_rules(name[:-2] + name[-1], BOOK)
        assert any(name.rpartition(".")[2][:3] in found for found in near), name


def test_colour_is_asked_for():
    assert "\x1b[" in neuronport("explain", SPECS[0].id, env={"FORCE_COLOR": "1"}).stdout
    both = neuronport("explain", SPECS[0].id, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout
    assert "\x1b" not in both


def test_text_has_no_markup_and_no_double_gaps():
    (spec,) = find_rule("accelerator-branch", BOOK)
    shown = "".join(text_page(spec, RenderOptions()))
    assert "Fix safety: the branch" in shown
    assert "**" not in shown
    assert "\n\n\n" not in shown
