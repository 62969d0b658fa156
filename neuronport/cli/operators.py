"""``neuronport operators``: what is known of operators, and who says so."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from neuronport.operators import Answer

_FORMATS = ("text", "json", "markdown", "csv")
_EXIT_USAGE = 2


@click.group("operators")
def command() -> None:
    """Ask the operator table: support by path, stage and arguments, with evidence.

    Names: `torch.sort`, `F.grid_sample`, `Tensor.masked_fill_`, `nn.Conv2d`, `aten::sort.stable`,
    `hlo::cholesky`.
    """


def _target(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    from neuronport.targets import TargetError, default_target, resolve

    try:
        if isinstance(value, tuple):
            return tuple(resolve(text) for text in value) or (default_target(),)
        return resolve(value)
    except TargetError as error:
        raise click.BadParameter(str(error)) from None


_TARGETS = click.option(
    "-t",
    "--target",
    "targets",
    multiple=True,
    callback=_target,
    metavar="PATH[@SDK][:CHIP]",
    help="native (default), xla, native@2.32, xla@2.31:inf2 …; repeatable.",
)
_OVERLAYS = click.option(
    "--overlay",
    "overlays",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="What was observed (`operators observe`), laid over the table; repeatable.",
)


def _index(overlays: tuple[str, ...]) -> Any:
    from pathlib import Path

    from neuronport.operators import TableError, open_index, shared

    if not overlays:
        return shared()
    try:
        return open_index(overlays=[Path(name) for name in overlays])
    except (TableError, ValueError, KeyError) as error:
        raise click.BadParameter(str(error), param_hint="--overlay") from None


_FORMAT = click.option(
    "--format", "style", type=click.Choice(_FORMATS), default="text", show_default=True
)
_STAGE = click.option("--stage", type=click.Choice(["eager", "compiled"]), help="Only this stage.")


# -- show -------------------------------------------------------------------------------------------


@command.command("show")
@click.argument("names", nargs=-1, required=True)
@_TARGETS
@_STAGE
@click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="NAME=VALUE",
    help="What is known of an argument: beta=0.5, dtype(self)=int64, shape(self)=2,3; repeatable.",
)
@_OVERLAYS
@_FORMAT
def show(
    names: tuple[str, ...],
    targets: tuple[Any, ...],
    stage: str | None,
    arguments: tuple[str, ...],
    overlays: tuple[str, ...],
    style: str,
) -> None:
    """What is known of NAMES: status, conditions, evidence, what to write instead."""
    from neuronport.operators import STAGES, UnknownOperatorError, lookup

    call = _call(arguments)
    index = _index(overlays)
    answers: list[Answer] = []
    for name in names:
        try:
            own = _checked(call, name, index)
            answers += [
                lookup(name, target, stage=at, direction=direction, call=own, index=index)
                for target in targets
                for at in ([stage] if stage else STAGES)
                for direction in ("forward", "backward")
            ]
        except UnknownOperatorError as error:
            raise click.UsageError(str(error)) from None
    if style == "text":
        click.echo("\n\n".join(_told(group) for group in _by_name(answers)))
    else:
        _table_out(
            style,
            ("operator", "target", "stage", "direction", "status", "verdict", "confidence"),
            (
                (a.operator, a.target, a.stage, a.direction, *_words(a), a.confidence)
                for a in answers
            ),
            [a.as_json() for a in answers],
        )


def _call(arguments: Sequence[str]) -> Any:
    from dataclasses import replace

    from neuronport.operators import NOTHING_KNOWN, Argument, CallFacts

    if not arguments:
        return NOTHING_KNOWN
    known: dict[str, Argument] = {}
    for text in arguments:
        key, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r}: NAME=VALUE wanted", param_hint="--arg")
        function, _, rest = key.partition("(")
        if rest:
            name = rest.rstrip(")")
            before = known.get(name, Argument())
            if function == "dtype":
                known[name] = replace(before, dtype=value)
            elif function == "shape":
                sizes = tuple(int(n) if n.strip() != "?" else None for n in value.split(","))
                known[name] = replace(before, shape=sizes)
            else:
                raise click.BadParameter(f"{key!r}: dtype(…) or shape(…)", param_hint="--arg")
            continue
        known[key] = Argument(value=_literal(value))
    return CallFacts(known, complete=False)


def _literal(text: str) -> Any:
    """A value as Python or JSON writes it; else a word."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return text


