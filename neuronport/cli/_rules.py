"""What the commands that show rules share."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from neuronport.rulebook.model import Rulebook
    from neuronport.targets import Target


def book() -> Rulebook:
    """The rules; a broken one ends the command."""
    from neuronport.rulebook.load import whole_rulebook
    from neuronport.rulebook.model import RuleError

    try:
        return whole_rulebook()
    except RuleError as error:
        click.echo(f"neuronport: {error}", err=True)
        raise SystemExit(2) from None


def targets(words: Sequence[str]) -> list[Target]:
    """The targets asked for; every path at its newest SDK when none is."""
    from neuronport.rulebook.pages import newest_targets
    from neuronport.targets import TargetError, resolve

    try:
        return list(dict.fromkeys(resolve(word) for word in words)) or newest_targets()
    except TargetError as error:
        click.echo(f"neuronport: {error}", err=True)
        raise SystemExit(2) from None


def out(chunks: Iterable[str]) -> None:
    from neuronport.reporting.output import write

    write(chunks, sys.stdout)
