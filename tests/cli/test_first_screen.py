"""The first screen: one screen, of every sample; what it prints can be used."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from neuronport.cli import cli
from neuronport.reporting import RenderOptions, output
from neuronport.reporting.summary import VERDICT_PHRASES
from neuronport.rulebook.words import GROUPED
from tests.cli.running import ROOT

SAMPLES = sorted(p.name for p in (ROOT / "samples").iterdir() if p.is_dir())


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(cli, [str(a) for a in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("sample", SAMPLES)
def test_it_is_one_screen(sample, monkeypatch):
    monkeypatch.chdir(ROOT)
    shown = run("audit", f"samples/{sample}", "--no-config").stdout
    lines = shown.splitlines()
    assert len(lines) <= 56
    # A command to copy is never broken.
    assert max(len(line) for line in lines if " neuronport " not in line) <= 100
    for heading in ("What matters most", "area ", "effort", "not read", "knowledge", "result"):
        assert heading in shown, heading
    assert re.search(r"^next  neuronport audit ", shown, re.M)


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("sample", SAMPLES)
def test_every_cause_says_what_and_where(sample, width, monkeypatch):
    """Whole titles, ids and places, in whatever width."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(output, "options_for", lambda *_, **__: RenderOptions(width=width))
    shown = run("audit", f"samples/{sample}", "--no-config").stdout
    part = shown.partition("What matters most")[2].partition("\n\n")[0]
    causes = re.split(r"^ ?\d+\. ", part, flags=re.M)[1:]
    report = json.loads(run("audit", f"samples/{sample}", "--no-config", "--format=json").stdout)
    groups = report["groups"][: len(causes)]
    assert len(causes) == min(10, len(report["groups"]))
    for cause, group in zip(causes, groups, strict=True):
        assert all(len(line) <= width for line in cause.splitlines())
        assert not any("…" in line.partition("→")[0] for line in cause.splitlines()[:2])
        head = cause.partition("\n    samples/")[0]
        lines = [re.sub(r" {2,}.*$", "", line.strip()) for line in head.splitlines()]
        lines[0] = re.split(r" {2,}", head.splitlines()[0])[1]
        said = " ".join(lines)
        assert group["group"].startswith("api/") or group["title"] in said, (said, group)
        at = re.search(r"^    (\S+):(\d+)", cause, re.M)
        assert (ROOT / at[1]).is_file()
        key = group["group"].removesuffix(f"/{at[1].removeprefix(f'samples/{sample}/')}:{at[2]}")
        assert f"[{key}]" in cause or key.startswith("api/")


def test_paths_are_shown_whole(project, monkeypatch):
    folder = project.joinpath(
        "a_rather_long_name_of_a_folder", "and_another_one_below_it_again", "deep"
    )
    folder.mkdir(parents=True)
    for name in ("first_module_of_it.py", "second_module_of_it.py"):
        (folder / name).write_text("import flash_attn\n")
    shown = run("audit", "a_rather_long_name_of_a_folder", "--no-config").stdout
    path = (folder / "first_module_of_it.py").relative_to(project).as_posix()
    assert f"\n    {path}:1 +1\n" in shown
    # beside the areas there is no room for the whole path
    assert f"   {path.partition('/')[2]} " in shown
    assert "…" not in shown
    monkeypatch.setattr(output, "options_for", lambda *_, **__: RenderOptions(width=80))
    shown = run("audit", "a_rather_long_name_of_a_folder", "--no-config").stdout
    assert f"\n{path} " in shown


