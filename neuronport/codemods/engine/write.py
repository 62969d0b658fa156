"""Writing a plan: whole files or none, seams before what needs them."""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace

from neuronport.codemods.engine.model import Failed, Rewritten
from neuronport.codemods.engine.plan import Plan
from neuronport.codemods.engine.project import Project
from neuronport.workspace import WorkspaceError, atomic_write, decode_python, encode, read_source
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
    """Write the files of a plan in place, one after the other; the path of each as it is done.

    A file that cannot be written is noted in ``plan.failed``; where it is a seam, what needs it is
    not written either.
    """
    broken = False
    for item in plan.rewritten:
        target = os.path.join(project.root, *item.path.split("/"))
        try:
            if item.before is None:
                if os.path.lexists(target):
                    raise WorkspaceError("exists", "appeared meanwhile")
                os.makedirs(os.path.dirname(target), exist_ok=True)
                data = item.after.encode("utf-8")
            else:
                data = _bytes(project, item)
            if not broken or item.before is None:
                atomic_write(target, data)
                yield item.path
                continue
        except (WorkspaceError, OSError) as error:
            reason = getattr(error, "reason", "not-writable")
            plan.failed.append(Failed(item.path, reason, str(error)))
            broken = broken or not item.changes
            continue
        plan.failed.append(Failed(item.path, "no-seam", "the seam it needs could not be written"))


def _bytes(project: Project, item: Rewritten) -> bytes:
    """The new bytes; raises WorkspaceError when the file is not what was planned for."""
    file = project.files[item.path]
    decoded = decode_python(read_source(file))
    if decoded.text != item.before:
        raise WorkspaceError("changed", "changed while it was being rewritten")
    return encode(replace(decoded, text=item.after))


def write_copy(project: Project, plan: Plan, folder: str) -> None:
    """Write the whole tree, with the plan made, into a folder that is not there yet or empty."""
    if os.path.exists(folder) and os.listdir(folder):
        raise WorkspaceError("not-empty", f"{folder} is not empty")
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
