"""Documentation that says what is so: generated pages, the help in the README, tables, links."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from neuronport import assemble, config
from neuronport.cli import cli
from neuronport.findings import Level, Role
from neuronport.reporting.registry import formats
from neuronport.targets import paths
from tests.cli.running import environment

ROOT = Path(__file__).parents[1]
USING = (ROOT / "docs" / "using.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def table_under(heading: str) -> dict[str, list[str]]:
    """First cell → the other cells, of the first table below a heading of using.md."""
    section = re.split(r"^## ", USING.partition(f"\n## {heading}\n")[2], maxsplit=1, flags=re.M)[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    assert rows, heading
    cells = [[c.strip() for c in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]
    return {row[0]: row[1:] for row in cells}


def test_the_pages_of_the_rules_are_those_of_the_rules():
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "tools/generate_docs.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert generate.changes() == [], "run: python tools/generate_docs.py"


def test_the_help_in_the_readme():
    """UPDATE_SNAPSHOTS=1 writes it."""
    shown = CliRunner().invoke(cli, ["--help"], prog_name="neuronport", terminal_width=100).stdout
    block = f"```text\n$ neuronport --help\n{shown}```"
    there = re.search(r"```text\n\$ neuronport --help\n.*?```", README, re.S)
    assert there is not None
    if os.environ.get("UPDATE_SNAPSHOTS"):
        changed = README.replace(there[0], block)
        (ROOT / "README.md").write_text(changed, encoding="utf-8", newline="\n")
    else:
        assert there[0] == block


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
def test_the_first_command_leaves_what_the_readme_says(tmp_path):
    """All but what runs the model, which needs torch."""
    samples = tmp_path / "samples"
    ignored = shutil.ignore_patterns(".neuronport", "__pycache__", "out")
    shutil.copytree(ROOT / "samples" / "gpt_trainer", samples / "gpt_trainer", ignore=ignored)
    shutil.copy(ROOT / "samples" / "tour.sh", samples)
    command = tmp_path / "neuronport"
    command.write_text(
        f'#!/bin/sh\ncase $1 in graph|compile) exit ;; esac\nexec "{sys.executable}" -m neuronport "$@"\n'
    )
    command.chmod(0o755)
    done = subprocess.run(
        ["sh", "samples/tour.sh", str(command)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert "What matters most" in done.stdout
    section = README.partition("samples/tour.sh")[2].partition("![")[0]
    left = re.findall(r"`(samples/[^`]+\.[a-z]+)`", section)
    assert sorted(Path(name).suffix for name in left) == [".diff", ".html", ".sarif"]
    for name in left:
        assert (tmp_path / name).stat().st_size > 1000, name
    assert json.loads((samples / "gpt_trainer.sarif").read_text())["version"] == "2.1.0"


def test_every_exit_status():
    rows = table_under("Exit status")
    for status in (
        assemble.EXIT_CLEAN,
        assemble.EXIT_FINDINGS,
        assemble.EXIT_USAGE,
        assemble.EXIT_NOT_LOOKED_AT,
    ):
        assert str(status) in rows


def test_every_format():
    assert {name.strip("`") for name in table_under("Formats")} == set(formats())


def test_every_setting():
    keys = {k for cell in table_under("Configuration") for k in re.findall(r"`([^`]+)`", cell)}
    assert keys == {*config._LISTS, *config._WORDS, *config._NUMBERS, *config._SWITCHES}
    assert all(f"The table `{key}` says" in USING for key in config._TABLES)
    options = {option for p in cli.get_command(None, "audit").params for option in p.opts}
    named = " ".join(cell for row in table_under("Configuration").values() for cell in row)
    assert set(re.findall(r"--[a-z-]+", named)) <= options
    assert all(level in USING for level in Level)
    assert all(f"`{role}`" in USING for role in Role)


def test_every_target():
    rows = table_under("Targets")
    assert {name: [", ".join(p.sdks), ", ".join(p.chips)] for name, p in paths().items()} == {
        name.strip("`"): cells for name, cells in rows.items()
    }


def test_the_settings_shown_are_settings(tmp_path):
    (example,) = re.findall(r"```toml\n(.*?)```", USING, re.S)
    (tmp_path / "pyproject.toml").write_text(example)
    assert config.read(str(tmp_path / "pyproject.toml")).get("fail-on") == "warning"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target.partition("#")[0]).exists(), target


def test_every_link_of_the_index_of_rules():
    folder = ROOT / "docs" / "rules"
    index = (folder / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", index)
    assert len(links) > 50
    for target in links:
        name, _, anchor = target.partition("#")
        text = (folder / name).read_text(encoding="utf-8")
        assert not anchor or f"\n## `{anchor}`\n" in text


def test_the_commands_that_texts_name_are_there():
    texts = [*PAGES, *(ROOT / "docs" / "rules").glob("*.md"), *(ROOT / "rules").rglob("*.toml")]
    named = 0
    for text in texts:
        for words in re.findall(r"`neuronport ([a-z][^`\n]*)`", text.read_text(encoding="utf-8")):
            first, *rest = words.split()
            command = cli.get_command(None, first)
            assert command is not None, (text, words)
            if isinstance(command, click.Group) and rest:
                assert command.get_command(None, rest[0]) is not None, (text, words)
            named += 1
    assert named > 5
