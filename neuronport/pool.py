"""Auditing Python files in several processes, with the same result as in one.

Each process takes files from a common counter, and says where it put their summaries and facts; once
all are read, every process learns where all are, and judges files from one end of the tree: who judges
neighbours asks for the same modules. A process that dies costs the file it was at, which is reported,
and nothing else.
"""

from __future__ import annotations

import marshal
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from neuronport.audit import (
    Part,
    PythonAuditor,
    Read,
    Rest,
    Tree,
    audit_serially,
    by_path,
    quiet_interpreter,
    to_judge,
)
from neuronport.audit_cache.store import Damaged, Store
from neuronport.findings import NotLookedAt
from neuronport.spool import Spool
from neuronport.targets import Target
from neuronport.workspace import SourceFile

_WORTH_IT = 2_000_000
"""Bytes of Python below which starting processes costs more than it saves."""
_CHUNK = 4
_TOLD_TOGETHER = 16
"""Files after which a process says how far it is: whoever listens needs a processor, too."""


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
    store: Store | None = None,
    tree: Tree | None = None,
) -> Part:
    """Read and judge files in up to ``jobs`` processes; the same bytes whatever the number and
    whatever ``store`` remembers. ``tree``: an empty one, without a store, that is to know the modules
    afterwards; whoever gives it closes it."""
    try:
        part = _audit(python, targets, jobs, progress, store, tree)
    except Damaged:
        assert store is not None
        assert tree is None
        store.reading = False
        part = _audit(python, targets, jobs, progress, store, tree)
    if store is not None:
        store.sweep()
        store.close()
    return part


def _audit(
    python: Sequence[SourceFile],
    targets: Sequence[Target],
    jobs: int,
    progress: Callable[[str], None],
    store: Store | None,
    tree: Tree | None,
) -> Part:
    if not _worth_it(python, jobs):
        return audit_serially(python, targets, progress, store, tree)
    quiet_interpreter()
    auditor = PythonAuditor(sorted(python, key=lambda f: f.path), targets, store)
    tree = tree or Tree()
    unread = auditor.recall(python, tree, lambda: progress("read"))
    if _worth_it(unread, jobs):
        return _Pool(python, unread, auditor, tree, jobs, progress, store).run()
    rest: list[Rest] = []
    for file in unread:
        read = auditor.read(file)
        if read is not None:
            tree.add(read)
            rest += to_judge(read)
        progress("read")
    rest += auditor.settle(tree, lambda: progress("judge"))
    files = {f.path: f for f in python}
    if _worth_it([files[r.path] for r in rest], jobs):
        return _Pool(python, [], auditor, tree, jobs, progress, store).run(rest)
    auditor.expect(r.path for r in rest)
    part = auditor.judge_all(tree, lambda: progress("judge"), by_path(rest))
    part.sort()
    return part


def _worth_it(python: Sequence[SourceFile], jobs: int) -> bool:
    return jobs > 1 and sum(f.size for f in python) >= _WORTH_IT and len(python) >= 2 * jobs


