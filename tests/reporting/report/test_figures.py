"""Every figure on the page and in the Markdown is the one that the records give."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry

from neuronport.data import data_folder
from neuronport.findings import Confidence, Effort, Verdict
from neuronport.reporting import html
from neuronport.reporting.joined import json_, markdown
from neuronport.reporting.joined.figures import shown
from neuronport.reporting.joined.model import build

from . import making
from .reading import Page, read, words
from .recomputing import Recomputed


def page_of(folder: Path, bodies: dict[str, Any], against: Path | None = None) -> tuple[Page, Any]:
    from neuronport.records import load

    records = making.folder(folder, bodies)
    report = build(records, load(str(against)) if against else None)
    return read("".join(html.render(report))), report.data


def earlier_bodies() -> dict[str, Any]:
    """As the sample's, with one finding more and one that is other than today's."""
    found = making.bodies()
    audit = copy.deepcopy(found["audit.json"])
    extra = copy.deepcopy(audit["findings"][0])
    extra.update(fingerprint="feedfeedfeedfeed", message="was mended since")
    audit["findings"] = [extra, *audit["findings"][1:], copy.deepcopy(extra)]
    return {"audit.json": audit}


def check(page: Page, recomputed: Recomputed) -> None:
    assert page.figures
    for path, kind, text in page.figures:
        assert text == shown(recomputed(path), kind), path


def test_every_figure_of_a_whole_report_is_recomputed(tmp_path: Path) -> None:
    bodies, earlier = making.bodies(), earlier_bodies()
    making.folder(tmp_path / "before", earlier)
    page, data = page_of(tmp_path / "now", bodies, tmp_path / "before")
    check(page, Recomputed(bodies, data, earlier["audit.json"]))
    seen = {path.split("/")[0] for path, _, _ in page.figures}
    assert seen >= {
        "audit", "groups", "effort", "waves", "unknown", "records", "graphs", "port", "churn",
        "compile", "comparison",
    }  # fmt: skip


def test_a_changed_record_changes_the_figures(tmp_path: Path) -> None:
    """The check is one that can fail: figures follow the records."""
    bodies = making.bodies()
    page, data = page_of(tmp_path / "a", bodies)
    other = copy.deepcopy(bodies)
    other["audit.json"]["findings"].pop(0)
    with pytest.raises(AssertionError):
        check(page, Recomputed(other, data))
    other = copy.deepcopy(bodies)
    other["compile-model.json"]["graphs"][0]["xla_cpu_seconds"]["compile"] = 9.0
    with pytest.raises(AssertionError):
        check(page, Recomputed(other, data))


def test_no_number_stands_on_the_page_unvouched(tmp_path: Path) -> None:
    making.folder(tmp_path / "before", earlier_bodies())
    page, _ = page_of(tmp_path / "now", making.bodies(), tmp_path / "before")
    assert page.loose == []


def test_many_findings_are_recomputed_too(tmp_path: Path) -> None:
    bodies = {"audit.json": making.audit_body(making.many(3000))}
    page, data = page_of(tmp_path, bodies)
    recomputed = Recomputed(bodies, data)
    for path, kind, text in page.figures:
        if path.startswith(("audit/", "effort/total", "unknown", "waves")):
            assert text == shown(recomputed(path), kind), path


def test_markdown_has_the_figures_of_the_page(tmp_path: Path) -> None:
    report = build(making.whole(tmp_path))
    text = "".join(markdown.render(report))
    data = report.data
    assert f"**{data['audit']['sure_errors']} places keep it from running correctly" in text
    assert markdown.effort(data["effort"]["total"]) in text
    for wave in data["waves"]:
        assert f"{wave['title']}: {wave['places']} place" in text
    assert (
        "forward, inference, eager, on `native@2.33`: 4 crossings between device and host, 96 kB"
        in (text)
    )
    assert "XLA:CPU: forward, compiled; capture 1.25 s, lowering 0.5 s, compile 2.75 s" in text


def test_what_asks_nothing_of_anybody_is_not_left_to_people(tmp_path: Path) -> None:
    report = build(making.whole(tmp_path))
    port = report.data["port"]
    assert (port["left"], port["kept_for_cuda"], port["done"]) == (1, 2, 1)
    assert [row["says"] for row in port["left_rows"]] == ["no rewriting is known"]
    assert "1 finding left to people; 2 kept for CUDA" in "".join(markdown.render(report))
    said = words(read("".join(html.render(report))).sections["port"])
    assert (
        "1 finding is left to people: 1 by-hand. Kept for CUDA, nothing to do on Neuron: 2." in said
    )
    assert "CUDA keeps it" not in said
    assert "of what is left or new 2 kept for CUDA, 3 left to people" in said
    assert "4 left, 1 new (of those 2 kept for CUDA, 3 left to people)" in "".join(
        markdown.render(report)
    )


def test_what_breaks_is_among_the_blockers(tmp_path: Path) -> None:
    """However much work the rest is; one that is only possible is none."""
    audit = making.many(60)
    falling = [f for f in audit.findings if f.verdict is Verdict.FALLS_BACK]
    broken = [f for f in audit.findings if f.verdict is Verdict.BREAKS]
    (target,) = {t for f in broken for t in f.by_target}
    maybe = {target: replace(broken[1].by_target[target], confidence=Confidence.POSSIBLE)}
    few = [
        *falling,
        replace(broken[0], effort=Effort.MINUTES),
        replace(broken[1], by_target=maybe),
    ]
    body = making.audit_body(replace(audit, findings=few))
    data = build(making.folder(tmp_path, {"audit.json": body})).data
    assert len(falling) > 5
    shown_rules = [data["groups"][i]["rule"] for i in data["blockers"]]
    assert len(shown_rules) == 5
    assert shown_rules[0] == broken[0].rule
    assert broken[1].rule not in shown_rules


def test_graphs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    body = making.graph_body()
    training = copy.deepcopy(body)
    training["graphs"][0]["mode"] = "training"
    for key in ("graphs", "partitions", "fits"):
        body[key] += training[key]
    report = build(making.folder(tmp_path, {"graph-model.json": body}))
    text = "".join(markdown.render(report))
    assert "forward, inference, eager, on" in text
    assert "forward, training, eager, on" in text
    assert "nodes of inference eager and training eager: " in text
    said = words(read("".join(html.render(report))).sections["models"])
    assert "Operators on native@2.33, training eager" in said
    for shown_text in (said, text):
        assert "Not traced: loops around the model such as generate" in shown_text
    whats = [row["what"] for row in report.data["unknown"]]
    assert "Which operators run outside of the traced passes of the model" in whats
    assert "Which operators training executes" not in whats
    other = build(making.folder(tmp_path / "one", {"graph-model.json": making.graph_body()}))
    assert "Which operators training executes" in [row["what"] for row in other.data["unknown"]]


def test_of_another_compiler_is_spoken_only_where_one_ran(tmp_path: Path) -> None:
    body = making.compile_body()
    body["graphs"] = []
    for name, found, said in (("none", body, False), ("one", making.compile_body(), True)):
        report = build(making.folder(tmp_path / name, {"compile-model.json": found}))
        text = "".join(markdown.render(report))
        page = read("".join(html.render(report)))
        assert "Nothing was compiled for Neuron" in text
        assert ("Seconds are those of" in text) == said
        assert ("What another compiler did" in text) == said
        assert ("Seconds below are those" in page.sections["compile"]) == said
        assert ("What another compiler did" in page.sections["unknown"]) == said


def test_the_markdown_says_that_no_contract_requires_a_level(tmp_path: Path) -> None:
    body = making.portability_body()
    body.update(contract=None, required=[])
    report = build(making.folder(tmp_path, {"portability.json": body}))
    assert "No contract says which level is required." in "".join(markdown.render(report))


def test_json_is_as_its_schema_says(tmp_path: Path) -> None:
    schema = json.loads((data_folder("schemas") / "report.json").read_text(encoding="utf-8"))
    for number, bodies in enumerate((making.bodies(), {}, {"graph-m.json": making.graph_body()})):
        records = making.folder(tmp_path / str(number), bodies)
        document = json.loads("".join(json_.render(build(records, records))))
        jsonschema.validate(document, schema)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("graph", making.graph_body()),
        ("churn", making.churn_body()),
        ("port", making.port_body(making.sample())),
        ("compile", making.compile_body()),
        ("portability", making.portability_body()),
        ("audit", making.audit_body(making.sample())),
    ],
)
def test_the_records_these_tests_make_are_as_commands_make_them(name: str, body: Any) -> None:
    found = [
        json.loads(file.read_text(encoding="utf-8"))
        for file in sorted(data_folder("schemas").glob("*.json"))
    ]
    registry: Registry[Any] = Registry().with_contents((s["$id"], s) for s in found)
    schema = next(s for s in found if s["$id"].split(":")[-2] == name)
    jsonschema.Draft202012Validator(schema, registry=registry).validate(body)


def test_the_audit_is_read_back_whole() -> None:
    from neuronport.reporting.joined.audits import audit_result

    for audit in (making.sample(), making.nothing(), making.hostile(), making.many(50)):
        body = making.audit_body(audit)
        assert making.audit_body(audit_result(body)) == body
