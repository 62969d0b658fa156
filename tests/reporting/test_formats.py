"""What each format promises to the program that reads it."""

from __future__ import annotations

import io
import json
import re
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import unquote

import jsonschema
import pytest

from neuronport.data import data_folder
from neuronport.findings import (
    Confidence,
    Context,
    Finding,
    Level,
    Location,
    NotLookedAt,
    Role,
    Verdict,
    fingerprinted,
)
from neuronport.reporting import (
    AuditResult,
    RenderOptions,
    Tree,
    formats,
    named,
    options_for,
    write,
)
from neuronport.reporting.formats import sarif

from .sample import NATIVE, SOURCE, finding, hostile, judged, nothing, sample

AUDITS: list[Callable[[], AuditResult]] = [sample, nothing, hostile]


def text_of(name: str, audit: AuditResult, **options: object) -> str:
    return "".join(named(name).render(audit, RenderOptions(**options)))  # type: ignore[arg-type]


def many(number: int) -> AuditResult:
    return nothing(
        findings=fingerprinted(
            finding(
                f"rule-{n % 40}",
                f"src/f{n % 700}.py",
                (n // 700 + 1, 1, 5),
                (Verdict.BREAKS, Verdict.SLOW, Verdict.LOCKS_IN)[n % 3],
            )
            for n in range(number)
        ),
        tree=Tree("project", 700, 700, 70_000, {"python": 700}),
    )


def test_every_module_is_a_format() -> None:
    assert list(formats()) == sorted(formats())
    assert {"full", "github", "gitlab", "json", "markdown", "sarif", "text"} <= set(formats())
    for name, format in formats().items():
        assert format.name == name
        assert format.description
        assert "\n" not in format.description


@pytest.mark.parametrize("name", list(formats()))
@pytest.mark.parametrize("audit", AUDITS)
def test_output_is_safe_and_repeatable(name: str, audit: Callable[[], AuditResult]) -> None:
    first = text_of(name, audit(), source=SOURCE.get)
    assert first == text_of(name, audit(), source=SOURCE.get)
    assert first.endswith("\n")
    first.encode("utf-8")
    for character in "\x1b\x07\x00\r\u202e\u200f\u2028\udc80":
        assert character not in first


@pytest.mark.parametrize("name", list(formats()))
def test_the_order_in_which_findings_come_is_of_no_account(name: str) -> None:
    audit = sample()
    backwards = replace(audit, findings=audit.findings[::-1], references=audit.references[::-1])
    assert text_of(name, audit) == text_of(name, backwards)


@pytest.mark.parametrize("name", ["text", "full", "markdown", "github"])
def test_nothing_found_always_says_what_was_not_looked_at(name: str) -> None:
    missing = (NotLookedAt("a.py", "syntax-error"), NotLookedAt("b.py", "too-large"))
    shown = text_of(name, nothing(not_looked_at=missing, tree=Tree("p", 9, 3, 90)))
    shown = " ".join(shown.split())
    assert "nothing found in what was looked at" in shown
    assert shown.count("3 files, 90 lines looked at; 2 not looked at, 4 of kinds") == 1
    assert "clean" not in shown


def test_nothing_found_leads_nowhere_that_shows_no_more() -> None:
    assert "\nnext  " not in text_of("text", nothing())
    one = (NotLookedAt("a.py", "syntax-error"),)
    assert "\nnext  " not in text_of("text", nothing(not_looked_at=one))
    for more in (
        {"not_looked_at": one * 3},
        {"suppressed": [finding(suppressed="why")]},
        {"findings": [finding(context=Context(role=Role.TEST))]},
    ):
        assert "\nnext  neuronport audit . --format full\n" in text_of("text", nothing(**more))


@pytest.mark.parametrize("name", ["text", "full", "markdown", "github"])
def test_nothing_looked_at_is_not_nothing_found(name: str) -> None:
    shown = text_of(name, nothing(tree=Tree("p", 0, 0, 0), exit_code=3))
    assert "nothing was looked at, so nothing is known" in shown
    assert "nothing found" not in shown


# JSON


@pytest.mark.parametrize("audit", AUDITS)
def test_json_fits_its_schema(audit: Callable[[], AuditResult]) -> None:
    schema = json.loads((data_folder("schemas") / "audit.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(text_of("json", audit())))


def test_the_schema_refuses_what_is_not_a_word() -> None:
    schema = json.loads((data_folder("schemas") / "audit.json").read_text("utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    for change in (
        lambda d: d["findings"][0].update(level="fatal"),
        lambda d: d["findings"][0].pop("fingerprint"),
        lambda d: d.update(extra=1),
        lambda d: d["findings"][0]["by_target"]["native@2.33"].update(verdict="ok"),
    ):
        document = json.loads(text_of("json", sample()))
        change(document)
        assert not validator.is_valid(document)


def test_json_holds_everything() -> None:
    audit = sample()
    document = json.loads(text_of("json", audit))
    assert [f["fingerprint"] for f in document["findings"]] == [
        f.fingerprint for f in audit.findings
    ]
    assert sum(f["fails"] for f in document["findings"]) == document["summary"]["failing"] == 9
    assert len(document["references"]) == 2
    assert document["suppressed"][0]["suppressed"] == "only for development"
    assert document["baselined"][0]["by"] == "baseline"
    assert document["not_looked_at"][0]["reason"] == "syntax-error"
    assert set(document["rules"]) == {f.rule for f in audit.findings}


def test_json_gives_names_back_as_they_are() -> None:
    audit = hostile()
    document = json.loads(text_of("json", audit))
    assert document["findings"][0]["path"] == audit.findings[0].location.path


def test_json_has_one_finding_a_line() -> None:
    lines = text_of("json", sample()).splitlines()
    assert sum(line.startswith('{"rule"') for line in lines) == 13 + 2 + 1 + 1


# SARIF


def run_of(audit: AuditResult) -> dict[str, object]:
    document = json.loads(text_of("sarif", audit))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    return run  # type: ignore[no-any-return]


@pytest.mark.parametrize("audit", AUDITS)
def test_sarif_is_consistent(audit: Callable[[], AuditResult]) -> None:
    """What the SARIF 2.1.0 schema and specification ask of the parts that are written."""
    run: dict = run_of(audit())  # type: ignore[type-arg]
    assert set(run) == {
        "tool",
        "automationDetails",
        "columnKind",
        "originalUriBaseIds",
        "results",
        "artifacts",
        "invocations",
        "properties",
    }
    rules = run["tool"]["driver"]["rules"]
    assert len({r["id"] for r in rules}) == len(rules)
    for rule in rules:
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note", "none")
        assert rule["properties"]["precision"] in ("very-high", "high", "medium", "low")
        assert rule["properties"]["problem.severity"] in ("error", "warning", "recommendation")
        assert len(rule["properties"].get("tags", ())) <= 10
        assert {"help", "shortDescription", "fullDescription"} <= set(rule)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        assert 0 <= result["rank"] <= 100
        for suppression in result.get("suppressions", ()):
            assert suppression["kind"] in ("inSource", "external")
        steps = [
            step["location"]
            for flow in result.get("codeFlows", ())
            for thread in flow["threadFlows"]
            for step in thread["locations"]
        ]
        for location in [*result["locations"], *steps]:
            physical = location["physicalLocation"]
            place = physical["artifactLocation"]
            assert run["artifacts"][place["index"]]["location"]["uri"] == place["uri"]
            assert place["uriBaseId"] in run["originalUriBaseIds"]
            assert place["uri"].isascii()
            assert not {" ", "\\", ":", "<", ">", '"', "`"} & set(place["uri"])
            region = physical.get("region", {})
            assert region.get("startLine", 1) >= 1
            assert region.get("startColumn", 1) >= 1
            if region.get("endLine") == region.get("startLine"):
                assert region.get("endColumn", 10**9) >= region.get("startColumn", 1)


def test_sarif_says_how_a_value_came_here() -> None:
    results = run_of(sample())["results"]
    (flow,) = [r["codeFlows"][0] for r in results if "codeFlows" in r]  # type: ignore[attr-defined]
    steps = [s["location"] for s in flow["threadFlows"][0]["locations"]]
    assert [s["physicalLocation"]["region"]["startLine"] for s in steps] == [4, 5]
    assert steps[0]["message"]["text"] == "batch comes from the loader"


def test_sarif_keeps_suppressions_and_their_reasons() -> None:
    results = run_of(sample())["results"]
    found = [s for r in results for s in r.get("suppressions", ())]  # type: ignore[attr-defined]
    assert [(s["kind"], s["justification"]) for s in found] == [
        ("inSource", "only for development"),
        ("external", "known since May"),
    ]


def test_sarif_lowers_what_does_not_fail_a_run() -> None:
    levels = {
        (r["properties"]["role"], r["properties"]["confidence"], r["level"])
        for r in run_of(sample())["results"]  # type: ignore[attr-defined]
        if r["properties"]["verdict"]["native@2.33"] in ("breaks", "falls-back")
    }
    assert ("test", "certain", "note") in levels
    assert ("vendored", "certain", "note") in levels
    assert ("code", "possible", "warning") in levels
    assert ("code", "certain", "error") in levels


def test_sarif_says_what_was_not_looked_at() -> None:
    invocation = run_of(sample())["invocations"][0]  # type: ignore[index]
    assert invocation["executionSuccessful"] is True
    ids = [n["descriptor"]["id"] for n in invocation["toolExecutionNotifications"]]
    assert ids == ["not-looked-at", "syntax-error", "too-large"]
    failed = run_of(nothing(exit_code=3, tree=Tree("p", 0, 0, 0)))["invocations"][0]  # type: ignore[index]
    assert failed["executionSuccessful"] is False
    assert failed["toolExecutionNotifications"]


def test_sarif_cuts_the_least_important_results_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sarif, "MAX_RESULTS", 30)
    monkeypatch.setattr(sarif, "SHOWN_RESULTS", 20)
    run: dict = run_of(many(90))  # type: ignore[type-arg]
    assert [r["level"] for r in run["results"]] == ["error"] * 30
    notes = [n["message"]["text"] for n in run["invocations"][0]["toolExecutionNotifications"]]
    assert notes[0].startswith("60 results of 90 left out")
    assert notes[1] == "Code scanning shows the first 20 of 30 results."
    assert {r["ruleId"] for r in run["results"]} == {
        r["id"] for r in run["tool"]["driver"]["rules"]
    }


def test_sarif_stays_below_the_size_limit_and_says_so() -> None:
    limit = 60_000
    text = "".join(sarif.render(many(8000), RenderOptions(), max_bytes=limit))
    run = json.loads(text)["runs"][0]
    assert 100 < len(run["results"]) < 8000
    assert len(zlib.compress(text.encode())) < limit
    note = run["invocations"][0]["toolExecutionNotifications"][0]
    assert note["descriptor"]["id"] == "results-left-out"
    assert f"{8000 - len(run['results']):,} results of 8,000" in note["message"]["text"]


def test_sarif_messages_hold_no_placeholder_and_no_link() -> None:
    audit = nothing(findings=[finding(message='f"cuda:{0}" [here](http://evil) {name}')])
    text = run_of(audit)["results"][0]["message"]["text"]  # type: ignore[index]
    assert text.splitlines()[0] == 'f"cuda:{{0}" [here] (http://evil) {name}'


def test_sarif_paths_come_back() -> None:
    uris = {unquote(a["location"]["uri"]) for a in run_of(sample())["artifacts"]}  # type: ignore[attr-defined]
    assert "src/größe/modell.py" in uris


# GitHub annotations


def test_github_shows_ten_of_each_level_from_different_causes_first() -> None:
    shown = text_of("github", many(300)).splitlines()
    errors = [line for line in shown if line.startswith("::error ")]
    assert len(errors) == 10
    assert len({line.partition("title=")[2] for line in errors}) == 10
    assert sum(line.startswith("::warning ") for line in shown) == 10
    assert sum(line.startswith("::notice ") for line in shown) == 10
    assert any("270 more findings without annotation" in line for line in shown)


def test_github_lines_are_commands_or_harmless() -> None:
    for line in text_of("github", hostile()).splitlines():
        if line.startswith("::"):
            head, _, message = line[2:].partition("::")
            command, _, properties = head.partition(" ")
            assert command in ("error", "warning", "notice")
            keys = [p.partition("=")[0] for p in properties.split(",")]
            assert keys == ["file", "line", "col", "title"]
            assert message
        else:
            assert not line.lstrip().startswith("::")
            assert "##[" not in line


def test_github_gives_no_columns_across_lines() -> None:
    audit = nothing(findings=[finding(location=Location("a.py", 3, 5, 6, 2))])
    line = text_of("github", audit).splitlines()[0]
    assert "file=a.py,line=3,endLine=6,title=" in line


# GitLab


def test_gitlab_fingerprints_are_unique() -> None:
    twice = finding()
    audit = nothing(findings=[twice, twice, replace(twice, fingerprint="x")])
    issues = json.loads(text_of("gitlab", audit))
    assert len(issues) == 3
    assert len({i["fingerprint"] for i in issues}) == 3


def test_gitlab_severities() -> None:
    cases = {
        "blocker": finding(),
        "critical": finding(verdict=Verdict.FALLS_BACK),
        "major": finding(verdict=Verdict.SLOW),
        "minor": finding(verdict=Verdict.LOCKS_IN),
        "info": finding(context=Context(role=Role.TEST)),
    }
    for severity, one in cases.items():
        (issue,) = json.loads(text_of("gitlab", nothing(findings=[one])))
        assert issue["severity"] == severity
        assert issue["location"] == {"path": "src/train.py", "lines": {"begin": 3, "end": 3}}
    unsure = finding(by_target={str(NATIVE): judged(Verdict.BREAKS, Confidence.POSSIBLE)})
    (issue,) = json.loads(text_of("gitlab", nothing(findings=[unsure])))
    assert issue["severity"] == "major"


def test_gitlab_lists_what_was_not_looked_at() -> None:
    issues = json.loads(text_of("gitlab", sample()))
    assert [i["location"]["path"] for i in issues if i["check_name"].startswith("not-looked")] == [
        "src/old.py",
        "data/weights.py",
    ]
    assert json.loads(text_of("gitlab", nothing())) == []


# Markdown


def test_markdown_is_short_whatever_was_found() -> None:
    audit = many(3000)
    long = "x" * 5000
    audit = replace(
        audit, not_looked_at=[NotLookedAt(f"{n}{long}", long, long) for n in range(500)]
    )
    assert len(text_of("markdown", audit)) < 65_536


def test_markdown_tables_keep_their_columns() -> None:
    for audit in (sample(), hostile()):
        rows = [x for x in text_of("markdown", audit).splitlines() if x.startswith("|")]
        assert len({row.replace("\\|", "").count("|") for row in rows}) == 1


# Text and full


@pytest.mark.parametrize("width", [10, 80, 97, 120, 400])
@pytest.mark.parametrize("audit", [sample, nothing])
def test_text_fits(width: int, audit: Callable[[], AuditResult]) -> None:
    from neuronport.reporting.screen import width_of

    shown, _, commands = text_of("text", audit(), width=width).partition("\nnext  ")
    assert all(line.startswith(("neuronport ", " ")) for line in commands.splitlines())
    for line in shown.splitlines():
        assert width_of(line) <= max(80, min(120, width)), line


def test_text_shows_the_most_important_causes_first() -> None:
    shown = text_of("text", many(3000))
    assert "What matters most (10 of 40 causes)" in shown
    assert len(re.findall(r"^ ?[0-9]+\. breaks", shown, re.M)) == 10


def test_full_shows_every_finding_and_reads_each_file_once() -> None:
    read: list[str] = []

    def source(path: str) -> list[str]:
        read.append(path)
        return [f"line {n}" for n in range(1, 90)]

    audit = many(2100)
    shown = text_of("full", audit, source=source)
    assert sum("  [rule-" in line for line in shown.splitlines()) == 2100
    assert len(read) == len(set(read)) == 700


def test_full_shows_the_span() -> None:
    shown = text_of("full", nothing(findings=[finding()]), source=SOURCE.get).splitlines()
    row = shown.index('  3 | model.to("cuda:0")')
    assert shown[row - 1] == "  2 | model = Net()"
    assert shown[row + 1] == "    |          ^^^^^^^^"
    assert shown[row + 2] == "  4 | for batch in loader:"


@pytest.mark.parametrize("lines", [None, [], ["only one"]])
def test_full_shows_what_was_seen_when_the_file_has_changed(lines: list[str] | None) -> None:
    shown = text_of("full", nothing(findings=[finding()]), source=lambda path: lines)
    assert '  3 | model.to("cuda:0")\n    |          ^^^^^^^^\n' in shown


def test_full_shows_the_span_of_a_line_of_a_megabyte() -> None:
    line = "x = 1;" * 200_000 + "model.cuda()" + ";y = 2" * 1000
    column = line.index("model") + 1
    one = finding(span=(1, column, column + 12))
    shown = text_of("full", nothing(findings=[one]), source=lambda path: [line]).splitlines()
    row = next(i for i, x in enumerate(shown) if "model.cuda()" in x)
    assert len(shown[row]) <= 100
    marks = shown[row + 1]
    assert shown[row][marks.index("^") : marks.rindex("^") + 1] == "model.cuda()"


def test_full_shows_the_span_behind_wide_and_hidden_characters() -> None:
    line = "\t模\u202e = model.cuda()"
    column = line.index("model") + 1
    one = finding(span=(1, column, column + 12))
    shown = text_of("full", nothing(findings=[one]), source=lambda path: [line])
    assert "  1 |     模\\u202e = model.cuda()\n    |                ^^^^^^^^^^^^\n" in shown


# Streams and sizes


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "color"),
    [
        (io.StringIO(), {}, False),
        (_Terminal(), {}, True),
        (_Terminal(), {"TERM": "dumb"}, False),
        (_Terminal(), {"NO_COLOR": "1"}, False),
        (_Terminal(), {"NO_COLOR": ""}, True),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (_Terminal(), {"FORCE_COLOR": "0"}, False),
        (_Terminal(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_color(stream: io.StringIO, environment: dict[str, str], color: bool) -> None:
    assert options_for(stream, environment).color is color


def test_color_adds_nothing_but_color() -> None:
    import re

    plain, colored = text_of("text", sample()), text_of("text", sample(), color=True)
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain


def test_a_pipe_gets_utf8_and_a_narrow_terminal_gets_escapes() -> None:
    raw = io.BytesIO()
    pipe = io.TextIOWrapper(raw, "latin-1", newline="\r\n")
    write(["größe 模型\n"], pipe)
    assert raw.getvalue() == "größe 模型\n".encode()

    class Narrow(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    raw = io.BytesIO()
    stream = Narrow(raw, "latin-1")
    write(["größe 模\n"], stream)
    assert raw.getvalue() == b"gr\xf6\xdfe \\u6a21\n"


@pytest.mark.parametrize("name", list(formats()))
def test_work_grows_with_the_findings_and_no_faster(name: str) -> None:
    """Calls made for four times the findings: at most a little more than four times."""

    def calls(audit: AuditResult) -> int:
        number = 0

        def count(frame: object, event: str, argument: object) -> None:
            nonlocal number
            number += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            for _ in named(name).render(audit, RenderOptions(source=SOURCE.get)):
                pass
        finally:
            sys.setprofile(None)
        return number

    text_of(name, many(50))
    small, large = calls(many(700)), calls(many(2800))
    assert large < 4.6 * small


@pytest.mark.parametrize("name", ["json", "sarif", "gitlab", "full"])
def test_large_reports_come_in_pieces(name: str) -> None:
    pieces = list(named(name).render(many(2000), RenderOptions()))
    assert max(map(len, pieces)) < sum(map(len, pieces)) / 5


def test_fifty_thousand_findings() -> None:
    audit = many(50_000)
    assert len(json.loads(text_of("json", audit))["findings"]) == 50_000
    assert "What matters most (10 of 40 causes)" in text_of("text", audit)


def test_levels_of_fail_on_reach_the_result() -> None:
    audit = replace(sample(), fail_on=Level.NONE, exit_code=0)
    assert "no level" in text_of("text", audit)
    assert isinstance(audit.findings[0], Finding)
