"""``neuronport audit``: look at a tree and say what it means on Neuron."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from typing import IO, Any

import click

from neuronport.cli._outputs import Named, Paths, output_option, say, stop
from neuronport.cli._record import record_option

LEVELS = ("error", "warning", "note", "none")


def _formats() -> list[str]:
    from neuronport.reporting.registry import formats

    return list(formats())


@click.command(
    "audit", short_help="Say what in a project breaks or falls back on Neuron, and where."
)
@click.argument("paths", nargs=-1, type=Paths(allow_dash=True))
@click.option(
    "-t",
    "--target",
    multiple=True,
    metavar="PATH[@SDK][:CHIP]",
    help="Where the code is to run: native, native@2.33, xla@2.31:inf2 …; repeatable.",
)
@click.option(
    "--select",
    multiple=True,
    metavar="WORD",
    help="Only these rules, areas, verdicts, groups or fixes (as reports name them); repeatable.",
)
@click.option("--ignore", multiple=True, metavar="WORD", help="Not these; as for --select.")
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=Named("format", _formats),
    help="What goes to stdout: text (default), full, json, sarif, github, gitlab, markdown.",
)
@output_option("Also write a format to a file; repeatable.")
@click.option(
    "--fail-on",
    type=click.Choice(LEVELS),
    help="Exit with 1 for findings at or above this level (default: error).",
)
@click.option(
    "--fail-role",
    "fail_roles",
    multiple=True,
    type=click.Choice(["code", "test", "example", "vendored"]),
    help="Which parts of the project can fail the run (default: code).",
)
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out (as in .gitignore).")
@click.option(
    "--include-ignored", is_flag=True, default=None, help="Also what .gitignore leaves out."
)
@click.option(
    "--baseline", "baseline_file", type=Paths(), metavar="FILE", help="Findings known and accepted."
)
@click.option(
    "--write-baseline", type=Paths(), metavar="FILE", help="Accept all findings of now into FILE."
)
@click.option("--no-config", is_flag=True, help="Read no pyproject.toml or neuronport.toml.")
@click.option("--stdin-filename", default="<stdin>", metavar="NAME", help="What `-` is called.")
@click.option(
    "-j", "--jobs", type=click.IntRange(1), help="Processes (default: one per processor)."
)
@click.option("--no-cache", is_flag=True, help="Neither use nor keep what earlier runs found out.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing on stdout; the exit code says it.")
@record_option
def command(
    paths: tuple[str, ...],
    target: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    formats: tuple[str, ...],
    outputs: tuple[str, ...],
    fail_on: str | None,
    fail_roles: tuple[str, ...],
    exclude: tuple[str, ...],
    include_ignored: bool | None,
    baseline_file: str | None,
    write_baseline: str | None,
    no_config: bool,
    stdin_filename: str,
    jobs: int | None,
    no_cache: bool,
    quiet: bool,
    record: str | None,
) -> None:
    """Say what in PATHS breaks, falls back to the CPU, recompiles or computes something else on
    AWS Neuron: where, how sure, and who says so.

    PATHS are files or folders (default: the current one); `-` reads one Python file from stdin.
    The audit only looks: nothing is imported, run or changed. It reads Python; which other kinds
    of files are there is said and counted.

    \b
    Exit status
      0  nothing at or above --fail-on with confidence `likely` or more
      1  something
      2  usage or configuration error
      3  a named path, or everything, could not be looked at
    """
    from neuronport import assemble, baseline, config
    from neuronport.audit_cache.store import open_store
    from neuronport.findings import Level, Role
    from neuronport.pool import audit_python, processors
    from neuronport.progress import Progress
    from neuronport.rulebook.judge import Selection
    from neuronport.rulebook.load import rulebook
    from neuronport.rulebook.model import RuleError
    from neuronport.targets import TargetError, default_target, resolve
    from neuronport.workspace import (
        READ_KINDS,
        NamedPathError,
        StdinFile,
        WorkspaceError,
        open_workspace,
    )

    named = list(paths) or ["."]
    files = _files(outputs)
    settings = config.Config()
    try:
        settings = config.Config() if no_config else config.find(_first_path(named))
        words = list(target) or settings.get("target", [])
        targets = list(dict.fromkeys(resolve(w) for w in words)) or [default_target()]
        book = rulebook()
        known_file = baseline_file or settings.get("baseline")
        if known_file and not baseline_file and settings.file:
            known_file = os.path.join(os.path.dirname(settings.file), known_file)
        known = baseline.load(known_file) if known_file else {}
        reasons = dict(known)
        if write_baseline and os.path.exists(write_baseline):
            reasons = {**baseline.load(write_baseline), **known}
        level = Level(fail_on or _setting(settings, "fail-on", ["error"], list(Level))[0])
        roles = frozenset(
            Role(r) for r in fail_roles or _setting(settings, "fail-roles", ["code"], list(Role))
        )
    except TargetError as error:
        stop(f"{'' if target else settings.file + ': target: '}{error}", assemble.EXIT_USAGE)
    except (RuleError, config.ConfigError, baseline.BaselineError) as error:
        stop(str(error), assemble.EXIT_USAGE)
    if record is not None and "-" in named:
        stop("--record is for what is in a tree, not for `-`", assemble.EXIT_USAGE)
    selection = Selection(
        list(select) or settings.get("select", []), list(ignore) or settings.get("ignore", [])
    )
    _check_selection(selection, book, "" if select or ignore else settings.file)
    try:
        workspace = open_workspace(
            named,
            exclude=settings.get("exclude", []),
            extend_exclude=[*settings.get("extend-exclude", []), *exclude],
            include_ignored=bool(
                include_ignored if include_ignored is not None else settings.get("include-ignored")
            ),
            stdin=_stdin() if "-" in named else None,
            stdin_name=stdin_filename,
        )
    except NamedPathError as error:
        stop(str(error), assemble.EXIT_NOT_LOOKED_AT)
    if problem := _overwritten(workspace, files):
        stop(problem, assemble.EXIT_USAGE)
    python = [f for f in workspace.files if f.kind in READ_KINDS]
    if not python:
        reasons_of = Counter(row.reason for row in workspace.not_looked_at)
        why = ", ".join(f"{n:,} {reason}" for reason, n in sorted(reasons_of.items()))
        where = " ".join(named)
        first = (
            f"nothing is left to be read in {where} ({why})"
            if why
            else f"no Python file in {where}"
        )
        say(f"{first}: nothing was looked at, so nothing is known of it")
    record_in, snapshot = _recording(
        record, workspace, python, named, exclude, settings, known_file, include_ignored
    )
    progress = Progress(len(python), {"read": "reading", "judge": "judging"})
    try:
        part = audit_python(
            python,
            targets,
            jobs or settings.get("jobs") or processors(),
            progress.step,
            None if no_cache or all(isinstance(f, StdinFile) for f in python) else open_store(),
        )
    finally:
        progress.close()
    by_name = {os.path.realpath(p) for p in named if p != "-" and not os.path.isdir(p)}
    result = assemble.assemble(
        part=part,
        workspace=workspace,
        shown_root=" ".join(named),
        targets=targets,
        book=book,
        selection=selection,
        known=known,
        fail_on=level,
        fail_roles=roles,
        command=[
            *(f"./{path}" if path.startswith("-") and path != "-" else path for path in named),
            *_given("target", target),
            *_given("select", select),
            *_given("ignore", ignore),
            *_given("exclude", exclude),
            *(["--no-config"] if no_config else []),
        ],
        audit_options=[
            *(["--include-ignored"] if include_ignored else []),
            *_given("fail-on", [fail_on] if fail_on else []),
            *_given("fail-role", fail_roles),
            *_given("baseline", [baseline_file] if baseline_file else []),
            *_given("stdin-filename", [] if stdin_filename == "<stdin>" else [stdin_filename]),
        ],
        named=frozenset(
            f.path
            for f in python
            if isinstance(f, StdinFile) or (by_name and os.path.realpath(f.absolute) in by_name)
        ),
    )
    _say_what_is_not_there(selection, book, result)
    if write_baseline:
        try:
            baseline.write(write_baseline, [*result.findings, *result.baselined], reasons)
        except WorkspaceError as error:
            stop(f"{write_baseline}: cannot be written: {error.detail or error.reason}", 2)
        count = len(result.findings)
        accepted = f"{count} {'finding' if count == 1 else 'findings'} accepted"
        click.echo(f"{accepted} in {_shown(write_baseline)}", err=True)
    if record_in:
        from neuronport.cli._record import keep, not_selected
        from neuronport.reporting.registry import named as format_named
        from neuronport.reporting.result import RenderOptions

        body = "".join(format_named("json").render(result, RenderOptions()))
        left_out = not_selected(selection.select, selection.ignore)
        keep(record_in, "audit", body, snapshot, book.digest, left_out)
    absolute = all(os.path.isabs(p) for p in named)
    _report(result, workspace, formats or (() if quiet else ("text",)), files, absolute)
    raise SystemExit(0 if write_baseline else result.exit_code)


def _setting(settings: Any, key: str, default: list[str], known: Sequence[str]) -> list[str]:
    """The words of a setting, each one of a few; the options check their own."""
    value = settings.get(key, default)
    words = [value] if isinstance(value, str) else value
    for word in words:
        if word not in known:
            stop(f"{settings.file}: {key}: {word!r} is none of {', '.join(known)}", 2)
    if not words:
        stop(f"{settings.file}: {key} is empty; known: {', '.join(known)}", 2)
    return list(words)


def _stdin() -> bytes:
    if sys.stdin is None:
        stop("standard input is closed", 3)
    return sys.stdin.buffer.read()


def _overwritten(workspace: Any, files: Sequence[tuple[str, str]]) -> str:
    """What is wrong with the files to be written; empty: nothing."""
    from neuronport.workspace import READ_KINDS

    if not files:
        return ""
    audited = {os.path.realpath(f.absolute) for f in workspace.files if f.kind in READ_KINDS}
    seen: set[str] = set()
    for _, path in files:
        real = os.path.realpath(path)
        if real in audited:
            return f"{path}: is one of the files to be audited, which are never changed"
        if real in seen and not os.path.exists(real):
            return f"{path}: two formats into one file"
        seen.add(real)
    return ""


def _given(option: str, values: Sequence[str]) -> list[str]:
    return [f"--{option}={value}" for value in values]


def _recording(
    record: str | None,
    workspace: Any,
    files: Sequence[Any],
    named: Sequence[str],
    exclude: Sequence[str],
    settings: Any,
    baseline_file: str | None,
    include_ignored: bool | None,
) -> tuple[str | None, Any]:
    """Where a record goes, and what the audit is about to look at."""
    from neuronport.cli._record import folder_for

    folder = folder_for(record, workspace.root)
    if folder is None:
        return None, None
    from neuronport.records import Snapshot

    return folder, Snapshot.of(
        workspace,
        files,
        paths=named,
        extra=[f for f in (settings.file, baseline_file) if f],
        exclude=settings.get("exclude", []),
        extend_exclude=[*settings.get("extend-exclude", []), *exclude],
        include_ignored=bool(
            include_ignored if include_ignored is not None else settings.get("include-ignored")
        ),
    )


def _first_path(named: Sequence[str]) -> str:
    return next((p for p in named if p != "-"), ".")


def _files(outputs: Sequence[str]) -> list[tuple[str, str]]:
    result = []
    for output in outputs:
        name, separator, path = output.partition("=")
        if not separator or not path:
            raise click.BadParameter(
                f"{output!r}: write FORMAT=FILE, for example sarif=audit.sarif"
            )
        if name not in _formats():
            raise click.BadParameter(f"{name!r} is not one of {', '.join(_formats())}")
        result.append((name, path))
    return result


def _check_selection(selection: Any, book: Any, file: str) -> None:
    from neuronport.rulebook.words import is_known

    for word in (*selection.select, *selection.ignore):
        if not is_known(word, book):
            where = f"{file}: " if file else ""
            stop(
                f"{where}{word!r} is no rule, area or verdict, nor a group or a fix that a report "
                "names; `neuronport rules` lists them",
                2,
            )


def _say_what_is_not_there(selection: Any, book: Any, result: Any) -> None:
    """A cause that was asked for and has no findings here: it may be gone, or be another tree's."""
    from neuronport.rulebook.words import fits, group_rule

    found = (*result.findings, *result.references, *result.suppressed, *result.baselined)
    asked = [w for w in selection.select if book.get(w) is None and group_rule(w, book)]
    for word in asked:
        if not any(fits(word, finding) for finding in found):
            say(f"{word}: there is no such cause in what was looked at")