def _checked(call: Any, name: str, index: Any) -> Any:
    """What is said of the arguments of ``name``; flags and words that are not named have their
    defaults.

    Raises BadParameter: it has no such argument.
    """
    from dataclasses import replace

    from neuronport.operators import Argument, find
    from neuronport.operators.names import canonical

    if not call.arguments:
        return call
    own = index.signature(canonical(name)) or ()
    known = {p[0] for p in own}
    for reached in find(index, name):
        for overload in index.family(reached.operator) or [reached.operator]:
            known |= {p[0] for p in (index.body(overload) or {}).get("parameters", ())}
    wrong = sorted(set(call.arguments) - known - {"input", "self"})
    if wrong and known:
        raise click.BadParameter(
            f"{name} has no argument {', '.join(wrong)}; it has {', '.join(sorted(known))}",
            param_hint="--arg",
        )
    defaults = {
        p[0]: Argument(value=p[3], given=False)
        for p in own
        if len(p) > 3 and isinstance(p[3], (bool, str)) and p[0] not in call.arguments
    }
    return replace(call, arguments={**call.arguments, **defaults})


def _by_name(answers: Iterable[Answer]) -> list[list[Answer]]:
    groups: dict[tuple[str, str], list[Answer]] = {}
    for answer in answers:
        groups.setdefault((answer.name, answer.target), []).append(answer)
    return list(groups.values())


def _words(answer: Answer) -> tuple[str, str]:
    if not answer.exists:
        return ("no gradient", "")
    return (str(answer.status), str(answer.verdict or ""))


def _told(answers: list[Answer]) -> str:
    from neuronport.operators.answer import NONE_FITS

    first = answers[0]
    lines = [f"{first.name} on {first.target}"]
    if any(answer.note == NONE_FITS for answer in answers):
        lines.append(f"  {NONE_FITS}")
    for answer in answers:
        status, verdict = _words(answer)
        if answer.direction == "backward" and not answer.exists:
            continue
        head = f"  {answer.stage} {answer.direction}: {status}"
        if verdict:
            head += f" → {verdict} ({answer.confidence})"
        lines.append(head)
        if answer.via:
            joiner = ", " if str(answer.status) == "decomposes" else " → "
            lines.append(f"    through {joiner.join(answer.via)}")
        lines += [f"    because {when}" for when in answer.conditions_met]
        for possible in answer.conditions_unknown:
            when = possible.when or "some calls"
            through = f", through {possible.via[-1]}" if possible.via else ""
            lines.append(f"    {possible.status} if {when}{through}")
        lines += [f"    [{e.kind}] {e.source}: {e.says}" for e in answer.evidence]
        for other in answer.contradictions:
            lines += [
                f"    but {other.status} [{e.kind}] {e.source}: {e.says}" for e in other.evidence
            ]
    if len(first.overloads) > 1:
        shown = [f"{name} {status}" for name, status in first.overloads.items()]
        lines.append(f"  overloads: {', '.join(shown)}")
    for workaround in first.workarounds:
        lines.append(f"  instead: {workaround.title}")
        lines += [f"      - {line}" for line in workaround.old.splitlines()]
        lines += [f"      + {line}" for line in workaround.new.splitlines()]
        lines.append(f"      {workaround.context}")
    return "\n".join(lines)


# -- list -------------------------------------------------------------------------------------------


@command.command("list")
@_TARGETS
@_STAGE
@click.option(
    "--status",
    multiple=True,
    type=click.Choice(("device", "decomposes", "cpu-fallback", "unsupported", "slow", "unknown")),
    help="Only this status, forward or backward; repeatable.",
)
@click.option("--namespace", metavar="NAME", help="Only operators of aten, torchvision, hlo …")
@click.option("--match", metavar="TEXT", help="Only operators with this text in their name.")
@click.option("--core", is_flag=True, help="Only core aten.")
@_OVERLAYS
@_FORMAT
def list_(
    targets: tuple[Any, ...],
    stage: str | None,
    status: tuple[str, ...],
    namespace: str | None,
    match: str | None,
    core: bool,
    overlays: tuple[str, ...],
    style: str,
) -> None:
    """Every operator with its status."""
    from neuronport.operators import survey

    rows = [
        row
        for row in survey.rows(targets, stage, core=core, index=_index(overlays))
        if (not status or row.forward in status or row.backward in status)
        and (not namespace or row.operator.startswith(f"{namespace}::"))
        and (not match or match in row.operator)
    ]
    _table_out(
        style,
        ("operator", "target", "stage", "forward", "backward", "confidence"),
        ((r.operator, r.target, r.stage, r.forward, r.backward, r.confidence) for r in rows),
    )


# -- diff -------------------------------------------------------------------------------------------