class _Pool:
    def __init__(
        self,
        python: Sequence[SourceFile],
        unread: Sequence[SourceFile],
        auditor: PythonAuditor,
        tree: Tree,
        jobs: int,
        progress: Callable[[str], None],
        store: Store | None,
    ) -> None:
        # The largest first, so that no process is left with a long file at the end.
        self.files = sorted(python, key=lambda f: (-f.size, f.path))
        wanted = {f.path for f in unread}
        self.unread = [i for i, f in enumerate(self.files) if f.path in wanted]
        self.auditor = auditor
        self.tree = tree
        self.progress = progress
        self.store = store
        method = "fork" if sys.platform == "linux" else "spawn"
        self.inherited = auditor if method == "fork" else None
        self.context: Any = multiprocessing.get_context(method)
        self.next = self.context.Value("i", 0)
        self.ends = self.context.Array("i", [0, 0])
        """Between which places of the list what is to be judged was not taken."""
        self.owner = self.context.Array("i", [-1] * len(self.files), lock=False)
        self.current = self.context.Array("i", [-1] * 4 * jobs, lock=False)
        self.workers: list[tuple[int, Any, Connection]] = []
        self.jobs = jobs
        self.part = auditor.part
        self.folder = tree.folder = _folder()

    def start(self, number: int, files: list[int] | None) -> None:
        if self.store is not None:
            self.store.close()
        here, there = self.context.Pipe()
        process = self.context.Process(
            target=_work,
            args=(
                there,
                number,
                self.files,
                self.unread,
                self.auditor.targets,
                self.inherited,
                self.store,
                self.next,
                self.ends,
                self.owner,
                self.current,
                files,
                self.folder,
            ),
            daemon=True,
        )
        process.start()
        there.close()
        self.workers.append((number, process, here))

    def run(self, rest: Sequence[Rest] | None = None) -> Part:
        """``rest``: what is to be judged, when all is read."""
        tree = self.tree
        read_here: list[Rest] = []
        tree.spool = Spool(self.folder)
        for number in range(self.jobs):
            self.start(number, None)
        started = self.jobs
        ready: list[tuple[int, Any, Connection]] = []
        try:
            waiting = list(self.workers)
            while waiting:
                for worker in self._readable(waiting):
                    number, process, connection = worker
                    message = self._receive(connection, process)
                    if message is None:
                        waiting.remove(worker)
                        lost = self._lost(number)
                        if lost and started < 4 * self.jobs:
                            self.start(started, lost)
                            waiting.append(self.workers[-1])
                            started += 1
                        else:
                            self._give_up(lost)
                    elif message[0] == "read":
                        for _ in range(message[1]):
                            self.progress("read")
                    else:
                        for row in marshal.loads(message[1]):
                            read = Read(*row)
                            self.tree.add(read)
                            read_here += to_judge(read)
                        self.part.add(message[2])
                        waiting.remove(worker)
                        ready.append(worker)
            if rest is None:
                rest = self.auditor.settle(self.tree, lambda: self.progress("judge"))
            place = {f.path: i for i, f in enumerate(self.files)}
            rest = sorted([*rest, *read_here])
            self.owner[:] = [-1] * len(self.files)
            self.ends[1] = len(rest)
            plain = (
                dict(sorted(tree.fresh.items())),
                tree.keys,
                [(place[r.path], r.key, r.facts, r.summary) for r in rest],
            )
            frozen = marshal.dumps(plain)
            if self.store is not None:
                self.store.close()
            for _, _, connection in ready:
                connection.send_bytes(frozen)
            del frozen, plain
            self._exchange_callers(ready)
            waiting = list(ready)
            while waiting:
                for worker in self._readable(waiting):
                    number, process, connection = worker
                    message = self._receive(connection, process)
                    if message is None:
                        waiting.remove(worker)
                        self._give_up(self._owned(number))
                    elif message[0] == "judge":
                        for _ in range(message[1]):
                            self.progress("judge")
                    elif message[0] == "damaged":
                        raise Damaged
                    else:
                        self.part.add(message[1])
                        waiting.remove(worker)
            self._give_up([place[r.path] for r in rest if self.owner[place[r.path]] < 0])
        finally:
            for _, process, connection in self.workers:
                connection.close()
                process.terminate() if sys.exc_info()[0] else process.join(5)
            if tree.facts is None or sys.exc_info()[0]:
                tree.close()
        self.part.sort()
        return self.part

    def _exchange_callers(self, workers: Sequence[tuple[int, Any, Connection]]) -> None:
        """Let each process find a part of who calls whom, if it is not known here, and all know all
        of it. The part of one that dies is found here; that it died is told when its findings are
        waited for."""
        known = self.auditor.known_callers(self.tree)
        found = [] if known is None else [known]
        parts = len(workers) if known is None else 0
        for part, (_, _, connection) in enumerate(workers, 1):
            with suppress(OSError):
                connection.send((part, parts))
        for part, (_, _, connection) in enumerate(workers[:parts], 1):
            try:
                found.append(connection.recv_bytes())
            except (EOFError, OSError):
                found.append(self.auditor.called_by(self.tree, part, parts))
        frozen = marshal.dumps(found)
        for _, _, connection in workers:
            with suppress(OSError):
                connection.send_bytes(frozen)

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


