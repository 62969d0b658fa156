"""``neuronport portability``: what holds at the levels of source, artifact and performance."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from neuronport.cli._outputs import Named, Paths, named_files, output_option, say, stop
from neuronport.cli._record import record_option


def _forms() -> list[str]:
    from neuronport.portability.reports import forms

    return forms()


@click.command("portability", short_help="Say which of source, artifact and performance holds.")
@click.argument("path", default=".", type=Paths())
@click.option(
    "--records",
    "folder",
    metavar="DIR",
    help="Where the records are (default: .neuronport in PATH).",
)
@click.option(
    "--roundtrip",
    "checkpoints",
    multiple=True,
    metavar="CHECKPOINT",
    help="Load, save and load elsewhere, without unpickling: .safetensors, .pt, .pth, .bin, an "
    "index of Hugging Face or a folder; repeatable.",
)
@click.option(
    "--run",
    "runs",
    multiple=True,
    metavar="FILE",
    help="What was measured on a device, as schemas/run.json says; repeatable.",
)
@click.option(
    "--python", default="", metavar="FILE", help="An interpreter with torch, for --roundtrip."
)
@click.option(
    "--time-limit",
    type=click.IntRange(1),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="For each process of --roundtrip.",
)
@click.option(
    "--format",
    "form",
    type=Named("format", _forms),
    default="text",
    help="text (default), json, markdown.",
)
@output_option()
@click.option("--no-config", is_flag=True, help="Read no pyproject.toml or neuronport.toml.")
@record_option
def command(
    path: str,
    folder: str | None,
    checkpoints: tuple[str, ...],
    runs: tuple[str, ...],
    python: str,
    time_limit: int,
    form: str,
    outputs: tuple[str, ...],
    no_config: bool,
    record: str | None,
) -> None:
    """Say of PATH whether its source, its checkpoints and its performance move to AWS Neuron and
    back: `holds`, `holds with changes`, `fails` or `not measured`, and what that rests on.

    Reads the records that `audit`, `port` and `graph` leave with --record, and the contract in
    [tool.neuronport.contract]. Nothing is estimated: what no record shows is not measured.

    \b
    Exit status
      0  no level fails; with a contract that requires levels: those hold, as they are or with
         changes
      1  a level fails, or a required one is not shown to hold
      2  usage or configuration error
      3  a checkpoint or run that was named cannot be read
    """
    from neuronport import config
    from neuronport import records as stored
    from neuronport.cli._record import folder_for, keep
    from neuronport.portability import conclude, reports
    from neuronport.portability import runs as measured
    from neuronport.portability.contract import ContractError
    from neuronport.portability.contract import read as read_contract

    if not os.path.exists(path):
        stop(f"{path}: no such file or folder", 3)
    root = path if os.path.isdir(path) else os.path.dirname(path) or "."
    files = named_files(outputs, _forms())
    contract = None
    settings = config.Config()
    try:
        if not no_config:
            settings = config.find(path)
        if settings.get("contract") is not None:
            contract = read_contract(settings.get("contract"), settings.file)
    except (config.ConfigError, ContractError) as error:
        stop(str(error), 2)
    record_in = folder_for(record, root)
    named = folder or os.path.normpath(os.path.join(root, stored.DEFAULT_FOLDER))
    found = stored.load(named)
    if folder and not found.exists:
        stop(f"{folder}: no such folder", 2)
    given = []
    unread = False
    for file in runs:
        run = stored.read(file)
        if isinstance(run, stored.Problem):
            say(f"{run}; see schemas/run.json")
            unread = True
        elif run.kind != "run":
            say(f"{file}: a record of {run.kind}, not of a run; see schemas/run.json")
            unread = True
        else:
            given.append(run)
            try:
                measured.read(run.body, run.file)
            except measured.RunError as error:
                say(f"{error}; see schemas/run.json")
                unread = True
    trips = _trips(checkpoints, python, time_limit)
    unread = unread or any(t.status == "unreadable" for t in trips)
    name = os.path.basename(os.path.abspath(root))
    result = conclude(found, contract=contract, runs=given, trips=trips, tree=name)
    _write(reports.named(form)(result), sys.stdout)
    for output, target in files:
        try:
            with open(target, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(reports.named(output)(result))
        except OSError as error:
            stop(f"{target}: cannot be written: {error.strerror}", 2)
    if record_in:
        inputs = [s.file for s in result.sources if s.file]
        inputs += [f for t in trips for f in t.files]
        inputs += [settings.file] if contract else []
        snapshot = stored.Snapshot.of_named(os.path.abspath(root), inputs)
        keep(record_in, "portability", reports.named("json")(result), snapshot)
    raise SystemExit(3 if unread else 1 if result.broken else 0)


def _trips(checkpoints: Sequence[str], python: str, seconds: int) -> list[Any]:
    if not checkpoints:
        return []
    from neuronport.portability.checkpoints.roundtrip import roundtrip

    trips = []
    for checkpoint in checkpoints:
        say(f"reads {checkpoint} without running it, saves it again in a temporary folder")
        trip = roundtrip(checkpoint, python=python, seconds=seconds)
        if trip.problem:
            say(f"{checkpoint}: {trip.problem}{'; ' if trip.remedy else ''}{trip.remedy}")
        trips.append(trip)
    return trips


def _write(text: str, stream: Any) -> None:
    from neuronport.reporting.output import write

    write([text], stream)
