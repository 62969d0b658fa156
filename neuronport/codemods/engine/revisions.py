"""The trees of two git revisions, or of two folders, for the churn."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from neuronport.codemods.churn import Side, standings_of, texts_of
from neuronport.codemods.engine.plan import Options, make_plan
from neuronport.codemods.engine.project import Project
from neuronport.findings import FixSafety
from neuronport.targets import Target
from neuronport.workspace import open_workspace


class RevisionError(ValueError):
    """A revision or folder that cannot be read."""


def sides(words: str, folder: str, targets: Sequence[Target]) -> tuple[Side, Side]:
    """The two trees that ``REV1..REV2`` (or ``DIR1..DIR2``) names.

    Raises RevisionError, and NamedPathError where there is nothing at ``folder``.
    """
    open_workspace([folder])
    first, separator, second = words.partition("..")
    if not separator or not first:
        raise RevisionError(f"{words!r}: write REV1..REV2, or two folders")
    second = second or "HEAD"
    return _side(first, folder, targets), _side(second, folder, targets)


def _side(name: str, folder: str, targets: Sequence[Target]) -> Side:
    if os.path.isdir(name):
        return _audited(name, name, targets)
    with _checked_out(name, folder) as tree:
        return _audited(name, tree, targets)


def _audited(name: str, folder: str, targets: Sequence[Target]) -> Side:
    workspace = open_workspace([folder])
    project = Project(workspace, targets, lambda _: None)
    plan = make_plan(project, Options(safeties=frozenset({FixSafety.SAFE, FixSafety.REVIEW})))
    findings = project.part.findings
    return Side(
        name,
        texts_of(workspace),
        findings,
        project.part.references,
        standings_of(plan, findings),
    )


@contextmanager
def _checked_out(revision: str, folder: str) -> Iterator[str]:
    """The files of a revision, below ``folder``, in a folder of their own: nothing is checked out
    where the user works."""
    where = folder if os.path.isdir(folder) else os.path.dirname(folder) or "."
    if revision.startswith("-"):
        raise RevisionError(f"{revision!r} is no revision")
    try:
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", "archive", "--format=tar", revision, "."],
            cwd=where,
            capture_output=True,
            timeout=300,
            check=False,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise RevisionError(f"git cannot be asked: {error}") from None
    if done.returncode:
        message = done.stderr.decode("utf-8", "replace").strip()
        raise RevisionError(f"{revision}: {message or 'git archive failed'}")
    with tempfile.TemporaryDirectory(prefix="neuronport-") as target:
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            archive.extractall(target, filter="data")
        yield target
