"""How a model is named, and what capturing it may cost: the same for ``graph`` and ``compile``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from neuronport.graph.run import Request

F = TypeVar("F", bound=Callable[..., Any])

_MODES = {"inference": ("inference",), "training": ("training",), "both": ("inference", "training")}

_INPUTS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "-i",
        "--input",
        "inputs",
        multiple=True,
        metavar="EXPRESSION",
        help="An input, `randint(0,32000,(1,2048))` or `NAME=randn(1,16)`; repeatable, in order.",
    ),
    click.option(
        "--and",
        "more",
        multiple=True,
        metavar="EXPRESSIONS",
        help="Another set of inputs, expressions separated by `;`; repeatable.",
    ),
    click.option(
        "--mode",
        type=click.Choice(list(_MODES)),
        default="inference",
        show_default=True,
        help="Forward only, a training step, or both.",
    ),
)
_SIZES: tuple[Callable[[Any], Any], ...] = (
    click.option("--batch", type=click.IntRange(1), default=1, show_default=True),
    click.option("--sequence", type=click.IntRange(1), default=128, show_default=True),
    click.option(
        "--cache", type=click.IntRange(0), default=0, help="Tokens in a decode step's cache."
    ),
    click.option("--dtype", default="", metavar="NAME", help="Of a configuration's parameters."),
    click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="KEY=VALUE",
        help="Change a key of a configuration; repeatable.",
    ),
)


def model_inputs(command: F) -> F:
    """Adds MODEL, ``--input``, ``--and`` and ``--mode``."""
    return click.argument("model")(_with(_INPUTS, command))


def model_sizes(command: F) -> F:
    """Adds what a configuration leaves open: batch, sequence, cache, dtype, single keys."""
    return _with(_SIZES, command)


def _with(options: Sequence[Callable[[Any], Any]], command: F) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def request_of(
    model: str,
    inputs: Sequence[str],
    more: Sequence[str],
    mode: str,
    **rest: Any,
) -> Request:
    """What to capture; ``rest``: the other fields of a request, as it names them."""
    from neuronport.graph.run import Request

    sets = [list(inputs)] if inputs else []
    sets += [[e.strip() for e in text.split(";") if e.strip()] for text in more]
    return Request(model, sets, _MODES[mode], **rest)
