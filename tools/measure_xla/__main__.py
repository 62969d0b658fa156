"""``python -m tools.measure_xla``: see README.md."""

from __future__ import annotations

from pathlib import Path

import click

from neuronport.operators import tables
from tools.measure_xla import check, compiler, environment, learn, outcomes, plan, run, writing
from tools.measure_xla import compare as comparing

HERE = Path(__file__).parent
FOLDER = click.option(
    "--env",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="The environment that `environment` made.",
)
SELECT = [
    click.option("--operators", default="core", show_default=True, help="core, opinfo, or names."),
    click.option("--dtypes", default=",".join(plan.DTYPES), show_default=True),
    click.option("--varied/--ordinary-only", default=True, show_default=True),
    click.option("--opinfo", is_flag=True, help="OpInfo's example calls instead of written ones."),
]


def selection(command: click.decorators.FC) -> click.decorators.FC:
    for option in reversed(SELECT):
        command = option(command)
    return command


def _cases(
    operators: str, dtypes: str, varied: bool, opinfo: bool, folder: Path | None
) -> tuple[list[plan.Case], dict[str, str]]:
    kinds = dtypes.split(",")
    if opinfo:
        if folder is None:
            raise click.UsageError("--opinfo asks the environment: give --env")
        return plan.opinfo_cases(run.ask(folder, "opinfos"), kinds), {}
    schemas = tables.load().schemas
    return plan.cases(
        schemas, plan.selected(schemas, operators), kinds, plan.read_calls(), varied=varied
    )


@click.group()
def main() -> None:
    """Measure what torch_xla does with each operator."""


@main.command("environment")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def environment_(folder: Path) -> None:
    """Install torch_xla and what it needs into FOLDER."""
    environment.create(folder.resolve())


@main.command("plan")
@click.option("--env", "folder", type=click.Path(path_type=Path, file_okay=False))
@selection
def plan_(folder: Path | None, operators: str, dtypes: str, varied: bool, opinfo: bool) -> None:
    """Print the cases, and on stderr what has none."""
    cases, without = _cases(operators, dtypes, varied, opinfo, folder)
    for case in cases:
        click.echo(case.json())
    for operator, reason in without.items():
        click.echo(f"{operator}: {reason}", err=True)


@main.command("run")
@FOLDER
@selection
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), required=True)
@click.option("--seconds", default=run.SECONDS_PER_CASE, show_default=True, help="Per case.")
@click.option("--budget", type=float, help="Seconds after which no new shard is begun.")
@click.option("--again", multiple=True, help="Statuses whose cases are measured again.")
def run_(
    folder: Path,
    operators: str,
    dtypes: str,
    varied: bool,
    opinfo: bool,
    output: Path,
    seconds: float,
    budget: float | None,
    again: tuple[str, ...],
) -> None:
    """Measure what OUTPUT does not have yet."""
    folder = folder.absolute()
    cases, _ = _cases(operators, dtypes, varied, opinfo, folder)
    if again:
        click.echo(f"{outcomes.forget(output, again)} cases again", err=True)
    left = run.run(folder, cases, output.absolute(), seconds=seconds, budget=budget)
    click.echo(f"{len(cases) - left} of {len(cases)} cases are done", err=True)


FILES = click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False, exists=True)
)


@main.command("compare")
@click.argument("one", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.argument("other", type=click.Path(path_type=Path, dir_okay=False, exists=True))
def compare_(one: Path, other: Path) -> None:
    """Say where two runs differ, and of what kind each difference is; 1 if one is unexplained."""
    left, right = outcomes.read(one), outcomes.read(other)
    found = list(comparing.compare(left, right))
    for row in found:
        click.echo("\t".join((*row.key, row.kind, row.detail)))
    kinds = sorted({row.kind for row in found})
    click.echo(f"{comparing.common(left, right)} outcomes in both, {len(found)} differ", err=True)
    for kind in kinds:
        count = sum(row.kind == kind for row in found)
        click.echo(f"{count} {kind}: {comparing.EXPLAINED.get(kind, 'not explained')}", err=True)
    if any(kind not in comparing.EXPLAINED for kind in kinds):
        raise SystemExit(1)


def _record(files: tuple[Path, ...]) -> outcomes.Record:
    return outcomes.together([outcomes.read(file) for file in files])


@main.command("results")
@FILES
@click.option("--done", required=True, help="What was run, in words, for the header.")
@click.option("--into", type=click.Path(path_type=Path, file_okay=False), default=HERE / "results")
def results_(files: tuple[Path, ...], done: str, into: Path) -> None:
    """Write the tables from one or more files of outcomes."""
    record = _record(files)
    table = tables.load()
    limits = [*compiler.read_limits(), *compiler.opcode_limits(table.rows)]
    unlisted = compiler.unlisted(record.outcomes, compiler.listed(table.rows))
    learned = learn.learn(record.outcomes, table.schemas, record.calls)
    version = record.header["versions"]["torch_xla"]
    ordinary = [o for o in record.outcomes if o.direction == "forward" and o.source == "ordinary"]

    def head(what: str) -> list[str]:
        return writing.header(record, what, done)

    documents = {
        f"torch_xla-{version}.tsv": writing.text(
            head("What torch_xla does with each call."),
            writing.CALL_COLUMNS,
            [
                *writing.calls(record.outcomes),
                *writing.reached(record.calls, {(o.operator, o.status) for o in ordinary}),
            ],
        ),
        f"conditions-{version}.tsv": writing.text(
            head("When an operator does not lower: learned from the calls."),
            writing.CONDITION_COLUMNS,
            writing.conditions(learned),
        ),
        f"compiler-{version}.tsv": writing.text(
            [
                *head("Documented limits of the compiler that lowerings run into."),
                "# opcodes that its list does not have (calls): "
                + ", ".join(f"{name} ({count})" for name, count in sorted(unlisted.items())),
            ],
            writing.COMPILER_COLUMNS,
            writing.compiler(compiler.facts(record.outcomes, limits)),
        ),
    }
    writing.write(into, documents)
    for name, content in documents.items():
        click.echo(f"{into / name}: {len(content.encode())} bytes", err=True)


@main.command("check")
@FILES
@click.option("--confirmed", is_flag=True, help="Conditions that calls on both sides bear out.")
def check_(files: tuple[Path, ...], confirmed: bool) -> None:
    """Rows of rules/operators/xla/lowering.tsv that the measurements contradict."""
    record = _record(files)
    table = tables.load()
    every = [*record.outcomes, *record.calls]
    if confirmed:
        for one in check.confirmations(table.rows, table.schemas, every):
            click.echo(f"{one.operator}\t{one.place}\t{one.says}\t{one.true} and {one.false}")
        return
    for row in check.disagreements(table.rows, table.schemas, every):
        click.echo(
            f"{row.operator}\t{row.place}\tsays {row.says}\tmeasured {row.measured}"
            f"\t{row.calls} of {row.of}\t{row.example}"
        )


if __name__ == "__main__":
    main()
