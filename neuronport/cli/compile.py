"""``neuronport compile``: compile a model with what is here, and say what came of it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from neuronport.cli._record import record_option

_MODES = {"inference": ("inference",), "training": ("training",), "both": ("inference", "training")}


def _forms() -> list[str]:
    from neuronport.compile.reports import forms

    return forms()


def _driver_names() -> list[str]:
    from neuronport.compile.drivers import drivers

    return list(drivers())


class _Named(click.ParamType[str]):
    """One of some names that are known only when the command runs."""

    def __init__(self, name: str, names: Any) -> None:
        self.name = name
        self._names = names

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        if value not in self._names():
            self.fail(f"{value!r} is not one of {', '.join(self._names())}", param, ctx)
        return str(value)


@click.command("compile")
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
    default="",
    metavar="PATH[@SDK][:CHIP]",
    help="What to compile for: native, xla:trn1 …",
)
@click.option(
    "--driver",
    "named",
    multiple=True,
    type=_Named("driver", _driver_names),
    help="Compile with this and no other; repeatable. Without: the first that can be used.",
)
@click.option(
    "--flags",
    default="",
    metavar="TEXT",
    help="Flags for Neuron's compiler, as a shell would split them.",
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
    "--format", "form", type=_Named("format", _forms), default="text", help="text, json, markdown."
)
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FORMAT=FILE",
    help="Also write; repeatable.",
)
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
    from neuronport.graph.run import Request
    from neuronport.reporting.escape import terminal
    from neuronport.reporting.output import write
    from neuronport.targets import TargetError, default_target, resolve

    try:
        goal = resolve(target) if target else default_target()
        files = [_file(o) for o in outputs]
        given = shlex.split(flags)
    except TargetError as error:
        raise click.UsageError(str(error)) from None
    except ValueError as error:
        raise click.UsageError(f"--flags: {error}") from None
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
    if keep:
        try:
            Path(keep).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            _stop(f"--keep: {keep}: {error.strerror}")
    root = root_for_model(model)
    record_in = folder_for(record, root)
    here = Here(python, xla_python, neuronx_cc)
    tools = compiling.look(here)
    use = compiling.chosen(tools, named, goal.path)
    if use:
        click.echo(f"neuronport: {terminal(compiling.statement(request, use))}", err=True)
    result = compiling.run(request, goal, here, named, given, Path(keep) if keep else None, tools)
    write([reports.named(form)(result)], sys.stdout)
    for name, path in files:
        try:
            with open(path, "wb") as stream:
                stream.write(reports.named(name)(result).encode("utf-8", "backslashreplace"))
        except OSError as error:
            _stop(f"{path}: {error.strerror}")
    if record_in:
        from neuronport.records import Snapshot

        # only now is it known which files the model was made of
        looked_at = Snapshot.of_named(root, [*model_files(model), *result.files])
        leave(record_in, "compile", reports.named("json")(result), looked_at)
    raise SystemExit(result.status)


def _stop(message: str) -> NoReturn:
    from neuronport.reporting.escape import terminal

    click.echo(f"neuronport: {terminal(message)}", err=True)
    raise SystemExit(2)


def _file(text: str) -> tuple[str, str]:
    name, separator, path = text.partition("=")
    if not separator or not path or name not in _forms():
        raise click.UsageError(f"{text!r}: write FORMAT=FILE, with one of {', '.join(_forms())}")
    return name, path
