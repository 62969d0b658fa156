"""Auditing Python files in several processes, with the same result as in one.

Each process takes files from a common counter, keeps their facts, and sends only summaries; once
all are read, every process gets all summaries and judges its own files. A process that dies costs
the file it was at, which is reported, and nothing else.
"""

from __future__ import annotations

import marshal
import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from neuronport.audit import Part, PythonAuditor, audit_serially, quiet_interpreter
from neuronport.findings import NotLookedAt
from neuronport.targets import Target
from neuronport.workspace import SourceFile

_WORTH_IT = 1_000_000
"""Bytes of Python below which starting processes costs more than it saves."""
_CHUNK = 4


def processors() -> int:
    """How many processes may run at once here."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def audit_python(
    python: Sequence[SourceFile],
    targets: Sequence[Target],
    jobs: int,
    progress: Callable[[str], None],
) -> Part:
    """Read and judge files in up to ``jobs`` processes; the same bytes whatever the number."""
    if jobs <= 1 or sum(f.size for f in python) < _WORTH_IT or len(python) < 2 * jobs:
        return audit_serially(python, targets, progress)
    return _Pool(python, targets, jobs, progress).run()


class _Pool:
    def __init__(
        self,
        python: Sequence[SourceFile],
        targets: Sequence[Target],
        jobs: int,
        progress: Callable[[str], None],
    ) -> None:
        # The largest first, so that no process is left with a long file at the end.
        self.files = sorted(python, key=lambda f: (-f.size, f.path))
        self.targets = targets
        self.progress = progress
        method = "fork" if sys.platform == "linux" else "spawn"
        self.context: Any = multiprocessing.get_context(method)
        self.next = self.context.Value("i", 0)
        self.owner = self.context.Array("i", [-1] * len(self.files), lock=False)
        self.current = self.context.Array("i", [-1] * 4 * jobs, lock=False)
        self.workers: list[tuple[int, Any, Connection]] = []
        self.jobs = jobs
        self.part = Part()

    def start(self, number: int, files: list[int] | None) -> None:
        here, there = self.context.Pipe()
        process = self.context.Process(
            target=_work,
            args=(
                there,
                number,
                self.files,
                self.targets,
                self.next,
                self.owner,
                self.current,
                files,
            ),
            daemon=True,
        )
        process.start()
        there.close()
        self.workers.append((number, process, here))

    def run(self) -> Part:
        for number in range(self.jobs):
            self.start(number, None)
        started = self.jobs
        summaries: dict[str, tuple[bytes, bytes]] = {}
        ready: list[tuple[int, Any, Connection]] = []
        try:
            waiting = list(self.workers)
            while waiting:
                for worker in self._readable(waiting):
                    number, process, connection = worker
                    message = self._receive(connection, process)
                    if message is None:
                        waiting.remove(worker)
                        rest = self._lost(number)
                        if rest and started < 4 * self.jobs:
                            self.start(started, rest)
                            waiting.append(self.workers[-1])
                            started += 1
                        else:
                            self._give_up(rest)
                    elif message[0] == "read":
                        for _ in range(message[1]):
                            self.progress("read")
                    else:
                        summaries.update(marshal.loads(message[1]))
                        waiting.remove(worker)
                        ready.append(worker)
            frozen = marshal.dumps(dict(sorted(summaries.items())))
            for _, _, connection in ready:
                connection.send_bytes(frozen)
            del frozen, summaries
            waiting = list(ready)
            while waiting:
                for worker in self._readable(waiting):
                    number, process, connection = worker
                    message = self._receive(connection, process)
                    if message is None:
                        waiting.remove(worker)
                        self._give_up(self._owned(number))
                    elif message[0] == "judge":
                        self.progress("judge")
                    else:
                        self.part.add(message[1])
                        waiting.remove(worker)
        finally:
            for _, process, connection in self.workers:
                connection.close()
                process.terminate() if sys.exc_info()[0] else process.join(5)
        self.part.sort()
        return self.part

    @staticmethod
    def _readable(workers: list[tuple[int, Any, Connection]]) -> list[tuple[int, Any, Connection]]:
        ready = set(wait([connection for _, _, connection in workers]))
        return [worker for worker in workers if worker[2] in ready]

    @staticmethod
    def _receive(connection: Connection, process: Any) -> Any:
        try:
            return connection.recv()
        except (EOFError, OSError):
            process.join()
            return None

    def _owned(self, number: int) -> list[int]:
        return [i for i, owner in enumerate(self.owner) if owner == number]

    def _lost(self, number: int) -> list[int]:
        """What a dead process had taken, without the file it died of."""
        culprit = self.current[number]
        if culprit >= 0:
            self.part.not_looked_at.append(
                NotLookedAt(self.files[culprit].path, "reader-died", "reading it ended the process")
            )
        return [i for i in self._owned(number) if i != culprit]

    def _give_up(self, files: list[int]) -> None:
        self.part.not_looked_at += [
            NotLookedAt(self.files[i].path, "reader-died", "the process that read it ended")
            for i in files
        ]


def _work(
    connection: Connection,
    number: int,
    files: Sequence[SourceFile],
    targets: Sequence[Target],
    following: Any,
    owner: Any,
    current: Any,
    given: list[int] | None,
) -> None:
    """One process: read what the counter gives (or what is given), then judge it."""
    try:
        quiet_interpreter()
        auditor = PythonAuditor(sorted(files, key=lambda f: f.path), targets)
        summaries: dict[str, tuple[bytes, bytes]] = {}

        def read(indices: Sequence[int]) -> None:
            for i in indices:
                owner[i] = number
                current[number] = i
                result = auditor.read(files[i])
                if result is not None:
                    summaries[result[0]] = result[1]
            connection.send(("read", len(indices)))

        if given is not None:
            read(given)
        while True:
            with following.get_lock():
                first = following.value
                following.value = min(first + _CHUNK, len(files))
            if first >= len(files):
                break
            read(range(first, min(first + _CHUNK, len(files))))
        current[number] = -1
        connection.send(("summaries", marshal.dumps(summaries)))
        summaries.clear()
        everything = marshal.loads(connection.recv_bytes())
        part = auditor.judge_all(everything, lambda: connection.send(("judge",)))
        connection.send(("part", part))
        connection.close()
    except (KeyboardInterrupt, BrokenPipeError, EOFError):
        pass
    finally:
        os._exit(0)
