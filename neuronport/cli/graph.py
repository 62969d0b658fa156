"""``neuronport graph``: trace a model and say what becomes of every operator."""

from __future__ import annotations

import sys
from typing import Any

import click

from neuronport.cli._record import record_option

_MODES = {"inference": ("inference",), "training": ("training",), "both": ("inference", "training")}


def _forms() -> list[str]:
    from neuronport.graph.reports import forms

    return forms()


class _Form(click.ParamType[str]):
    name = "format"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        if value not in _forms():
            self.fail(f"{value!r} is not one of {', '.join(_forms())}", param, ctx)
        return str(value)


@click.command("graph")
@click.argument("model")
@click.option(
    "-i",
    "--input",
    "inputs",
    multiple=True,
    metavar="EXPRESSION",
    help="An input, `randint(0,32000,(1,2048))` or `NAME=randn(1,16)`; repeatable, in order.",
)
@click.option(
    "--and",
    "more",
    multiple=True,
    metavar="EXPRESSIONS",
    help="Another set of inputs, expressions separated by `;`; repeatable.",
)
@click.option(
    "--mode",
    type=click.Choice(list(_MODES)),
    default="inference",
    show_default=True,
    help="Forward only, a training step, or both.",
)
@click.option(
    "-t",
    "--target",
    multiple=True,
    metavar="PATH[@SDK][:CHIP]",
    help="Where the model is to run: native, native@2.33, xla@2.31:inf2 …; repeatable.",
)
@click.option(
    "--range",
    "ranges",
    multiple=True,
    metavar="NAME=LOW..HIGH[/STEP]",
    help="Sizes that a dimension takes, for counting graphs and buckets; repeatable.",
)
@click.option("--batch", type=click.IntRange(1), default=1, show_default=True)
@click.option("--sequence", type=click.IntRange(1), default=128, show_default=True)
@click.option("--cache", type=click.IntRange(0), default=0, help="Tokens in a decode step's cache.")
@click.option("--dtype", default="", metavar="NAME", help="Of a configuration's parameters.")
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key of a configuration; repeatable.",
)
@click.option("--python", default="", metavar="FILE", help="The interpreter to trace with.")
@click.option(
    "--xla-python",
    default="",
    metavar="FILE",
    help="An interpreter with torch_xla: also run the graph's calls on XLA:CPU and say what fell"
    " back.",
)
@click.option(
    "--time-limit", type=click.IntRange(1), default=600, show_default=True, metavar="SECONDS"
)
@click.option(
    "--memory-limit", type=click.IntRange(0), default=8192, show_default=True, metavar="MB"
)
@click.option(
    "--no-audit", is_flag=True, help="Do not audit the files that the graph goes through."
)
@click.option(
    "--format", "form", type=_Form(), default="text", help="text, json, analyze, dot, svg."
)
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FORMAT=FILE",
    help="Also write; repeatable.",
)
@click.option(
    "--fail-on",
    type=click.Choice(("error", "warning", "note", "none")),
    default="error",
    show_default=True,
)
@record_option
def command(
    model: str,
    inputs: tuple[str, ...],
    more: tuple[str, ...],
    mode: str,
    target: tuple[str, ...],
    ranges: tuple[str, ...],
    batch: int,
    sequence: int,
    cache: int,
    dtype: str,
    overrides: tuple[str, ...],
    python: str,
    xla_python: str,
    time_limit: int,
    memory_limit: int,
    no_audit: bool,
    form: str,
    outputs: tuple[str, ...],
    fail_on: str,
    record: str | None,
) -> None:
    """Trace MODEL and say of every operator what becomes of it on AWS Neuron, with its line.

    MODEL is `module:factory`, a Python file with model() and inputs(), a folder or file with a
    Hugging Face configuration, `timm:NAME`, a .pt2 of torch.export or a TorchScript file.

    The model's code is run, in a process with limits; tensors have no storage where that is
    possible, and no weights are downloaded.

    \b
    Exit status
      0  nothing at or above --fail-on with confidence `likely` or more
      1  something
      2  usage error
      3  no graph could be captured
    """
    from neuronport.cli._record import folder_for, keep, model_files, root_for_model
    from neuronport.findings import Level
    from neuronport.graph import reports
    from neuronport.graph.findings import user_files
    from neuronport.graph.record import RecordError
    from neuronport.graph.result import judge
    from neuronport.graph.run import Request, measured, statement
    from neuronport.graph.shapes import RangeError, parse
    from neuronport.reporting.escape import terminal
    from neuronport.targets import TargetError, default_target, resolve
    from neuronport.xla_environment import XlaEnvironmentError

    try:
        targets = list(dict.fromkeys(resolve(t) for t in target)) or [default_target()]
        varying = [parse(r) for r in ranges]
        files = [_file(o) for o in outputs]
    except (TargetError, RangeError) as error:
        raise click.UsageError(str(error)) from None
    sets = [list(inputs)] if inputs else []
    sets += [[e.strip() for e in text.split(";") if e.strip()] for text in more]
    request = Request(
        model,
        sets,
        _MODES[mode],
        dtype,
        batch,
        sequence,
        cache,
        overrides,
        python,
        time_limit,
        memory_limit,
    )
    root = root_for_model(model)
    record_in = folder_for(record, root)
    click.echo(f"neuronport: {terminal(statement(request, xla_python))}", err=True)
    try:
        captured, lowering = measured(request, xla_python)
    except (RecordError, XlaEnvironmentError) as error:
        first, _, rest = str(error).partition("\n")
        click.echo(f"neuronport: {terminal(first)}", err=True)
        for line in rest.splitlines():
            click.echo(terminal(line), err=True)
        raise SystemExit(3) from None
    result = judge(
        captured,
        targets,
        varying,
        with_audit=not no_audit,
        fail_on=Level(fail_on),
        lowering=lowering,
    )
    sys.stdout.write(reports.named(form)(result))
    for name, path in files:
        try:
            with open(path, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(reports.named(name)(result))
        except OSError as error:
            click.echo(f"neuronport: {terminal(path)}: {error.strerror}", err=True)
            raise SystemExit(2) from None
    if record_in:
        from neuronport.records import Snapshot
        from neuronport.rulebook.load import rulebook

        # Only now is it known which files the graph goes through.
        looked_at = Snapshot.of_named(root, [*model_files(model), *user_files(captured)])
        keep(record_in, "graph", reports.named("json")(result), looked_at, rulebook().digest)
    if not captured.graphs:
        raise SystemExit(3)
    raise SystemExit(1 if any(result.fails(f) for f in result.findings) else 0)


def _file(text: str) -> tuple[str, str]:
    name, separator, path = text.partition("=")
    if not separator or not path or name not in _forms():
        raise click.UsageError(f"{text!r}: write FORMAT=FILE, with one of {', '.join(_forms())}")
    return name, path
