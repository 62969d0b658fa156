from __future__ import annotations

from pathlib import Path

import click

from tools.sweep_architectures import components
from tools.sweep_architectures.sweep import architectures, read, sweep
from tools.sweep_architectures.write import components_section, page


@click.group()
def main() -> None:
    """Tiny models of every architecture in the installed transformers."""


@main.command("run")
@click.argument("results", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--only", multiple=True, metavar="NAME", help="Only these; repeatable.")
@click.option("--training/--no-training", default=True)
@click.option("--again", is_flag=True, help="Those that RESULTS has, too.")
def run(results: Path, only: tuple[str, ...], training: bool, again: bool) -> None:
    """Add to RESULTS what it does not have yet."""
    sweep(results, only or architectures(), training, again)


@main.command("components")
@click.argument("results", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--only", multiple=True, metavar="NAME", help="Only these; repeatable.")
@click.option("--training/--no-training", default=False)
@click.option("--again", is_flag=True, help="Those that RESULTS has, too.")
def components_(results: Path, only: tuple[str, ...], training: bool, again: bool) -> None:
    """The same of timm's families and of components of diffusers."""
    every = [*components.diffusers_components(), *components.timm_families()]
    sweep(results, only or every, training, again)


@main.command("write")
@click.argument("results", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--components", "others", type=click.Path(exists=True, path_type=Path))
def write(results: Path, out: Path, others: Path | None) -> None:
    """Write the page OUT from RESULTS."""
    text = page(read(results), len(architectures()))
    if others is not None:
        families = {
            "timm": len(components.timm_families()),
            "diffusers": components.diffusers_classes(),
        }
        text += components_section(read(others), families)
    out.write_text(text, encoding="utf-8")


main()
