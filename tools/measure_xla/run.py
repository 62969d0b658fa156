"""Runs a plan in worker processes: what ends one costs one case, what is done is not done again."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.measure_xla import environment, outcomes
from tools.measure_xla.plan import Case

WORKER = Path(__file__).with_name("worker.py")
SHARD = 400
SECONDS_PER_CASE = 90.0
_LOOK_EVERY = 0.5


def ask(folder: Path, question: str) -> Any:
    """What the worker answers to ``versions`` or ``opinfos``."""
    answer = subprocess.run(
        [str(environment.python_of(folder)), str(WORKER), question],
        env=environment.variables(folder),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(answer.stdout.strip().splitlines()[-1])


def remaining(cases: Sequence[Case], record: outcomes.Record) -> list[Case]:
    return [case for case in cases if case.key not in record.done]


class OtherVersionsError(RuntimeError):
    """The outcomes there were measured with other versions; they may not be mixed."""


def check_header(record: outcomes.Record, versions: dict[str, str]) -> bool:
    """Whether the file still needs its header."""
    if not record.header:
        return True
    if record.header["versions"] != versions:
        raise OtherVersionsError(f"measured with {record.header['versions']}, now {versions}")
    return False


def run(
    folder: Path,
    cases: Sequence[Case],
    output: Path,
    *,
    seconds: float = SECONDS_PER_CASE,
    budget: float | None = None,
) -> int:
    """Measure what is not measured yet; the number of cases that are left when time is over."""
    began = time.monotonic()
    record = outcomes.read(output)
    versions = ask(folder, "versions")
    if check_header(record, versions):
        header = {"versions": versions, "date": datetime.date.today().isoformat()}
        _append(output, [header])
    left = remaining(cases, outcomes.read(output))
    while left:
        if budget is not None and time.monotonic() - began > budget:
            return len(left)
        shard = left[:SHARD]
        _shard(folder, shard, output, seconds)
        left = remaining(left, outcomes.read(output))
        print(f"{len(cases) - len(left)}/{len(cases)}", file=sys.stderr, flush=True)
    return 0


def _append(output: Path, rows: Sequence[dict[str, Any]]) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    whole = not output.exists() or output.read_bytes()[-1:] in (b"\n", b"")
    with output.open("a", encoding="utf-8") as stream:
        if not whole:
            stream.write("\n")
        for row in rows:
            stream.write(json.dumps(row, separators=(",", ":")) + "\n")


def _shard(folder: Path, shard: Sequence[Case], output: Path, seconds: float) -> None:
    with tempfile.TemporaryFile("w+", encoding="utf-8") as cases:
        cases.write("".join(case.json() + "\n" for case in shard))
        cases.seek(0)
        process = subprocess.Popen(
            [str(environment.python_of(folder)), str(WORKER), "run", str(output)],
            env=environment.variables(folder),
            stdin=cases,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        status = _wait(process, output, seconds)
    if status == "":
        return
    record = outcomes.read(output)
    mine = [case.key for case in shard if case.key in record.unfinished]
    if not mine and status == "crash":
        # it died before the first case, or between two: without a case to blame this would go on
        raise RuntimeError(f"the worker ended with {process.returncode} outside any case")
    for key in mine[:1]:
        if status == "crash" and key not in record.reached:
            _append(output, outcomes.of_crash(key, "refused", "ends the process on the CPU too"))
        else:
            _append(output, outcomes.of_crash(key, status, f"exit status {process.returncode}"))


def _wait(process: subprocess.Popen[bytes], output: Path, seconds: float) -> str:
    """``""`` when it ended well, else ``crash`` or ``timeout``."""
    size, since = -1, time.monotonic()
    while process.poll() is None:
        time.sleep(_LOOK_EVERY)
        now = output.stat().st_size
        if now != size:
            size, since = now, time.monotonic()
        elif time.monotonic() - since > seconds:
            process.kill()
            process.wait()
            return "timeout"
    return "" if process.returncode == 0 else "crash"
