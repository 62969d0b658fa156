"""Starting the child that runs the user's code, with limits, and reading what it leaves."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from neuronport.graph.record import Record, RecordError, read

_TAIL = 12


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be captured, and how much it may cost."""

    model: str
    inputs: Sequence[Sequence[str]] = ()
    modes: Sequence[str] = ("inference",)
    dtype: str = ""
    batch: int = 1
    sequence: int = 128
    cache: int = 0
    overrides: Sequence[str] = ()
    python: str = ""
    """The interpreter of an environment that has torch and what the model needs."""
    seconds: int = 600
    megabytes: int = 8192

    @property
    def interpreter(self) -> str:
        return self.python or sys.executable


def statement(request: Request) -> str:
    """What is about to happen, for people to read before it does."""
    return (
        f"runs the code of {request.model} with {request.interpreter}, in a process of its own that"
        f" may take {request.seconds} s and {request.megabytes} MB of memory; no weights are"
        " downloaded"
    )


def run(request: Request) -> Record:
    """Captures.

    Raises RecordError: no record was made; the message says why, in one line and the last lines of
    what the child wrote.
    """
    child = Path(__file__).parent / "capture" / "child.py"
    with tempfile.TemporaryDirectory(prefix="neuronport-graph-") as folder:
        record = Path(folder) / "record.json"
        ask = Path(folder) / "request.json"
        ask.write_text(
            json.dumps(
                {
                    "model": request.model,
                    "inputs": [list(s) for s in request.inputs],
                    "modes": list(request.modes),
                    "dtype": request.dtype,
                    "batch": request.batch,
                    "sequence": request.sequence,
                    "cache": request.cache,
                    "overrides": list(request.overrides),
                    "memory": request.megabytes,
                    "record": str(record),
                }
            ),
            encoding="utf-8",
        )
        output = Path(folder) / "output"
        with output.open("wb") as stream:
            try:
                process = subprocess.Popen(
                    [request.interpreter, str(child), str(ask)],
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    env=_environment(),
                    start_new_session=True,
                )
            except OSError as error:
                raise RecordError(f"{request.interpreter}: {error.strerror}") from None
        try:
            status = process.wait(request.seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            raise RecordError(
                f"not finished after {request.seconds} s (--time-limit)" + _tail(output)
            ) from None
        except BaseException:
            _end(process)
            raise
        if not record.is_file():
            raise RecordError(_ended(status, request) + _tail(output))
        return read(record.read_text(encoding="utf-8"))


def _environment() -> dict[str, str]:
    """The user's, without the network for libraries that would use it, without bytecode files."""
    return {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    # its own session: nothing that the user's code has started outlives it
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ended(status: int, request: Request) -> str:
    if status < 0:
        name = signal.Signals(-status).name
        return (
            f"ended by {name}, as happens over the limit of {request.megabytes} MB (--memory-limit)"
        )
    return f"ended with status {status}"


def _tail(output: Path) -> str:
    lines = output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return "".join(f"\n    {line}" for line in lines[-_TAIL:])
