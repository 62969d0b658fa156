"""``--output FORMAT=FILE`` and names that are known only when a command runs, the same everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class Named(click.ParamType[str]):
    """One of some names that are found only when they are asked for."""

    def __init__(self, name: str, names: Callable[[], Sequence[str]]) -> None:
        self.name = name
        self._names = names

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        names = self._names()
        if value not in names:
            self.fail(f"{value!r} is not one of {', '.join(names)}", param, ctx)
        return str(value)


class Paths(click.Path):
    """A path that may be anything: who opens it says what is wrong with it.

    But not nothing: an empty path is most often a variable that is not set.
    """

    def __init__(self, allow_dash: bool = False) -> None:
        # click, too, tests whether it can be read, and answers with a status of its own.
        super().__init__(allow_dash=allow_dash, readable=False)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "":
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


def output_option(help_: str = "Also write; repeatable.") -> Callable[[F], F]:
    """Adds ``--output``; the command gets ``outputs``, for :func:`named_files`."""
    return click.option(
        "-o", "--output", "outputs", multiple=True, metavar="FORMAT=FILE", help=help_
    )


def named_files(outputs: Sequence[str], names: Sequence[str]) -> list[tuple[str, str]]:
    """Format and file of each ``FORMAT=FILE``.

    Raises UsageError: it is not written so, or there is no such format.
    """
    found = []
    for text in outputs:
        name, separator, path = text.partition("=")
        if not separator or not path or name not in names:
            raise click.UsageError(f"{text!r}: write FORMAT=FILE, with one of {', '.join(names)}")
        found.append((name, path))
    return found


def say(message: str) -> None:
    """A line on stderr; names of files are anyone's, and nothing in them reaches the terminal."""
    from neuronport.reporting.escape import terminal

    click.echo(f"neuronport: {terminal(message)}", err=True)


def stop(message: str, code: int = 2) -> NoReturn:
    say(message)
    raise SystemExit(code)
