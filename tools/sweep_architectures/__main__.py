from __future__ import annotations

from pathlib import Path

import click

from tools.sweep_architectures.sweep import architectures, read, sweep
from tools.sweep_architectures.write import page


@click.group()
def main() -> None:
    """Tiny models of every architecture in the installed transformers."""


@main.command("run")
@click.argument("results", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--only", multiple=True, metavar="NAME", help="Only these; repeatable.")
@click.option("--training/--no-training", default=True)
def run(results: Path, only: tuple[str, ...], training: bool) -> None:
    """Add to RESULTS what it does not have yet."""
    sweep(results, only or architectures(), training)


@main.command("write")
@click.argument("results", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
def write(results: Path, out: Path) -> None:
    """Write the page OUT from RESULTS."""
    out.write_text(page(read(results), len(architectures())), encoding="utf-8")


main()
