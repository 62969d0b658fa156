"""The command line: one file per command, found by being there and imported only when called."""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import os
import pkgutil
import sys

import click

from neuronport import __version__


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(i.name for i in pkgutil.iter_modules(__path__) if not i.name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command = importlib.import_module(f"{__name__}.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
        except BrokenPipeError:
            # The reader of a pipe has gone (``| head``): no traceback for that. The status is what
            # a shell makes of SIGPIPE; click would make it 1, which is that of findings.
            _let_go_of_stdout()
            raise SystemExit(141) from None
        return result


_UNWRITABLE = frozenset(
    getattr(errno, name, 0) for name in ("ENOSPC", "EBADF", "EIO", "EFBIG", "EDQUOT")
)
"""What writing fails with when nothing is wrong with the program."""


def _let_go_of_stdout() -> None:
    """Nor a traceback for what Python would still write at the end."""
    if sys.stdout is not None:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_version(ctx: click.Context) -> None:
    # Only here: to know it, a module is imported that may be compiled.
    from neuronport.compiled import form

    click.echo(f"neuronport, version {__version__} ({form()})")
    ctx.exit()


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _, asked: _show_version(ctx) if asked else None,
    help="Show the version and exit.",
)
def cli() -> None:
    """Audit and port PyTorch projects written for NVIDIA GPUs to AWS Trainium and Inferentia.

    Begin with `neuronport audit PATH`: it looks, and only looks. Nothing of the audited project is
    imported or run.
    """


def main() -> None:
    """Run the command line; the exit status is that of the command, 130 when it was interrupted."""
    _hold_closed_streams()
    try:
        status = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        raise SystemExit(error.exit_code) from None
    except (click.Abort, KeyboardInterrupt):
        click.echo("neuronport: interrupted", err=True)
        raise SystemExit(130) from None
    except OSError as error:
        if error.filename is not None or error.errno not in _UNWRITABLE:
            raise
        _let_go_of_stdout()
        click.echo(f"neuronport: standard output: {error.strerror}", err=True)
        raise SystemExit(2) from None
    finally:
        gc.freeze()  # the process ends, and what it has is not gone through once more
    raise SystemExit(status if isinstance(status, int) else 0)


def _hold_closed_streams() -> None:
    """Whatever is opened next must not take the number of a standard stream that is closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
