"""Starting the child that runs the user's code, with limits, and reading what it leaves."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from neuronport import children
from neuronport.graph.lowering.calls import lower
from neuronport.graph.lowering.measured import Lowering
from neuronport.graph.record import Record, RecordError, read
from neuronport.xla_environment import XlaPython


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


def statement(request: Request, xla_python: str = "") -> str:
    """What is about to happen, for people to read before it does."""
    said = (
        f"runs the code of {request.model} with {request.interpreter}, in a process of its own that"
        f" may take {request.seconds} s and {request.megabytes} MB of memory; no weights are"
        " downloaded"
    )
    if xla_python:
        said += f"; runs the graph's operators with {xla_python}, under the same limits"
    return said


def measured(request: Request, xla_python: str = "") -> tuple[Record, Lowering | None]:
    """Captures and, where an interpreter with torch_xla is named, has it run the graph's calls.

    Raises RecordError and XlaEnvironmentError.
    """
    if not xla_python:
        return run(request), None
    python = XlaPython(xla_python)
    python.versions()  # that it cannot be used is said before anything takes long
    with tempfile.TemporaryDirectory(prefix="neuronport-values-") as folder:
        values = Path(folder) / "values"
        record = run(request, values)
        lowering = lower(record, python, values, request.seconds, request.megabytes)
    return record, lowering


def run(request: Request, values: Path | None = None) -> Record:
    """Captures; with ``values``, what the graphs' inputs hold goes to that file.

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
                    "values": str(values.absolute()) if values else "",
                }
            ),
            encoding="utf-8",
        )
        try:
            ended = children.run(
                [request.interpreter, str(child), str(ask)],
                Path(folder) / "output",
                request.seconds,
                request.megabytes,
                _environment(),
            )
        except children.NotStartedError as error:
            raise RecordError(str(error)) from None
        tail = "".join(f"\n    {line}" for line in ended.tail)
        try:
            if not record.is_file():
                raise RecordError(_ended(ended.why) + tail)
            return read(record.read_text(encoding="utf-8"))
        except RecordError as error:
            said = str(error)
            if request.model in said.partition("\n")[0]:
                raise
            raise RecordError(f"{request.model}: {said}") from None


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


def _ended(why: str) -> str:
    """How the child ended without a record."""
    if not why:
        return "the model's code ended the process, with status 0"
    if why.startswith("ended with status"):
        return f"the process {why} before there was anything to look at"
    if why.startswith("not finished"):
        return f"{why} (--time-limit)"
    if why.endswith(("SIGKILL", "SIGABRT")) or " were used by " in why:
        return f"{why}, as happens over the limits (--memory-limit)"
    return why
