"""Processes that run what is not ours, with limits of time, memory and number.

What such a process leaves behind when it ends is ended, too: its group, and whatever it started in
groups of their own, as far as the environment that they inherited still names them.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_MARK = "NEURONPORT_CHILD"
_LOOK_EVERY = 0.1
_COUNT_EVERY = 0.5
_PROCESSES = 256
_TAIL = 12
_LONGEST_LINE = 400
_LAST_BYTES = 65536
_PRINTED = 256
"""Megabytes that a process may print: a disk is not endless."""
_PROC = Path("/proc")


class NotStartedError(RuntimeError):
    """The interpreter cannot be started; the message says why."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended."""

    why: str
    """Empty: by itself, with status 0."""
    seconds: float
    tail: tuple[str, ...] = ()
    """The last lines it wrote."""
    text: str = ""
    """The last 64 kB that it wrote."""
    peak: int = 0
    """The most bytes that its processes were seen to have in memory together, looked at twice a
    second; 0: it ended before."""


def run(
    command: Sequence[str],
    output: Path,
    seconds: float,
    megabytes: int = 0,
    environment: Mapping[str, str] | None = None,
    idle: Callable[[], bool] | None = None,
    folder: Path | None = None,
) -> Ended:
    """Runs ``command`` until it ends or is over a limit; what it prints goes to ``output``.

    ``folder`` is where it runs; ``None``: here.

    ``megabytes`` is of all processes together (0: any); each should limit itself, too, which is
    sooner. ``idle`` is asked now and then whether nothing has happened for too long.

    Raises NotStartedError.
    """
    mark = uuid.uuid4().hex
    began = time.monotonic()
    with output.open("wb") as stream:
        try:
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={**(os.environ if environment is None else environment), _MARK: mark},
                start_new_session=True,
                cwd=folder,
            )
        except OSError as error:
            raise NotStartedError(f"{command[0]}: {error.strerror}") from None
    try:
        why, peak = _watched(process, output, began, seconds, megabytes, idle)
    finally:
        _end(process, mark)
    took = time.monotonic() - began
    if not why and process.returncode:
        why = _status(process.returncode)
    text = _last_text(output)
    return Ended(why, took, _last_lines(text), text, peak)


def _watched(
    process: subprocess.Popen[bytes],
    output: Path,
    began: float,
    seconds: float,
    megabytes: int,
    idle: Callable[[], bool] | None,
) -> tuple[str, int]:
    """Waits; why it was not waited longer (empty: it ended), and the most memory seen."""
    counted = began
    peak = 0
    pause = 0.01
    while process.poll() is None:
        time.sleep(pause)
        pause = min(pause * 2, _LOOK_EVERY)
        now = time.monotonic()
        if now - began > seconds:
            return f"not finished after {seconds:g} s", peak
        if output.stat().st_size > _PRINTED << 20:
            return f"more than {_PRINTED} MB were printed", peak
        if now - counted < _COUNT_EVERY:
            continue
        counted = now
        if idle is not None and idle():
            return "idle", peak
        members = _members(process.pid)
        if len(members) > _PROCESSES:
            return f"more than {_PROCESSES} processes were started", peak
        used = _resident(members)
        peak = max(peak, used)
        if megabytes and used > megabytes << 20:
            return f"more than {megabytes} MB were used by {len(members)} processes", peak
    return "", peak


def _status(code: int) -> str:
    if code >= 0:
        return f"ended with status {code}"
    try:
        return f"ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"ended by signal {-code}"


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    text = f"{_MARK}={mark}".encode()
    for _ in range(20):  # one that forks while it is looked for is found the next time
        left = [pid for pid in _pids() if text in _bytes(_PROC / str(pid) / "environ")]
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir(_PROC) if name.isdigit()]
    except OSError:  # no such file system here
        return []


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def _members(group: int) -> list[int]:
    """The processes of a session, and those below them."""
    parents: dict[int, int] = {}
    members: set[int] = set()
    for pid in _pids():
        fields = _bytes(_PROC / str(pid) / "stat").rpartition(b")")[2].split()
        if len(fields) < 4:
            continue
        parents[pid] = int(fields[1])
        if int(fields[3]) == group:
            members.add(pid)
    grown = True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in members} - members
        members |= more
        grown = bool(more)
    return sorted(members)


def _resident(members: Sequence[int]) -> int:
    """Bytes in memory, what several share once."""
    total = 0
    for pid in members:
        found = re.search(rb"^Pss:\s*(\d+) kB", _bytes(_PROC / str(pid) / "smaps_rollup"), re.M)
        if found:
            total += int(found[1]) << 10
        else:
            fields = _bytes(_PROC / str(pid) / "statm").split()
            total += int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if len(fields) > 1 else 0
    return total


def _last_text(output: Path) -> str:
    with output.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(size - _LAST_BYTES, 0))
        return stream.read().decode("utf-8", errors="replace")


def _last_lines(text: str) -> tuple[str, ...]:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return tuple(line[:_LONGEST_LINE] for line in lines[-_TAIL:])
