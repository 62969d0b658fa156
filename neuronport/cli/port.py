"""``neuronport port``: rewrite what can be rewritten, keep CUDA running, say what is left."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from neuronport.cli._outputs import Paths, stop
from neuronport.cli._record import record_option


@click.command("port")
@click.argument("paths", nargs=-1, type=Paths())
@click.option(
    "--diff", "mode", flag_value="diff", default=True, help="Show what would change (default)."
)
@click.option("--write", "mode", flag_value="write", help="Change the files in place.")
@click.option(
    "--out", type=Paths(), metavar="DIR", help="Write a changed copy of the tree into DIR instead."
)
@click.option("--interactive", is_flag=True, help="Ask for each change; then --write or --out.")
@click.option(
    "--safe", "safety", flag_value="safe", default=True, help="Only safe changes (default)."
)
@click.option(
    "--review", "safety", flag_value="review", help="Also changes a person has to look at."
)
@click.option(
    "--select", multiple=True, metavar="WORD", help="Only these rules, areas or verdicts."
)
@click.option("--ignore", multiple=True, metavar="WORD", help="Not these rules, areas or verdicts.")
@click.option(
    "--annotate", is_flag=True, help="Leave a comment where something is left to do by hand."
)
@click.option(
    "--allow-dirty", is_flag=True, help="Write although git has uncommitted changes here."
)
@click.option("-t", "--target", multiple=True, metavar="PATH[@SDK][:CHIP]", help="As for `audit`.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out (as in .gitignore).")
@click.option("--no-config", is_flag=True, help="Read no pyproject.toml or neuronport.toml.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="What goes to stdout.",
)
@click.option(
    "--churn",
    "revisions",
    metavar="REV1..REV2",
    help="Count what a port changed between two git revisions (or two folders); writes nothing.",
)
@click.option(
    "--scaffold",
    metavar="PATH",
    help="Write what a path needs beside the code instead of porting it: `xla` is programs that"
    " compile, run and check the model.",
)
@click.option(
    "-j", "--jobs", type=click.IntRange(1), help="Processes (default: one per processor)."
)
@click.option("-q", "--quiet", is_flag=True, help="No summary on stderr.")
@record_option
def command(
    paths: tuple[str, ...],
    mode: str,
    out: str | None,
    interactive: bool,
    safety: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    annotate: bool,
    allow_dirty: bool,
    target: tuple[str, ...],
    exclude: tuple[str, ...],
    no_config: bool,
    form: str,
    revisions: str | None,
    scaffold: str | None,
    jobs: int | None,
    quiet: bool,
    record: str | None,
) -> None:
    """Rewrite PATHS so that they run on AWS Neuron and still run on CUDA and on the CPU.

    Shows a diff; `--write` changes the files. What stands in code is changed only where the meaning
    is known, comments and formatting stay, and suppressed findings are left alone. What cannot be
    written is listed with the reason and the ways to do it by hand.

    \b
    Exit status
      0  done, or nothing to do
      1  a file could not be rewritten and was left as it was
      2  usage or configuration error, or uncommitted changes
      3  a named path could not be looked at
    """
    from neuronport import config
    from neuronport.cli._record import folder_for, keep, not_selected
    from neuronport.codemods.churn import of_plan
    from neuronport.codemods.engine import write as writing
    from neuronport.codemods.engine.model import Change
    from neuronport.codemods.engine.plan import Options, Plan, make_plan
    from neuronport.codemods.engine.project import Project
    from neuronport.codemods.engine.scaffold import scaffold as files_of
    from neuronport.codemods.engine.scaffold import scaffolds
    from neuronport.codemods.engine.summary import summary
    from neuronport.findings import FixSafety
    from neuronport.pool import processors
    from neuronport.progress import Progress
    from neuronport.records import Snapshot
    from neuronport.reporting.escape import lines, terminal
    from neuronport.rulebook.judge import Selection
    from neuronport.rulebook.load import rulebook
    from neuronport.targets import TargetError, default_target, resolve
    from neuronport.workspace import NamedPathError, WorkspaceError, open_workspace

    named = list(paths) or ["."]
    try:
        settings = config.Config() if no_config else config.find(named[0])
        targets = list(
            dict.fromkeys(resolve(w) for w in (list(target) or settings.get("target", [])))
        ) or [default_target()]
    except (TargetError, config.ConfigError) as error:
        stop(str(error), 2)
    if scaffold and scaffold not in scaffolds():
        stop(f"--scaffold {scaffold}: there is one for {', '.join(scaffolds())}", 2)
    if revisions:
        _churn(revisions, named[0], targets, form, record)
    jobs = jobs or settings.get("jobs") or processors()
    selection = Selection(
        list(select) or settings.get("select", []), list(ignore) or settings.get("ignore", [])
    )
    choice: dict[str, Any] = {
        "exclude": settings.get("exclude", []),
        "extend_exclude": [*settings.get("extend-exclude", []), *exclude],
        "include_ignored": bool(settings.get("include-ignored")),
    }
    try:
        workspace = open_workspace(named, **choice)
    except NamedPathError as error:
        stop(str(error), 3)
    if mode == "write" and not out and not allow_dirty:
        try:
            changed = writing.dirty(workspace.root, [])
        except OSError as error:
            stop(f"{error}; --allow-dirty writes all the same", 2)
        if changed:
            more = " …" if len(changed) > 3 else ""
            stop(
                f"uncommitted changes ({', '.join(changed[:3])}{more}); commit them, so that the "
                "port can be told from them and undone, or pass --allow-dirty",
                2,
            )
    python = [f for f in workspace.files if f.kind in ("python", "stub")]
    record_in = folder_for(record, workspace.root)

    def looked_at() -> Snapshot:
        # Opened anew: a port that was written in place is about the files that it left.
        now = open_workspace(named, **choice)
        files = [f for f in now.files if f.kind in ("python", "stub")]
        extra = [settings.file] if settings.file else []
        return Snapshot.of(now, files, paths=named, extra=extra, **choice)

    snapshot = looked_at() if record_in else None
    progress = Progress(len(python), {"read": "reading", "judge": "judging"})
    try:
        project = Project(workspace, targets, progress.step, jobs)
    finally:
        progress.close()
    wanted = {FixSafety.SAFE} if safety == "safe" else {FixSafety.SAFE, FixSafety.REVIEW}

    answers = _Answers()

    def ask(change: Change) -> bool:
        return answers.ask(change, project) if interactive else True

    if scaffold:
        plan = Plan()
        plan.rewritten, there = files_of(project, scaffold)
        for path in there if not quiet else ():
            click.echo(f"{path} is there already and stays", err=True)
    else:
        fixable = len({f.location.path for f in project.part.findings if f.fix})
        progress = Progress(fixable, {"plan": "planning", "rewrite": "rewriting"})
        step = (lambda phase: None) if interactive else progress.step
        options = Options(selection.wants, frozenset(wanted), ask, annotate, step, jobs)
        try:
            plan = make_plan(project, options)
        finally:
            progress.close()
    missed = sorted(
        [*workspace.not_looked_at, *project.part.not_looked_at], key=lambda n: (n.path, n.reason)
    )
    # Counted before anything is written: afterwards the tree is what the port made of it.
    counted = of_plan(project, plan).as_json() if form == "json" or record_in else {}
    written: list[str] = []
    try:
        if out:
            writing.write_copy(project, plan, out)
            written = [item.path for item in plan.rewritten]
        elif mode == "write":
            for path in writing.write(project, plan):
                written.append(path)
    except KeyboardInterrupt:
        what = f"{len(written)} files are written, all whole" if not out else "nothing is written"
        click.echo(f"neuronport: stopped; {what}", err=True)
        raise SystemExit(130) from None
    except (WorkspaceError, OSError) as error:
        stop(str(error), 2)
    body = ""
    if form == "json" or record_in:
        body = _json({**_as_json(plan, written, missed), "churn": counted})
    if record_in:
        rules = rulebook().digest
        about = looked_at() if written and not out else snapshot
        left_out = not_selected(selection.select, selection.ignore)
        keep(record_in, "port", body, about, rules, left_out)
    if form == "json":
        click.echo(body)
    elif mode == "diff" and not out:
        for item in plan.rewritten:
            # Whole for `git apply`; on a terminal nothing in the code may command it.
            shown = writing.diff(item)
            click.echo(lines(shown) if sys.stdout.isatty() else shown, nl=False)
    if not quiet:
        for line in summary(plan, written if out or mode == "write" else None, missed):
            click.echo(terminal(line), err=True)
    raise SystemExit(1 if plan.failed else 0)


def _churn(words: str, folder: str, targets: Sequence[Any], form: str, record: str | None) -> None:
    from neuronport.cli._record import folder_for, keep
    from neuronport.codemods.churn import as_text, churn
    from neuronport.codemods.engine.revisions import RevisionError, sides
    from neuronport.records import Snapshot
    from neuronport.workspace import NamedPathError

    root = os.path.abspath(folder if os.path.isdir(folder) else os.path.dirname(folder) or ".")
    record_in = folder_for(record, root)
    try:
        before, after = sides(words, folder, targets)
    except RevisionError as error:
        stop(str(error), 2)
    except NamedPathError as error:
        stop(str(error), 3)
    result = churn(before, after)
    if form == "json":
        click.echo(_json(result.as_json()))
    else:
        click.echo(as_text(result), nl=False)
    # Two revisions, not the files that are here: there is nothing that could change below them.
    keep(record_in, "churn", _json(result.as_json()), Snapshot(root, {}, 0))
    raise SystemExit(0)


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False)


_KEYS = {"y": "this change", "n": "not this one", "a": "this and all that follow", "q": "no more"}


class _Answers:
    """What a person says to one change after the other."""

    def __init__(self) -> None:
        self.for_all: bool | None = None

    def ask(self, change: Any, project: Any) -> bool:
        if self.for_all is not None:
            return self.for_all
        _show(change, project)
        while True:
            said = click.prompt("change it? [y,n,a,q,?]", default="y", show_default=False, err=True)
            key = str(said).strip().lower()[:1]
            if key in ("a", "q"):
                self.for_all = key == "a"
            if key in _KEYS:
                return key in ("y", "a")
            for key, means in _KEYS.items():
                click.echo(f"  {key}  {means}", err=True)


def _show(change: Any, project: Any) -> None:
    from neuronport.codemods.engine.model import apply, marks, resolve
    from neuronport.reporting.escape import terminal

    source = project.source(change.file)
    plain = {n: n.removeprefix("seam:") for e in change.edits for n in marks(e.text)}
    edits = [e._replace(text=resolve(e.text, plain)) for e in change.edits]
    first = source.line_of(min(e.start for e in edits))
    last = source.line_of(max(e.end for e in edits))
    start, end = source.line_start(first), source.line_start(last + 1)
    before = source.text[start:end].rstrip("\r\n")
    after = apply(source.text[:end], edits)[start:].rstrip("\r\n")
    place = terminal(f"{change.file}:{first}: {change.title} [{change.safety}]")
    click.echo(f"\n{place}", err=True)
    for line in before.splitlines():
        click.echo(click.style(f"- {terminal(line)}", fg="red"), err=True)
    for line in after.splitlines():
        click.echo(click.style(f"+ {terminal(line)}", fg="green"), err=True)
    if change.note:
        click.echo(f"  {terminal(change.note)}", err=True)
    if change.group:
        click.echo("  with others that make sense only together: all of them or none", err=True)


def _as_json(plan: Any, written: Sequence[str], missed: Sequence[Any]) -> dict[str, Any]:
    from neuronport.codemods.engine.write import diff

    return {
        "schema": "neuronport/port/1",
        "files": [
            {
                "path": item.path,
                "new": item.before is None,
                "written": item.path in written,
                "diff": diff(item),
            }
            for item in plan.rewritten
        ],
        "changes": [_change(c) for c in plan.changes],
        "held_back": [_change(c) for c in plan.held_back],
        "left": [x.as_json() for x in plan.left],
        "failed": [f.as_json() for f in plan.failed],
        "not_looked_at": [m.as_json() for m in missed],
    }


def _change(change: Any) -> dict[str, Any]:
    place = change.finding.location
    return {
        "path": change.file,
        "line": place.line,
        "rule": change.finding.rule,
        "fingerprint": change.finding.fingerprint,
        "codemod": change.codemod,
        "safety": str(change.safety),
        "title": change.title,
        "note": change.note,
    }
