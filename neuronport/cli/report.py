"""``neuronport report``: the records joined in one page."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from neuronport.cli._outputs import Paths, named_files, output_option, say, stop

if TYPE_CHECKING:
    from neuronport.reporting.joined.model import Report

FORMATS = ("html", "markdown", "json")


@click.command("report", short_help="Join the records in one page: HTML, Markdown or JSON.")
@click.argument("folder", default=".", type=Paths())
@click.option(
    "--against",
    metavar="DIR",
    help="Compare with the records of an earlier state, or of the project before its port.",
)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="What goes to stdout, in place of a file."
)
@output_option(
    "Write a format to a file; repeatable. Default: html=report.html beside the records."
)
def command(folder: str, against: str | None, form: str | None, outputs: tuple[str, ...]) -> None:
    """Join the records that `audit`, `graph`, `port`, `compile` and `portability` left with
    `--record` in one report.

    FOLDER is a project with records in `.neuronport`, or a folder of records. The page is one file
    that needs no network. What no record says is `not measured`; stale records are named.

    \b
    Exit status
      0  the report was written
      2  usage error, or a file that cannot be written
      3  there is no record
    """
    from neuronport.records import load
    from neuronport.reporting.joined.model import build

    files = named_files(outputs, FORMATS)
    records = load(_records(folder))
    if not any(True for _ in records) and not records.problems:
        stop(
            f"{records.folder}: there is no record; make one with `neuronport audit PATH --record`",
            3,
        )
    earlier = load(_records(against)) if against is not None else None
    if earlier is not None and not any(True for _ in earlier):
        stop(f"--against {earlier.folder}: there is no record", 3)
    report = build(records, earlier)
    if form is None and not files:
        files = [("html", os.path.join(records.folder, "report.html"))]
    for name, path in files:
        _write(path, _render(name, report))
        say(f"{name} report in {path}")
    for problem in report.data["records"]["problems"]:
        say(f"{problem['file']}: {problem['reason']}")
    if form is not None:
        from neuronport.reporting.output import write

        write(_render(form, report), sys.stdout)


def _records(folder: str) -> str:
    """The folder of records of a project, or the folder itself."""
    from neuronport.records import DEFAULT_FOLDER

    inside = os.path.join(folder, DEFAULT_FOLDER)
    return inside if os.path.isdir(inside) else folder


def _render(form: str, report: Report) -> Iterator[str]:
    from neuronport.reporting import html
    from neuronport.reporting.joined import json_, markdown

    renderers: dict[str, Callable[[Report], Iterator[str]]] = {
        "html": html.render,
        "markdown": markdown.render,
        "json": json_.render,
    }
    return renderers[form](report)


def _write(path: str, chunks: Iterator[str]) -> None:
    from neuronport.workspace import WorkspaceError, atomic_write

    try:
        atomic_write(path, "".join(chunks).encode("utf-8", "backslashreplace"))
    except (OSError, WorkspaceError) as error:
        stop(f"{path}: {getattr(error, 'strerror', None) or error}", 2)