@command.command("diff")
@click.option("--from", "old", required=True, metavar="SDK", help="For example 2.31.")
@click.option("--to", "new", required=True, metavar="SDK", help="For example 2.33.")
@click.option("--path", type=click.Choice(["native", "xla"]), default="native", show_default=True)
@_FORMAT
def diff(old: str, new: str, path: str, style: str) -> None:
    """What changed for operators between two SDKs, as far as anybody says."""
    from neuronport.operators import survey
    from neuronport.targets import TargetError, resolve

    try:
        before, after = resolve(f"{path}@{old}"), resolve(f"{path}@{new}")
    except TargetError as error:
        raise click.UsageError(str(error)) from None
    changes = survey.changes(before, after)
    _table_out(
        style,
        ("operator", "stage", "direction", str(before), str(after)),
        ((c.operator, c.stage, c.direction, c.before, c.after) for c in changes),
    )
    undated = survey.undated(path)
    click.echo(
        f"{len(changes)} changes are known. {undated.rows} statements say nothing of an SDK:"
        f" whether they changed between {old} and {new} is not known.",
        err=True,
    )
    for note in undated.notes:
        click.echo(note, err=True)


# -- coverage ---------------------------------------------------------------------------------------


@command.command("coverage")
@_TARGETS
@_STAGE
@click.option(
    "--model", "models", multiple=True, metavar="NAME", help="A model of the list; repeatable."
)
@click.option(
    "--operators",
    "file",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help="Names of operators, one a line, spelled in any way; - is stdin.",
)
@_OVERLAYS
@_FORMAT
def coverage(
    targets: tuple[Any, ...],
    stage: str | None,
    models: tuple[str, ...],
    file: Any,
    overlays: tuple[str, ...],
    style: str,
) -> None:
    """How much is known, and what it says: core aten, OpInfo, models, by status."""
    from neuronport.operators import UnknownOperatorError, survey

    index = _index(overlays)
    names = [line.strip() for line in file if line.strip()] if file else []
    try:
        shares = survey.coverage(targets, stage, models, names, index)
    except UnknownOperatorError as error:
        raise click.UsageError(str(error)) from None
    except KeyError as error:
        known = ", ".join(index.models())
        raise click.UsageError(f"unknown model {error}; known: {known}") from None
    columns = ("set", "target", "stage", "direction", "operators", *survey.STATUSES, "unknown %")
    _table_out(
        style,
        columns,
        (
            (
                s.set,
                s.target,
                s.stage,
                s.direction,
                s.total,
                *(s.counts.get(word, 0) for word in survey.STATUSES),
                f"{s.unknown_share:.1%}",
            )
            for s in shares
        ),
    )


# -- observe ----------------------------------------------------------------------------------------


@command.command("observe")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, readable=True)
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Where the overlay goes; else stdout."
)
def observe(files: tuple[str, ...], output: str | None) -> None:
    """Read reports of Neuron's own tools into an overlay of the operator table.

    Reads torch_neuronx.analyze and neuron_parallel_compile analyze (JSON), a metrics report of
    torch_xla, get_executed_ops() and get_fallback_ops() of TorchNeuron (JSON or printed), logs of
    TorchNeuron and neuronx-cc, and TorchNeuron's docs/torch_api_compatibility.md. What contradicts
    the table is said on stderr; `--overlay FILE` of the other commands uses the result.
    """
    from pathlib import Path

    from neuronport.operators import observed

    text, problems = observed.overlay([Path(name) for name in files])
    for problem in problems:
        click.echo(problem, err=True)
    if output:
        Path(output).write_text(text, encoding="utf-8", newline="\n")
    else:
        click.echo(text, nl=False)
    for line in observed.contradictions(text):
        click.echo(line, err=True)
    if "[[row]]" not in text:
        raise SystemExit(3)


@command.command("pages")
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when a page is out of date.")
def pages(folder: str, check: bool) -> None:
    """Write the pages of docs/operators/ to FOLDER."""
    from pathlib import Path

    from neuronport.operators import pages as written

    stale = []
    for name, text in written.pages().items():
        file = Path(folder) / name
        if file.is_file() and file.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
    if check and stale:
        click.echo(f"out of date: {', '.join(stale)}", err=True)
        raise SystemExit(1)


def _table_out(
    style: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    data: list[dict[str, Any]] | None = None,
) -> None:
    cells = [[str(cell) for cell in row] for row in rows]
    if style == "json":
        found = data if data is not None else [dict(zip(columns, r, strict=True)) for r in cells]
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    elif style == "csv":
        import csv
        import io

        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(cells)
        click.echo(out.getvalue(), nl=False)
    else:
        from tabulate import tabulate

        kind = "github" if style == "markdown" else "simple"
        click.echo(tabulate(cells, headers=list(columns), tablefmt=kind, disable_numparse=True))