def _report(
    result: Any,
    workspace: Any,
    formats: Sequence[str],
    files: Sequence[tuple[str, str]],
    absolute: bool,
) -> None:
    """``absolute``: what was named is, so what is shown is."""
    from dataclasses import replace
    from functools import cache

    from neuronport.reporting import relocate
    from neuronport.reporting.output import options_for, write
    from neuronport.reporting.registry import named as format_named
    from neuronport.workspace import StdinFile

    source = _source_reader(workspace)
    stdin = {f.path for f in workspace.files if isinstance(f, StdinFile)}
    before = relocate.from_here(workspace.root, absolute)

    @cache
    def for_servers() -> Any:
        return relocate.below(result, relocate.prefix(workspace.root), stdin)

    @cache
    def for_people() -> Any:
        return relocate.below(result, before, stdin)

    def rendered(name: str, options: Any) -> Any:
        if name in relocate.FORMATS:
            return format_named(name).render(for_servers(), options)
        if name in relocate.FOR_PEOPLE:
            options = replace(options, source=_source_reader(workspace, before))
            return format_named(name).render(for_people(), options)
        return format_named(name).render(result, options)

    for name in formats:
        write(rendered(name, options_for(sys.stdout, source=source)), sys.stdout)
    for name, path in files:
        try:
            with open(path, "w", encoding="utf-8", newline="\n") as stream:
                _write_file(rendered(name, options_for(stream, {}, source)), stream)
        except OSError as error:
            stop(f"{path}: cannot be written: {error.strerror}", 2)


def _write_file(chunks: Any, stream: IO[str]) -> None:
    from neuronport.reporting.output import write

    write(chunks, stream)  # type: ignore[arg-type]


def _source_reader(workspace: Any, before: str = "") -> Any:
    """Reads the lines of a file by its path in a report, which begins with ``before``."""
    from neuronport.workspace import (
        StdinFile,
        Undecodable,
        WorkspaceError,
        decode_python,
        read_source,
        split_lines,
    )

    by_path = {f.path if isinstance(f, StdinFile) else before + f.path: f for f in workspace.files}

    def lines(path: str) -> list[str] | None:
        file = by_path.get(path)
        if file is None:
            return None
        try:
            return split_lines(decode_python(read_source(file)).text)
        except (WorkspaceError, Undecodable):
            return None

    return lines


def _shown(text: str) -> str:
    """Names of files are anyone's: nothing in them reaches the terminal as a command to it."""
    from neuronport.reporting.escape import terminal

    return terminal(text)
