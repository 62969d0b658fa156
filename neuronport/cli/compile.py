"""``neuronport compile``: compile a model with what is here, and say what came of it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from neuronport.cli._model import model_inputs, model_sizes, request_of
from neuronport.cli._outputs import Named, named_files, output_option, say, stop
from neuronport.cli._record import record_option


def _forms() -> list[str]:
    from neuronport.compile.reports import forms

    return forms()


def _driver_names() -> list[str]:
    from neuronport.compile.drivers import drivers

    return list(drivers())


@click.command("compile")
@model_inputs
@click.option(
    "-t",
    "--target",
    default="",
    metavar="PATH[@SDK][:CHIP]",
    help="What to compile for: native, xla:trn1 …",
)
@click.option(
    "--driver",
    "named",
    multiple=True,
    type=Named("driver", _driver_names),
    help="Compile with this and no other; repeatable. Without: the first that can be used.",
)
@click.option(
    "--flags",
    default="",
    metavar="TEXT",
    help="Flags for Neuron's compiler, as a shell would split them.",
)
@model_sizes
@click.option(
    "--python",
    default="",
    metavar="FILE",
    help="The interpreter of the environment with torch, and with Neuron's packages.",
)
@click.option(
    "--xla-python",
    default="",
    metavar="FILE",
    help="An interpreter with torch_xla, which lowers to HLO.",
)
@click.option(
    "--neuronx-cc", default="", metavar="FILE", help="The compiler, if it is not on PATH."
)
@click.option(
    "--keep", default="", metavar="DIR", help="Keep what is made (NEFF, HLO, TorchScript) there."
)
@click.option(
    "--time-limit",
    type=click.IntRange(1),
    default=1800,
    show_default=True,
    metavar="SECONDS",
    help="Of each process that is started.",
)
@click.option(
    "--memory-limit", type=click.IntRange(0), default=16384, show_default=True, metavar="MB"
)
@click.option(
    "--format", "form", type=Named("format", _forms), default="text", help="text, json, markdown."
)
@output_option()
@record_option
def command(
    model: str,
    inputs: tuple[str, ...],
    more: tuple[str, ...],
    mode: str,
    target: str,
    named: tuple[str, ...],
    flags: str,
    batch: int,
    sequence: int,
    cache: int,
    dtype: str,
    overrides: tuple[str, ...],
    python: str,
    xla_python: str,
    neuronx_cc: str,
    keep: str,
    time_limit: int,
    memory_limit: int,
    form: str,
    outputs: tuple[str, ...],
    record: str | None,
) -> None:
    """Compile MODEL with the compilers that are here: Neuron's, or else XLA's for the CPU.

    MODEL is named as for `graph`. Its code is run, in a process with limits.

    Seconds of XLA's compiler for the CPU are named so wherever they are shown: they say nothing of
    Neuron's.

    \b
    Exit status
      0  every graph was compiled, by Neuron's compiler or by the drivers that were named
      1  a graph was not compiled
      2  usage error
      3  nothing could be tried: the model cannot be captured, a tool fails
      4  no Neuron compiler is here; what another did is shown, and named
    """
    from neuronport.cli._record import folder_for, model_files, root_for_model
    from neuronport.cli._record import keep as leave
    from neuronport.compile import reports
    from neuronport.compile import run as compiling
    from neuronport.compile.here import Here
    from neuronport.reporting.output import write
    from neuronport.targets import TargetError, default_target, resolve

    try:
        goal = resolve(target) if target else default_target()
        files = named_files(outputs, _forms())
        given = shlex.split(flags)
    except TargetError as error:
        raise click.UsageError(str(error)) from None
    except ValueError as error:
        raise click.UsageError(f"--flags: {error}") from None
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
    if keep:
        try:
            Path(keep).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            stop(f"--keep: {keep}: {error.strerror}")
    root = root_for_model(model)
    record_in = folder_for(record, root)
    here = Here(python, xla_python, neuronx_cc)
    tools = compiling.look(here)
    use = compiling.chosen(tools, named, goal.path)
    if use:
        say(compiling.statement(request, use))
    result = compiling.run(request, goal, here, named, given, Path(keep) if keep else None, tools)
    write([reports.named(form)(result)], sys.stdout)
    for name, path in files:
        try:
            with open(path, "wb") as stream:
                stream.write(reports.named(name)(result).encode("utf-8", "backslashreplace"))
        except OSError as error:
            stop(f"{path}: {error.strerror}")
    if record_in:
        from neuronport.records import Snapshot

        # only now is it known which files the model was made of
        looked_at = Snapshot.of_named(root, [*model_files(model), *result.files])
        leave(record_in, "compile", reports.named("json")(result), looked_at)
    raise SystemExit(result.status)
