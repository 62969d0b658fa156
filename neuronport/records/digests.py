"""Digests of files, of trees, and the revision a tree is at; nothing is run to learn them."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping

from neuronport.workspace import SourceFile, StdinFile, Unreadable
from neuronport.workspace.files import reason_of
from neuronport.workspace.ignoring import git_folder, read_small, repository_root

_ESCAPE = re.compile(r"\\(\\|x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
_REVISION = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def of_file(path: str) -> str:
    """The SHA-256 of a regular file.

    Raises Unreadable with reason ``vanished``, ``unreadable`` or ``not-a-regular-file``.
    """
    flags = os.O_RDONLY
    for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    try:
        with open(os.open(path, flags), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise Unreadable("not-a-regular-file", "is not a regular file")
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise Unreadable(*reason_of(error)) from error
    except ValueError as error:  # a NUL in the name
        raise Unreadable("unreadable", str(error)) from error


def of_files(files: Iterable[SourceFile]) -> dict[str, str]:
    """Path → digest; what cannot be read is left out, as the command that reads it will say."""
    found = {}
    for file in files:
        if isinstance(file, StdinFile):
            continue
        try:
            found[file.path] = of_file(file.absolute)
        except Unreadable:
            continue
    return found


def of_inputs(inputs: Mapping[str, str]) -> str:
    """One digest for a set of inputs: their names and their bytes."""
    digest = hashlib.sha256()
    for name, value in sorted(inputs.items()):
        digest.update(f"{name}\0{value}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def actual(path: str) -> str:
    """The path on disk of a path as findings show it: the escapes of unprintable names undone."""

    def undone(match: re.Match[str]) -> str:
        whole, byte, short, long = match.groups()
        if whole == "\\":
            return "\\"
        if byte:
            return chr(0xDC00 + int(byte, 16)) if int(byte, 16) >= 0x80 else chr(int(byte, 16))
        return chr(int(short or long, 16))

    try:
        return _ESCAPE.sub(undone, path) if "\\" in path else path
    except (ValueError, OverflowError):
        return path


def revision(folder: str) -> str | None:
    """The commit that is checked out around ``folder``, read from git's own files."""
    root = repository_root(os.path.abspath(folder))
    if root is None:
        return None
    git = git_folder(root)
    head = read_small(os.path.join(git, "HEAD")).strip()
    if not head.startswith("ref:"):
        return _commit(head)
    name = head.removeprefix("ref:").strip()
    if ".." in name or not name.startswith("refs/"):
        return None
    common = os.path.join(git, read_small(os.path.join(git, "commondir")).strip())
    for place in (git, common):
        found = _commit(read_small(os.path.join(place, *name.split("/"))).strip())
        if found:
            return found
    for line in read_small(os.path.join(common, "packed-refs")).splitlines():
        commit, _, packed = line.partition(" ")
        if packed.strip() == name:
            return _commit(commit)
    return None


def _commit(text: str) -> str | None:
    return text if _REVISION.fullmatch(text) else None
