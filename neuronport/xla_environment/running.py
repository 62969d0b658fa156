"""Starting a worker, with limits, and reading the rows that it leaves."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from neuronport import children
from neuronport.xla_environment.interpreter import XlaEnvironmentError


class Interpreter(Protocol):
    """Something that runs workers: ``XlaPython``, or an interpreter that is started otherwise."""

    @property
    def file(self) -> str: ...

    def checked(self) -> Interpreter:
        """Raises XlaEnvironmentError: there is no such program."""
        ...

    def variables(self) -> dict[str, str]: ...


@dataclass(frozen=True, slots=True)
class Done:
    """What a worker wrote until it ended."""

    rows: tuple[dict[str, Any], ...]
    why: str
    """Empty: it ended by itself; else what ended it. ``idle``: nothing was written for too long."""
    tail: tuple[str, ...]
    """The last lines that it printed."""
    seconds: float
    text: str = ""
    """The last 64 kB that it printed."""
    peak: int = 0
    """The most bytes in memory that were seen; 0: it ended before it was looked at."""


def run(
    python: Interpreter,
    worker: str,
    request: Mapping[str, Any],
    *,
    seconds: float,
    megabytes: int = 0,
    idle: float = 0,
) -> Done:
    """Runs ``main`` of the module ``worker`` with ``request``.

    ``idle``: seconds without a row after which it is ended; 0: any.

    Raises XlaEnvironmentError: the interpreter cannot be started.
    """
    python.checked()
    start = Path(__file__).with_name("start.py")
    with tempfile.TemporaryDirectory(prefix="neuronport-xla-") as folder:
        ask, rows = Path(folder) / "request.json", Path(folder) / "rows.jsonl"
        ask.write_text(
            json.dumps({"worker": worker, "memory": megabytes, "request": request}),
            encoding="utf-8",
        )
        rows.touch()
        last = [-1, time.monotonic()]

        def quiet() -> bool:
            size = rows.stat().st_size
            if size != last[0]:
                last[:] = [size, time.monotonic()]
            return bool(idle) and time.monotonic() - last[1] > idle

        try:
            ended = children.run(
                [python.file, str(start), str(ask), str(rows)],
                Path(folder) / "output",
                seconds,
                megabytes,
                python.variables(),
                quiet,
            )
        except children.NotStartedError as error:
            raise XlaEnvironmentError(str(error)) from None
        return Done(_rows(rows), ended.why, ended.tail, ended.seconds, ended.text, ended.peak)


def _rows(file: Path) -> tuple[dict[str, Any], ...]:
    """Every whole row; a process that was ended may have left half of one."""
    found = []
    with file.open(encoding="utf-8", errors="replace") as stream:
        for line in stream:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict):
                found.append(row)
    return tuple(found)