def _folder() -> str:
    """A new one for what the processes read; empty: there is no place for it."""
    try:
        return tempfile.mkdtemp(prefix="neuronport-")
    except OSError:
        return ""


def _work(
    connection: Connection,
    number: int,
    files: Sequence[SourceFile],
    unread: Sequence[int],
    targets: Sequence[Target],
    inherited: PythonAuditor | None,
    store: Store | None,
    following: Any,
    ends: Any,
    owner: Any,
    current: Any,
    given: list[int] | None,
    folder: str,
) -> None:
    """One process: read what the counter gives (or what is given), then judge it."""
    try:
        quiet_interpreter()
        spool = Spool(folder, number)
        auditor = inherited
        if auditor is None:
            auditor = PythonAuditor(sorted(files, key=lambda f: f.path), targets, store)
        auditor.emptied()
        memory = auditor.memory
        summaries: list[tuple[Any, ...]] = []
        finished = 0

        def read(indices: Sequence[int]) -> None:
            for i in indices:
                owner[i] = number
                current[number] = i
                result = auditor.read(files[i])
                if result is not None:
                    kept = (result.summary, result.calls, result.facts)
                    summary, calls, facts = map(spool.put, kept)
                    summaries.append(
                        tuple(result._replace(summary=summary, calls=calls, facts=facts))
                    )
            nonlocal finished
            finished += len(indices)
            if finished >= _TOLD_TOGETHER:
                connection.send(("read", finished))
                finished = 0

        if given is not None:
            read(given)
        while True:
            taken = _take(following, len(unread))
            if not taken:
                break
            read([unread[i] for i in taken])
        current[number] = -1
        connection.send(("read", finished))
        if memory is not None:
            memory.store.flush()
        # What it found out by reading is told now: whoever dies judging does not take it along.
        connection.send(("summaries", marshal.dumps(summaries), auditor.part))
        auditor.part = Part()
        summaries.clear()
        tree = Tree()
        tree.spool = spool
        tree.fresh, tree.keys, rest = marshal.loads(connection.recv_bytes())
        part, parts = connection.recv()
        if parts:
            connection.send_bytes(auditor.called_by(tree, part, parts))
        auditor.know_callers(tree, marshal.loads(connection.recv_bytes()))
        auditor.expect(files[row[0]].path for row in rest)

        def from_an_end() -> Iterator[Rest]:
            while True:
                taken = _take_at_an_end(ends, last=bool(number % 2))
                if not taken:
                    return
                for i in taken:
                    place, key, facts, summary = rest[i]
                    owner[place] = number
                    yield Rest(files[place].path, key, facts, summary)

        judged = 0

        def progress() -> None:
            nonlocal judged
            judged += 1
            if judged % _TOLD_TOGETHER == 0:
                connection.send(("judge", _TOLD_TOGETHER))

        found = auditor.judge_all(tree, progress, from_an_end())
        connection.send(("judge", judged % _TOLD_TOGETHER))
        if memory is not None:
            memory.store.close()
        connection.send(("part", found))
        connection.close()
    except Damaged:
        connection.send(("damaged",))
    except (KeyboardInterrupt, BrokenPipeError, EOFError):
        pass
    finally:
        os._exit(0)


def _take(counter: Any, end: int) -> range:
    with counter.get_lock():
        first = counter.value
        counter.value = min(first + _CHUNK, end)
    return range(first, min(first + _CHUNK, end))


def _take_at_an_end(ends: Any, last: bool) -> range:
    with ends.get_lock():
        first, end = ends
        if last:
            ends[1] = max(end - _CHUNK, first)
            return range(ends[1], end)
        ends[0] = min(first + _CHUNK, end)
        return range(first, ends[0])
