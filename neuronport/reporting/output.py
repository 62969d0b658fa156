"""Writing a report: how wide, how colourful, in which encoding."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Mapping
from typing import TextIO

from neuronport.reporting.result import RenderOptions, SourceReader


def options_for(
    stream: TextIO | None,
    environment: Mapping[str, str] | None = None,
    source: SourceReader | None = None,
) -> RenderOptions:
    """How to render for ``stream``: colour and the terminal's width only on a terminal.

    ``NO_COLOR`` wins over ``FORCE_COLOR``, as in Python itself. What is not a terminal gets a
    fixed width, so that the same audit gives the same bytes everywhere.
    """
    env = os.environ if environment is None else environment
    terminal = stream is not None and stream.isatty()
    if env.get("NO_COLOR"):
        color = False
    elif env.get("FORCE_COLOR"):
        color = env["FORCE_COLOR"] != "0"
    else:
        color = terminal and env.get("TERM") != "dumb"
    width = shutil.get_terminal_size((100, 24)).columns if terminal else 100
    return RenderOptions(width=width, color=color, source=source)


def write(chunks: Iterable[str], stream: TextIO | None) -> None:
    """Write a report to ``stream``: UTF-8 unless it is a terminal with another encoding.

    What the encoding lacks is written as an escape instead of failing half way through.
    """
    if stream is None:  # closed by whoever started us
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    raw = getattr(stream, "buffer", None)
    if raw is None:
        for chunk in chunks:
            stream.write(chunk)
        return
    stream.flush()
    encoding = (stream.encoding or "utf-8") if stream.isatty() else "utf-8"
    for chunk in chunks:
        raw.write(chunk.encode(encoding, "backslashreplace"))
    raw.flush()
