"""`neuronport rules` and `neuronport api`: lists and look-ups over the rulebook."""

from __future__ import annotations

import json

import pytest

from neuronport.rulebook import pages
from neuronport.rulebook.load import whole_rulebook as rulebook
from neuronport.rulebook.lookup import look_up, spelling
from tests.cli.running import neuronport

BOOK = rulebook()
SPECS = BOOK.all()


def listed(*arguments: str) -> dict:
    done = neuronport("rules", "--format", "json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_whole_list_is_counted():
    document = listed()
    assert len(document["rules"]) == len(SPECS) == document["counts"]["rules"]
    assert sum(document["counts"]["areas"].values()) == len(SPECS)
    assert {r["id"] for r in document["rules"]} == {s.id for s in SPECS}


def test_filters():
    areas = listed("--area", "libraries")
    assert {r["area"] for r in areas["rules"]} == {"libraries"}
    breaking = listed("--verdict", "breaks", "--path", "native")
    assert breaking["rules"]
    assert all("breaks" in r["verdict"].values() for r in breaking["rules"])
    assert {t.partition("@")[0] for t in breaking["targets"]} == {"native"}
    held = listed("--target", "xla@2.30", "flash_attn_func")
    assert held["targets"] == ["xla@2.30"]
    assert "api/flash_attn.flash_attn_func" in {r["id"] for r in held["rules"]}
    assert all(
        "flash_attn_func" in f"{r['id']} {r['title']} {r.get('note', '')}" for r in held["rules"]
    )
    assert listed("no such text")["rules"] == []


def test_text_and_markdown_show_what_json_has():
    rows = listed("--area", "libraries", "flash_attn_2")["rules"]
    text = neuronport("rules", "--area", "libraries", "flash_attn_2").stdout
    markdown = neuronport(
        "rules", "--area", "libraries", "flash_attn_2", "--format", "markdown"
    ).stdout
    assert rows
    for row in rows:
        assert row["id"] in text
        assert f"`{row['id']}`" in markdown
    assert f"{len(rows)} of " in text


@pytest.mark.parametrize("option", ["--area", "--verdict", "--path", "--target"])
def test_a_wrong_word_is_a_usage_error_that_lists_the_right_ones(option):
    done = neuronport("rules", option, "nonsense")
    assert done.returncode == 2
    assert "nonsense" in done.stderr
    right = {"--area": "libraries", "--verdict": "falls-back"}.get(option, "native")
    assert right in done.stderr


# ---- api -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("torch.cuda.Event", "torch.cuda.Event"),
        ("torch.cuda.Event(enable_timing=True)", "torch.cuda.Event"),
        ("@torch.no_grad()", "torch.no_grad"),
        ("import flash_attn", "flash_attn"),
        ("from flash_attn import flash_attn_func as f", "flash_attn.flash_attn_func"),
        (".cuda()", "cuda"),
        ("api/apex.amp", "apex.amp"),
        ("flash_attn.*", "flash_attn"),
        ("  ", ""),
    ],
)
def test_spellings(written, name):
    assert spelling(written) == name


def test_rows_are_found_by_their_names():
    for spec in list(BOOK.rows.values())[::7]:
        assert spec in look_up(spec.name, BOOK).exact, spec.id


def test_the_end_of_a_name_and_another_case():
    spec = BOOK.rows["api/flash_attn.flash_attn_func"]
    assert spec in look_up("flash_attn_func", BOOK).exact
    assert spec in look_up("FLASH_ATTN.flash_attn_func", BOOK).exact


def test_a_module_lists_what_is_below_it():
    answer = look_up("flash_attn", BOOK)
    assert "api/flash_attn#import" in {s.id for s in answer.exact}
    assert "api/flash_attn.flash_attn_func" in {s.id for s in answer.below}
    assert all(s.name.startswith("flash_attn.") for s in answer.below)


def test_what_is_not_known_names_the_row_that_stands_for_it():
    done = neuronport("api", "flash_attn.no_such_thing")
    assert done.returncode == 0
    assert "flash_attn.no_such_thing: not known by this name" in done.stdout
    assert "api/flash_attn.*" in done.stdout


def test_what_nothing_is_known_of():
    done = neuronport("api", "collections.OrderedDict")
    assert done.returncode == 2
    assert "not known" in done.stdout
    assert "does not mean" in done.stdout
    document = json.loads(neuronport("api", "collections.OrderedDict", "--format", "json").stdout)
    assert not document["known"]
    assert document["exact"] == document["below"] == document["catch_all"] == []


def test_replacements_are_shown_per_target():
    spec = BOOK.rows["api/flash_attn.flash_attn_func"]
    shown = " ".join(neuronport("api", spec.name).stdout.split())
    for target in pages.newest_targets():
        assert str(target) in shown
        assert " ".join(spec.replacement[target.path].split()) in shown
    only = neuronport("api", spec.name, "--target", "native@2.31").stdout
    assert "native@2.31" in only
    assert "xla@" not in only
