"""Writing a plan: whole files or none, seams before what needs them."""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from neuronport.codemods.engine.model import Failed, Rewritten
from neuronport.codemods.engine.plan import Plan
from neuronport.codemods.engine.project import Project
from neuronport.workspace import (
    WorkspaceError,
    atomic_write,
    atomic_write_all,
    decode_python,
    encode,
    read_source,
)
from neuronport.workspace import split_lines as _lines


def diff(rewritten: Rewritten) -> str:
    """A unified diff that ``git apply`` and ``patch -p1`` take."""
    before = _lines(rewritten.before) if rewritten.before is not None else []
    after = _lines(rewritten.after)
    old = "/dev/null" if rewritten.before is None else f"a/{rewritten.path}"
    parts = []
    for line in difflib.unified_diff(before, after, old, f"b/{rewritten.path}", n=3):
        parts.append(line)
        if not line.endswith(("\n", "\r")):
            parts.append("\n\\ No newline at end of file\n")
    return "".join(parts)


def write(project: Project, plan: Plan) -> Iterator[str]:
    """Write the files of a plan in place; the path of each as it is done.

    What makes sense only together is written together or not at all: the files of a group, and with
    the first that needs a new seam the seam. A file that cannot be written, and what needs it, is
    noted in ``plan.failed`` and stays as it was.
    """
    writer = _Writer(project, plan)
    for unit in writer.units():
        yield from writer.put(unit)


class _Writer:
    def __init__(self, project: Project, plan: Plan) -> None:
        self.project = project
        self.plan = plan
        self.items = {item.path: item for item in plan.rewritten}
        self.unit_of: dict[str, list[str]] = {}
        self.begun: set[str] = set()
        self.written: set[str] = set()
        self.failed: set[str] = set()

    def units(self) -> list[list[str]]:
        """The files that are written together, in the order of the plan; without seams, which come
        with what needs them."""
        needed = {path for item in self.items.values() for path in item.needs}
        first: dict[str, str] = {}
        for path, item in self.items.items():
            if not item.changes and path in needed:
                continue
            self.unit_of[path] = [path]
            for group in sorted({change.group for change in item.changes} - {""}):
                self._join(first.setdefault(group, path), path)
        for path in list(self.unit_of):
            for need in self.items[path].needs & self.unit_of.keys():
                if self._reaches(need, path):
                    self._join(need, path)
        return list({id(unit): unit for unit in self.unit_of.values()}.values())

    def _join(self, path: str, other: str) -> None:
        unit, more = self.unit_of[path], self.unit_of[other]
        if unit is not more:
            unit += more
            for member in more:
                self.unit_of[member] = unit

    def _reaches(self, start: str, end: str) -> bool:
        """Whether a file needs another, by whatever way."""
        seen: set[str] = set()
        pending = [start]
        while pending:
            for path in self.unit_of[pending.pop()]:
                if path == end:
                    return True
                if path not in seen:
                    seen.add(path)
                    pending += self.items[path].needs & self.unit_of.keys()
        return False

    def put(self, unit: list[str]) -> Iterator[str]:
        """Write a unit, after what it needs."""
        if unit[0] in self.begun:
            return
        self.begun.update(unit)
        needs = sorted({n for p in unit for n in self.items[p].needs if n in self.items})
        for path in needs:
            if path in self.unit_of:
                yield from self.put(self.unit_of[path])
        lost = [path for path in needs if path in self.failed]
        if lost:
            self._fail(unit, "", "needs-another", f"{lost[0]}, which it needs, is not written")
            return
        paths = [p for p in needs if p not in self.unit_of and p not in self.written]
        paths += sorted(unit)
        culprit = ""
        try:
            files = []
            for path in paths:
                culprit = path
                files.append((self._target(path), self._data(path)))
            atomic_write_all(files)
        except (WorkspaceError, OSError) as error:
            targets = {self._target(path): path for path in paths}
            culprit = targets.get(getattr(error, "path", ""), culprit)
            reason = getattr(error, "reason", "not-writable")
            self._fail(unit, culprit, reason, getattr(error, "detail", "") or str(error))
            return
        self.written.update(paths)
        yield from paths

    def _fail(self, unit: list[str], culprit: str, reason: str, detail: str) -> None:
        self.failed.update(unit)
        if culprit and culprit not in unit:
            self.failed.add(culprit)
            self.plan.failed.append(Failed(culprit, reason, detail))
            reason, detail = "needs-another", f"{culprit}, which it needs, is not written"
            culprit = ""
        for path in sorted(unit):
            if culprit and path != culprit:
                other = f"{culprit}, with which it has to change, cannot be written"
                self.plan.failed.append(Failed(path, "part-of-a-group", other))
            else:
                self.plan.failed.append(Failed(path, reason, detail))

    def _target(self, path: str) -> str:
        return os.path.join(self.project.root, *path.split("/"))

    def _data(self, path: str) -> bytes:
        item = self.items[path]
        if item.before is not None:
            return _bytes(self.project, item)
        target = self._target(path)
        if os.path.lexists(target):
            raise WorkspaceError("exists", "appeared meanwhile")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        return item.after.encode("utf-8")


def _bytes(project: Project, item: Rewritten) -> bytes:
    """The new bytes; raises WorkspaceError when the file is not what was planned for."""
    file = project.files[item.path]
    decoded = decode_python(read_source(file))
    if decoded.text != item.before:
        raise WorkspaceError("changed", "changed while it was being rewritten")
    return encode(replace(decoded, text=item.after))


def write_copy(project: Project, plan: Plan, folder: str) -> None:
    """Write the whole tree, with the plan made, into a folder that is not there yet or empty; where
    that fails nothing is left of it."""
    there = os.path.lexists(folder)
    if there and (not os.path.isdir(folder) or os.listdir(folder)):
        raise WorkspaceError("not-empty", f"{folder} is not an empty folder")
    try:
        os.makedirs(folder, exist_ok=True)
        _copy(project, plan, folder)
    except BaseException:
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                with suppress(OSError):
                    os.unlink(path)
        if not there:
            with suppress(OSError):
                os.rmdir(folder)
        raise


def _copy(project: Project, plan: Plan, folder: str) -> None:
    planned = {item.path: item for item in plan.rewritten}
    for path, file in project.files.items():
        target = os.path.join(folder, *path.split("/"))
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        if path in planned:
            atomic_write(target, _bytes(project, planned[path]))
            shutil.copymode(file.absolute, target)
        else:
            shutil.copy2(file.absolute, target, follow_symlinks=False)
    for path, item in planned.items():
        if item.before is None:
            target = os.path.join(folder, *path.split("/"))
            os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
            atomic_write(target, item.after.encode("utf-8"))


def dirty(folder: str, paths: Sequence[str]) -> list[str]:
    """The files among ``paths`` that git says are changed and not committed; [] outside of git.

    Raises OSError: it is a repository, and git cannot be asked.
    """
    if _repository(folder) is None:
        return []
    try:
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", "status", "--porcelain", "-z", "--", "."],
            cwd=folder,
            capture_output=True,
            timeout=120,
            check=False,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise OSError(f"git cannot be asked: {error}") from None
    if done.returncode:
        raise OSError(done.stderr.decode("utf-8", "replace").strip() or "git status failed")
    names = [e[3:].decode("utf-8", "surrogateescape") for e in done.stdout.split(b"\0") if e]
    return sorted(names)


def _repository(folder: str) -> str | None:
    folder = os.path.abspath(folder)
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