@pytest.mark.parametrize("sample", SAMPLES)
def test_its_numbers_are_those_of_the_files(sample, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    written = tmp_path / "a.sarif"
    shown = run("audit", f"samples/{sample}", "--no-config", "-o", f"sarif={written}").stdout
    head = " ".join(shown.partition("\n\n")[2].partition("\n\n")[0].split())
    found = possible = 0
    for phrases in list(VERDICT_PHRASES.values())[:3]:
        row = re.search(
            rf"(\d+) (?:places? )?(?:{'|'.join(phrases)})(?: \((?:(\d+) )?only possible\))?", head
        )
        if row:
            found += int(row[1])
            possible += int(row[2] or row[1]) if "only possible" in row[0] else 0
    assert found
    result = re.search(r"^result +(\d+) findings? at or above level error.*", shown, re.M)
    assert int(result[1]) == found - possible
    more = re.search(r", and (\d+) possible: ", result[0])
    assert (int(more[1]) if more else 0) == possible
    results = json.loads(written.read_text())["runs"][0]["results"]
    assert sum(r["level"] == "error" for r in results) == found - possible


def following(shown: str) -> list[list[str]]:
    """The commands that a first screen ends in, as a shell splits them."""
    rows = shown.partition("\nnext  ")[2].splitlines()
    return [shlex.split(row)[1:] for row in rows]


@pytest.mark.parametrize("sample", SAMPLES)
def test_each_next_command_shows_what_it_promises(sample, monkeypatch):
    """Run where they were printed, with words of an earlier choice that would add up."""
    monkeypatch.chdir(ROOT)
    asked = ("--no-config", "--select", "device", "--select", "*", "--ignore", "shapes")
    shown = run("audit", f"samples/{sample}", *asked).stdout
    place = re.search(r"^    (\S+:\d+)", shown, re.M)[1]
    cause, rule, *others, everything = following(shown)
    assert [cause[0], rule[0], everything[0]] == ["audit", "explain", "audit"]
    page = run(*cause).stdout
    assert f"\n{place}:" in page
    assert set(re.findall(r"^\S+:\d+:\d+ .*\[(\S+)\]$", page, re.M)) >= {rule[1]}
    found = len(re.findall(r"^\S+:\d+:\d+ ", page, re.M))
    assert found < len(re.findall(r"^\S+:\d+:\d+ ", run(*everything).stdout, re.M))
    assert run(*rule).stdout.startswith(f"{rule[1]}  ")
    for other in others:
        assert other[0] == "port"
        assert run(*other).stdout.startswith("--- ")


def test_a_name_like_an_option_is_named_so_that_it_is_none(project):
    (project / "-dash").mkdir()
    (project / "-dash" / "a.py").write_text("import torch\nx = torch.ones(1).cuda()\n")
    shown = run("audit", "--no-config", "--", "-dash").stdout
    for words in following(shown):
        assert run(*words).exit_code in (0, 1), words


def test_a_cause_that_is_not_there_is_said(project):
    (project / "a.py").write_text("import torch\nx = torch.ones(1).cuda()\n")
    gone = run("audit", "--no-config", "--select", "cuda-or-cpu-choice/nosuch.py:1")
    assert "cuda-or-cpu-choice/nosuch.py:1: there is no such cause" in gone.stderr
    assert "no such cause" not in run("audit", "--no-config", "--select", "device").stderr


@pytest.mark.parametrize("sample", SAMPLES)
def test_what_it_names_is_understood(sample, monkeypatch):
    """Every id in it is one for `explain` and `--select`, every place a file and a line."""
    monkeypatch.chdir(ROOT)
    shown = run("audit", f"samples/{sample}", "--no-config").stdout
    part = shown.partition("What matters most")[2].partition("\n\n")[0]
    ids = re.findall(r"\[(\S+)\]|  (?:fix: )?(api/\S+)|fix: (\S+)$", part, re.M)
    ids = ["".join(found) for found in ids]
    assert len(ids) >= 5
    for word in dict.fromkeys(ids):
        assert run("explain", word).exit_code == 0, word
        selected = run("audit", f"samples/{sample}", "--no-config", "--select", word)
        assert "What matters most" in selected.stdout, word
    places = re.findall(r"^    (\S+):(\d+)(?: |$)", part, re.M)
    assert len(places) >= 5
    for path, line in places:
        assert len((ROOT / path).read_text().splitlines()) >= int(line)


def test_kinds_that_are_not_read_are_named_and_counted(project):
    for name in ("a.py", "b.sh", "c.sh", "Dockerfile", "requirements.txt", "k.cu", "k.cpp"):
        (project / name).write_text("")
    for name in ("n.ipynb", "c.yaml", "d.json", "pyproject.toml", "data.bin", "README.md"):
        (project / name).write_text("")
    shown = " ".join(run("audit", "--no-config").stdout.split())
    assert (
        "not read 1 Dockerfile, 1 requirements, 1 notebook (.ipynb), 2 shell, 1 CUDA (.cu), "
        "1 C and C++, 1 YAML, 1 TOML, 1 JSON, 2 other files"
    ) in shown


def test_nothing_looked_at_is_never_clean(project):
    (project / "README.md").write_text("# x\n")
    result = run("audit", "README.md", "--no-config")
    assert result.exit_code == 0
    assert "nothing was looked at, so nothing is known" in result.stdout
    assert "which is not clean" in result.stdout
    assert "nothing was looked at" in result.stderr
    quiet = run("audit", "README.md", "--no-config", "-q")
    assert "nothing was looked at" in quiet.stderr


def test_places_begin_in_the_working_folder(project):
    folder = project / "src" / "deep"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text("import flash_attn\n")
    for form in ("text", "full"):
        assert "src/deep/a.py:1" in run("audit", "src", "--format", form, "--no-config").stdout
    assert "\n    import" not in run("audit", "src", "--no-config").stdout
    assert "| import flash_attn" in run("audit", "src", "--format", "full", "--no-config").stdout
    absolute = run("audit", project / "src", "--no-config").stdout
    assert f"{project.name}/src/deep/a.py:1" in absolute or "…" in absolute
    assert '"path":"deep/a.py"' in run(
        "audit", "src", "--format", "json", "--no-config"
    ).stdout.replace('": "', '":"')


def test_places_above_the_working_folder(project, monkeypatch):
    (project / "a.py").write_text("import flash_attn\n")
    (project / "sub").mkdir()
    monkeypatch.chdir(project / "sub")
    assert "../a.py:1" in run("audit", "..", "--no-config").stdout


def test_the_next_command_keeps_what_was_asked(project):
    (project / "a.py").write_text("import flash_attn\n")
    asked = ["--target=native@2.33", "--select=libraries", "--ignore=shapes", "--exclude=old"]
    shown = run("audit", ".", *asked, "--fail-on=warning", "--no-config").stdout
    line = shown.splitlines()[-1]
    assert line.endswith("--format full")
    for word in (*asked, "--fail-on=warning", "--no-config"):
        assert word in line
    again = run(*line.split()[1:])
    assert again.exit_code == 1


def test_explain_of_a_fix_and_of_a_group():
    shown = run("explain", "device-seam").stdout
    assert "Take the device from one place" in shown
    assert "hardcoded-cuda-device" in shown
    assert "neuronport port --select device-seam" in shown
    assert '"codemod": "device-seam"' in run("explain", "device-seam", "--format", "json").stdout
    group = run("explain", "operator-support/aten::sort").stdout
    assert "is a group" in group
    assert "neuronport audit PATH --select operator-support/aten::sort --format full" in group
    assert "operators show aten::sort" in group


def test_a_fix_selects_what_it_writes(project):
    (project / "a.py").write_text("import torch\nimport flash_attn\nx = torch.ones(1).cuda()\n")
    shown = run("audit", "--select", "device-seam", "--format", "json", "--no-config").stdout
    assert "api/torch.Tensor.cuda" in shown
    assert '"api/flash_attn' not in shown


@pytest.mark.parametrize(
    "word",
    [
        "hardcoded-cuda-device/x",
        "hardcoded-cuda-device/a.py",
        "growing-tensor/a.py:3",
        "device/a.py:1",
    ],
)
def test_what_can_be_no_group_is_none(word):
    assert run("explain", word).exit_code == 2
    assert run("audit", "--no-config", "--select", word).exit_code == 2


def test_the_rules_that_name_causes_are_known():
    folder = ROOT / "neuronport" / "detectors"
    named = {
        path.stem.replace("_", "-")
        for path in folder.rglob("*.py")
        if re.search(r"\bgroup=f?\"", path.read_text())
    }
    assert named == GROUPED


@pytest.mark.parametrize("written", ["native@", "native:", "native@:trn2", "xla@2.31:"])
def test_half_a_target_is_an_error(project, written):
    (project / "a.py").write_text("")
    result = run("audit", "a.py", "--target", written)
    assert result.exit_code == 2
    assert written in result.stderr
    assert "known: " in result.stderr


def test_modules_with_many_names_are_grouped():
    shown = run("api", "apex").stdout
    assert len(shown.splitlines()) < 40
    assert "apex.amp" in shown
    assert "--all" in shown
    assert "api/apex.amp.scale_loss" not in shown
    assert "api/apex.amp.scale_loss" in run("api", "apex", "--all").stdout
