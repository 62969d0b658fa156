"""``neuronport graph``: trace a model and say what becomes of every operator."""

from __future__ import annotations

import sys

import click

from neuronport.cli._model import model_inputs, model_sizes, request_of
from neuronport.cli._outputs import Named, named_files, output_option, say, stop
from neuronport.cli._record import record_option


def _forms() -> list[str]:
    from neuronport.graph.reports import forms

    return forms()


@click.command("graph")
@model_inputs
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
@model_sizes
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
    "--format",
    "form",
    type=Named("format", _forms),
    default="text",
    help="text, json, analyze, dot, svg.",
)
@output_option()
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
    from neuronport.graph.run import measured, statement
    from neuronport.graph.shapes import RangeError, parse
    from neuronport.reporting.escape import terminal
    from neuronport.targets import TargetError, default_target, resolve
    from neuronport.xla_environment import XlaEnvironmentError

    try:
        targets = list(dict.fromkeys(resolve(t) for t in target)) or [default_target()]
        varying = [parse(r) for r in ranges]
        files = named_files(outputs, _forms())
    except (TargetError, RangeError) as error:
        raise click.UsageError(str(error)) from None
    request = request_of(
        model,
        inputs,
        more,
        mode,
        dtype=dtype,
        batch=batch,
        sequence=sequence,
        cache=cache,
        overrides=overrides,
        python=python,
        seconds=time_limit,
        megabytes=memory_limit,
    )
    root = root_for_model(model)
    record_in = folder_for(record, root)
    say(statement(request, xla_python))
    try:
        captured, lowering = measured(request, xla_python)
    except (RecordError, XlaEnvironmentError) as error:
        first, _, rest = str(error).partition("\n")
        say(first)
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
            stop(f"{path}: {error.strerror}")
    if record_in:
        from neuronport.records import Snapshot
        from neuronport.rulebook.load import rulebook

        # Only now is it known which files the graph goes through.
        looked_at = Snapshot.of_named(root, [*model_files(model), *user_files(captured)])
        keep(record_in, "graph", reports.named("json")(result), looked_at, rulebook().digest)
    if not captured.graphs:
        raise SystemExit(3)
    raise SystemExit(1 if any(result.fails(f) for f in result.findings) else 0)
