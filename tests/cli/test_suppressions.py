"""Suppression comments in audited files."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from neuronport.cli import cli

RULE = "api/flash_attn#import"


@pytest.fixture
def shown(tmp_path):
    def run(text: str) -> dict:
        (tmp_path / "a.py").write_bytes(text.encode())
        result = CliRunner().invoke(cli, ["audit", str(tmp_path), "--no-config", "--format=json"])
        return {**json.loads(result.stdout), "exit": result.exit_code}

    return run


def lines(document: dict) -> list[int]:
    return [f["line"] for f in document["findings"]]


def unused(document: dict) -> list[int]:
    return [row["line"] for row in document["unused_suppressions"]]


@pytest.mark.parametrize(
    "word", [RULE, "api/flash_attn*", "api/", "libraries", "*", f"x-y, {RULE}"]
)
def test_on_the_line(shown, word):
    document = shown(f"import flash_attn  # neuronport: ignore[{word}] only on the old cluster\n")
    assert document["exit"] == 0
    assert lines(document) == []
    assert unused(document) == []
    assert "only on the old cluster" in json.dumps(document)


def test_alone_on_a_line_for_the_next_code(shown):
    document = shown(
        f"# neuronport: ignore[{RULE}] why\n# more words\n\nimport flash_attn\nimport flash_attn\n"
    )
    assert lines(document) == [5]


def test_for_the_file(shown):
    document = shown(
        f"import flash_attn\nimport flash_attn\n# neuronport: ignore-file[{RULE}] old\n"
    )
    assert lines(document) == []
    assert document["exit"] == 0


def test_without_a_reason_it_works_and_says_so(shown):
    document = shown(f"import flash_attn  # neuronport: ignore[{RULE}]\n")
    assert lines(document) == []
    assert "no reason given" in json.dumps(document)


def test_unused_and_of_an_unknown_rule_are_reported(shown):
    document = shown(
        f"x = 1  # neuronport: ignore[{RULE}] nothing here\n"
        "import flash_attn  # neuronport: ignore[no-such-rule] a typing error\n"
        f"# neuronport: ignore-file[api/apex.*] nothing\n"
    )
    assert lines(document) == [2]
    assert unused(document) == [1, 2, 3]
    assert document["exit"] == 1


def test_one_line_does_not_cover_another(shown):
    document = shown(f"import flash_attn\nx = 1  # neuronport: ignore[{RULE}]\nimport flash_attn\n")
    assert lines(document) == [1, 3]


def test_in_a_string_it_is_no_comment(shown):
    document = shown(
        f"import flash_attn; x = '# neuronport: ignore[{RULE}] no'\n"
        f"'''\n# neuronport: ignore-file[{RULE}] no\n'''\n"
    )
    assert lines(document) == [1]
    assert unused(document) == []


@pytest.mark.parametrize("newline", ["\r\n", "\r", "\n"])
def test_every_kind_of_line_end(shown, newline):
    text = (
        "x = 1\n"
        f"# neuronport: ignore[{RULE}] the next\n"
        "import flash_attn\n"
        f"import flash_attn  # neuronport: ignore[{RULE}] this\n"
        "import flash_attn\n"
    )
    document = shown(text.replace("\n", newline))
    assert lines(document) == [5]
    assert unused(document) == []


def test_after_a_form_feed_and_a_line_separator(shown):
    document = shown(
        f"\fx = '\u2028'\n\x0c\nimport flash_attn  # neuronport: ignore[{RULE}] here\x0b\n"
        f"# neuronport: ignore[{RULE}] next\x1c\nimport flash_attn\n"
    )
    assert lines(document) == []
    assert unused(document) == []


def why(document: dict) -> list[str]:
    return [row["why"] for row in document["unused_suppressions"]]


@pytest.mark.parametrize(
    "comment", ["ignore", "ignore  because", "ignore-file", "noqa", "disable=all", "skip"]
)
def test_without_brackets_it_suppresses_nothing_and_says_how(shown, comment):
    document = shown(f"import flash_attn  # neuronport: {comment}\n")
    assert lines(document) == [1]
    assert unused(document) == [1]
    assert "ignore[RULE]" in why(document)[0]


def test_a_rule_that_is_not_there_is_named_with_one_that_is(shown):
    document = shown("import flash_attn  # neuronport: ignore[hardcoded-cuda-devise] typed wrong\n")
    assert lines(document) == [1]
    assert "hardcoded-cuda-devise: no such rule" in why(document)[0]
    assert "hardcoded-cuda-device?" in why(document)[0]
    assert "the brackets are empty" in why(shown("x = 1  # neuronport: ignore[] no rule\n"))[0]
    assert why(shown(f"x = 1  # neuronport: ignore[{RULE}] nothing here\n")) == [None]


def test_prose_about_the_tool_is_no_suppression(shown):
    assert unused(shown("x = 1  # neuronport: see the docs, it ignores nothing\n")) == []
