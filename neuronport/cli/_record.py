"""``--record``, the same for every command that leaves a record."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from neuronport.cli._outputs import say, stop

if TYPE_CHECKING:
    from neuronport.records import Snapshot

F = TypeVar("F", bound=Callable[..., Any])

_HERE = "\0"
"""``--record`` without a folder."""


def record_option(function: F) -> F:
    """Adds ``--record [DIR]``; the command gets ``record``, for :func:`folder_for`."""
    return click.option(
        "--record",
        "record",
        is_flag=False,
        flag_value=_HERE,
        default=None,
        metavar="[DIR]",
        help="Also leave a record for `portability` and `report`, in DIR (default: .neuronport "
        "in what is looked at).",
    )(function)


def folder_for(record: str | None, root: str) -> str | None:
    """The folder that records of a tree go to; None: none are wanted. Stops with 2 where it cannot
    be one, before any work is done."""
    from neuronport.records import DEFAULT_FOLDER, FolderError, check_folder

    if record is None:
        return None
    folder = os.path.normpath(os.path.join(root, DEFAULT_FOLDER)) if record == _HERE else record
    try:
        check_folder(folder)
    except FolderError as error:
        stop(f"--record: {error}")
    return folder


def root_for_model(model: str) -> str:
    """The tree that a model belongs to: the nearest folder above its file that has records, within
    its repository, else the folder its file is in; for ``module:factory`` the current folder."""
    from neuronport.records import DEFAULT_FOLDER

    path = model if os.path.exists(model) else model.partition(":")[0]
    if not os.path.exists(path):
        return os.getcwd()
    start = os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path) or ".")
    folder = start
    while True:
        if os.path.isdir(os.path.join(folder, DEFAULT_FOLDER)):
            return folder
        above = os.path.dirname(folder)
        if above == folder or os.path.lexists(os.path.join(folder, ".git")):
            return start
        folder = above


def model_files(model: str) -> list[str]:
    """The files that a model is named by: itself, or its configuration in a folder."""
    path = model if os.path.exists(model) else model.partition(":")[0]
    if os.path.isfile(path):
        return [path]
    config = os.path.join(path, "config.json")
    return [config] if os.path.isdir(path) and os.path.isfile(config) else []


def not_selected(select: Sequence[str], ignore: Sequence[str]) -> list[dict[str, Any]]:
    """For a record: rules that were not asked about are something that was not looked at."""
    words = [f"only {', '.join(select)}"] if select else []
    words += [f"not {', '.join(ignore)}"] if ignore else []
    detail = "; ".join(words)
    row = {"path": "", "reason": "not-selected", "detail": detail, "line": None}
    return [row] if words else []


def keep(
    folder: str | None,
    kind: str,
    body: str,
    snapshot: Snapshot | None,
    rules: str = "",
    missed: Sequence[dict[str, Any]] = (),
) -> None:
    """Leaves a record, when one is wanted, and says where; stops with 2 where it cannot."""
    if folder is None or snapshot is None:
        return
    from neuronport.records import write
    from neuronport.workspace import WorkspaceError

    try:
        path = write(folder, kind, body, snapshot, rules=rules, missed=missed)
    except WorkspaceError as error:
        stop(f"--record: {folder}: {error.detail or error.reason}")
    except OSError as error:
        stop(f"--record: {folder}: {(error.strerror or str(error)).lower()}")
    say(f"recorded in {_near(path)}")


def _near(path: str) -> str:
    """Relative where it is below the current folder."""
    here = os.path.join(os.getcwd(), "")
    return path[len(here) :] if path.startswith(here) else path
