"""The same function for many things, in several processes that begin as copies of this one.

Only where a process can be copied (Linux); elsewhere, and where it is not worth it, this process does
it all. What comes back is in the order of what was given, whichever process did it.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

Given = TypeVar("Given")
Answer = TypeVar("Answer")

WORTH_IT = 1_000_000
"""Bytes of the files to be worked on below which copying the process costs more than it saves."""


class Died(Exception):  # noqa: N818 - an answer, not an error
    """What stands for the answer when the process that looked for it ended."""


def each(
    given: Sequence[Given],
    work: Callable[[Given], Answer],
    jobs: int,
    done: Callable[[], None],
    begin: Callable[[], None] = lambda: None,
) -> list[Answer | Died]:
    """``work`` of each thing; ``done`` is told of each, ``begin`` is called first in each process."""
    if jobs < 2 or len(given) < 2 * jobs or sys.platform != "linux":
        answers: list[Answer | Died] = []
        for thing in given:
            answers.append(work(thing))
            done()
        return answers
    return _Processes(given, work, jobs, done, begin).run()


class _Processes:
    def __init__(
        self,
        given: Sequence[Any],
        work: Callable[[Any], Any],
        jobs: int,
        done: Callable[[], None],
        begin: Callable[[], None],
    ) -> None:
        self.given = given
        self.work = work
        self.jobs = jobs
        self.done = done
        self.begin = begin
        self.context: Any = multiprocessing.get_context("fork")
        self.next = 0
        self.answers: list[Any] = [None] * len(given)
        self.workers: dict[Connection, tuple[Any, int]] = {}
        """By what is heard from it: the process, and the number of what it is at."""

    def run(self) -> list[Any]:
        try:
            for _ in range(self.jobs):
                self._start()
            while self.workers:
                for connection in wait(list(self.workers)):
                    assert isinstance(connection, Connection)
                    self._hear(connection)
        finally:
            for connection, (process, _) in self.workers.items():
                process.terminate()
                process.join()
                connection.close()
        return self.answers

    def _start(self) -> None:
        here, there = self.context.Pipe()
        process = self.context.Process(target=self._child, args=(there,), daemon=True)
        process.start()
        there.close()
        self._hand_out(here, process)

    def _hand_out(self, connection: Connection, process: Any) -> None:
        number = self.next if self.next < len(self.given) else None
        with suppress(OSError):  # it died: what is heard next says so
            connection.send(number)
        if number is not None:
            self.next = number + 1
            self.workers[connection] = (process, number)
            return
        self.workers.pop(connection, None)
        process.join()
        connection.close()

    def _hear(self, connection: Connection) -> None:
        process, number = self.workers[connection]
        try:
            answer, error = connection.recv()
        except (EOFError, OSError):
            # One that ends before its time costs what it was at; another takes its place.
            del self.workers[connection]
            process.join()
            connection.close()
            self.answers[number] = Died()
            self.done()
            if self.next < len(self.given):
                self._start()
            return
        if error:
            raise RuntimeError(error)
        self.answers[number] = answer
        self.done()
        self._hand_out(connection, process)

    def _child(self, connection: Connection) -> None:
        try:
            self.begin()
            # Told to end: younger processes have copies of the other end, it does not close here.
            while (number := connection.recv()) is not None:
                try:
                    message = (self.work(self.given[number]), "")
                except Exception as error:
                    message = (None, f"{type(error).__name__}: {error}")
                connection.send(message)
        except (KeyboardInterrupt, EOFError, OSError):
            pass
        finally:
            os._exit(0)
