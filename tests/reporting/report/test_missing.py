"""With records missing, stale or broken the report says so where it matters, and concludes nothing."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from neuronport.records import Snapshot, load, write
from neuronport.reporting import html
from neuronport.reporting.joined import markdown
from neuronport.reporting.joined.model import build

from . import making
from .reading import read, words
from .recomputing import Recomputed

KINDS = ("audit", "graph", "port", "compile", "portability")
SECTION = {
    "audit": ("verdict", "findings", "causes", "plan"),
    "graph": ("models",),
    "port": ("port",),
    "compile": ("compile",),
    "portability": ("method",),
}
HALVES = list(combinations(KINDS, 3)) + list(combinations(KINDS, 2))


@pytest.mark.parametrize("gone", HALVES, ids="-".join)
def test_half_of_the_records_missing(tmp_path: Path, gone: tuple[str, ...]) -> None:
    bodies = making.without(making.bodies(), gone)
    report = build(making.folder(tmp_path, bodies))
    page = read("".join(html.render(report)))
    for kind in KINDS:
        for name in SECTION[kind]:
            said = words(page.sections[name])
            missing = "Not measured: neuronport portability" if kind == "portability" else (
                f"no usable record of {kind}"
            )  # fmt: skip
            assert (missing in said) == (kind in gone), (kind, name, said)
    # figures are only of what is there, and right
    recomputed = Recomputed(bodies, report.data)
    for path, _, text in page.figures:
        assert recomputed(path) is not None or path.startswith("records/"), path
        assert text
    heads = {path.split("/")[0] for path, _, _ in page.figures}
    assert not heads & {
        "audit": {"audit", "groups", "effort", "waves"},
        "graph": {"graphs"},
        "port": {"port"},
        "compile": {"compile"},
    }.get(gone[0], set())
    levels = {row["verdict"] for row in report.data["levels"]}
    assert (levels == {"not measured"}) == ("portability" in gone)


def test_nothing_at_all(tmp_path: Path) -> None:
    report = build(load(str(tmp_path)))
    page = read("".join(html.render(report)))
    assert "Nothing is known of this project’s source." in page.sections["verdict"]
    assert "Not known: it follows from the findings" in page.sections["verdict"]
    assert not page.figures
    assert page.loose == []
    text = "".join(markdown.render(report))
    assert "Nothing is known" in text
    assert "0 places" not in text


def test_an_audit_that_found_nothing_is_not_one_that_is_missing(tmp_path: Path) -> None:
    bodies = {"audit.json": making.audit_body(making.nothing())}
    page = read("".join(html.render(build(making.folder(tmp_path, bodies)))))
    said = words(page.sections["verdict"])
    assert "No obstacle was found in what was looked at." in said
    assert "Nothing was compiled or run on Neuron for this report." in said
    assert "no usable record of audit" not in said


def test_an_audit_that_looked_at_nothing_says_nothing(tmp_path: Path) -> None:
    body = making.audit_body(making.nothing())
    body["tree"].update(looked_at=0, files=0, lines=0, by_kind={})
    page = read("".join(html.render(build(making.folder(tmp_path, {"audit.json": body})))))
    assert "Nothing was looked at, so nothing is known." in page.sections["verdict"]


def test_seconds_of_another_compiler_are_never_neurons(tmp_path: Path) -> None:
    report = build(making.whole(tmp_path / "xla"))
    page = read("".join(html.render(report)))
    said = words(page.sections["compile"])
    assert "Nothing was compiled for Neuron" in said
    assert "XLA:CPU" in said
    assert "Neuron’s compiler compiled" not in said
    assert any("compiles for Neuron" in row["what"] for row in report.data["unknown"])
    bodies = {**making.bodies(), "compile-model.json": making.compile_body(compiler="neuron")}
    report = build(making.folder(tmp_path / "neuron", bodies))
    said = words(read("".join(html.render(report))).sections["compile"])
    assert "1 of 1 attempt with Neuron’s compiler compiled." in said
    assert "XLA:CPU" not in said
    assert not any("compiles for Neuron" in row["what"] for row in report.data["unknown"])


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A tree with a record of its audit that knows the digests."""
    tree = tmp_path / "project"
    tree.mkdir()
    (tree / "train.py").write_text("x.cuda()\n", encoding="utf-8")
    body = json.dumps(making.audit_body(making.sample()))
    snapshot = Snapshot.of_named(str(tree), [str(tree / "train.py")])
    write(str(tree / ".neuronport"), "audit", body, snapshot)
    return tree


def test_levels_are_said_as_they_were_judged(tmp_path: Path) -> None:
    body = making.portability_body()
    page = read(
        "".join(html.render(build(making.folder(tmp_path / "a", {"portability.json": body}))))
    )
    said = words(page.sections["verdict"])
    assert "source required by the contract holds with changes what is left can be mended" in said
    assert "performance not measured there is no run" in said
    assert said.count("required by the contract") == 1
    method = words(page.sections["method"])
    assert "it is told, and decides nothing on native@2.33 (audit.json, src/train.py:3)" in method
    assert "Not known: whether it computes the same" in method
    # the audit is missing: what portability says is no reason to say more
    assert "Nothing is known of this project’s source." in said
    body.update(contract=None, required=[])
    page = read(
        "".join(html.render(build(making.folder(tmp_path / "b", {"portability.json": body}))))
    )
    assert "No contract says which level is required." in page.sections["verdict"]


def test_a_stale_record_is_named_where_it_is_used(recorded: Path) -> None:
    folder = str(recorded / ".neuronport")
    page = read("".join(html.render(build(load(folder)))))
    assert not any("Stale:" in text for text in page.sections.values())
    (recorded / "train.py").write_text("x.to(device)\n", encoding="utf-8")
    report = build(load(folder))
    page = read("".join(html.render(report)))
    for name in ("verdict", "findings"):
        assert "Stale:" in page.sections[name], name
        assert "train.py has changed" in page.sections[name]
    assert any("still holds" in row["what"] for row in report.data["unknown"])


def _garbage() -> dict[str, Any]:
    audit = making.audit_body(making.sample())
    del audit["findings"][0]["by_target"]
    graph = making.graph_body()
    graph["graphs"] = [{"nodes": 3}]
    attempts = making.compile_body()
    attempts["graphs"] = [None]
    return {"audit.json": audit, "graph-m.json": graph, "compile-m.json": attempts}


def test_malformed_records_are_named_and_the_rest_is_reported(tmp_path: Path) -> None:
    bodies = {**making.bodies(), **_garbage()}
    del bodies["graph-model.json"], bodies["compile-model.json"]
    report = build(making.folder(tmp_path, bodies))
    page = read("".join(html.render(report)))
    broken = {Path(row["file"]).name for row in report.data["records"]["problems"]}
    assert broken == set(_garbage())
    assert "Nothing is known of this project’s source." in page.sections["verdict"]
    for name in broken:
        assert name in page.sections["method"]
        assert name in page.sections["unknown"]
    assert "1 change in 1 file" in words(page.sections["port"])
