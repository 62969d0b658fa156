"""From the paths a user names to the files to look at."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from neuronport.findings import NotLookedAt, Role
from neuronport.workspace.excludes import (
    DEFAULT_EXCLUDES,
    ENVIRONMENT_MARKS,
    NEVER,
    OUTPUT_OR_PACKAGE,
)
from neuronport.workspace.files import (
    DEFAULT_MAX_BYTES,
    NamedPathError,
    SourceFile,
    StdinFile,
    Unreadable,
    Workspace,
    printable,
    read_regular,
    reason_of,
)
from neuronport.workspace.ignoring import (
    Chain,
    Ignores,
    exclude_file,
    read_ignores,
    read_small,
    repository_root,
)
from neuronport.workspace.kinds import LARGE_KINDS, PYTHON_KINDS, READ_KINDS, kind_of, needs_head
from neuronport.workspace.roles import is_copy, role_in_folder, role_of_file, submodules
from neuronport.workspace.tracked import Tracked

_HEAD = 128


def open_workspace(
    paths: Sequence[str],
    *,
    exclude: Sequence[str] = (),
    extend_exclude: Sequence[str] = (),
    include_ignored: bool = False,
    max_bytes: int = DEFAULT_MAX_BYTES,
    stdin: bytes | None = None,
    stdin_name: str = "<stdin>",
    root: str | None = None,
) -> Workspace:
    """The files in and below ``paths`` (none: the current folder; ``-``: standard input).

    A path that is named is looked at, whatever patterns say; patterns decide about what is found
    below it. ``exclude`` replaces the default patterns, ``extend_exclude`` adds to them; both are
    written as in ``.gitignore``, relative to the root. ``include_ignored`` looks at what git
    ignores. ``max_bytes`` limits the files of readable kinds (notebooks: ten times), not data.

    The root is the folder named; for several paths, or files, their common folder. ``root`` fixes
    it instead, so that a file has the same path however it was named (baselines, editors, hooks).

    Links are not followed: what they lead to inside the tree is found where it is, and what is
    outside is listed. Pipes, sockets and devices are never opened. The machine's own git settings
    (``core.excludesFile``) do not count: the same tree gives the same files everywhere.

    Raises NamedPathError: at least one of ``paths`` cannot be looked at.
    """
    named = _Named.of(paths or (".",), max_bytes, root)
    walk = _Walk(named, exclude, extend_exclude, include_ignored, max_bytes)
    for folder in sorted(named.folders):
        walk.below(folder)
    for shown, opened in sorted(named.files.items()):
        walk.named_file(shown, opened)
    walk.check_links()
    files = list(walk.files.values())
    if named.stdin:
        data = sys.stdin.buffer.read() if stdin is None else stdin
        files.append(_stdin_file(data, stdin_name))
    files.sort(key=lambda file: (file.path, file.absolute))
    rows = sorted(set(walk.rows), key=lambda row: (row.path, row.reason, row.detail))
    return Workspace(named.root, files, rows)


def _posix(path: str) -> str:
    return path if os.sep == "/" else path.replace(os.sep, "/")


def _prefix(folder: str) -> str:
    """The folder with one ``/`` at its end, the file system's root too."""
    return _posix(folder).rstrip("/") + "/"


def _stdin_file(data: bytes, name: str) -> StdinFile:
    folders = _posix(name).split("/")
    kind = kind_of(folders[-1], folders[-2] if len(folders) > 1 else "", data[:_HEAD])
    if kind == "other" and "." not in folders[-1]:
        kind = "python"  # what is piped into an auditor of Python projects, unless it says so
    role = Role.CODE
    for folder in folders[:-1]:
        role = role_in_folder(role, folder)
    return StdinFile(
        path=printable(name),
        absolute="",
        kind=kind,
        role=role_of_file(role, folders[-1], kind),
        size=len(data),
        data=data,
    )


def _limit(kind: str, max_bytes: int) -> int | None:
    """How large a file of this kind may be; ``None``: it is only counted."""
    if kind not in PYTHON_KINDS:
        return None
    return max_bytes * 10 if kind in LARGE_KINDS else max_bytes


def _too_large(size: int, limit: int) -> str:
    return f"{size:,} bytes, more than {limit:,}"


@dataclass(frozen=True, slots=True)
class _Named:
    """The paths of the command line, looked up."""

    root: str
    folders: frozenset[str]
    files: dict[str, str]
    """As named → what to open, which differs when a link was named."""
    stdin: bool

    @classmethod
    def of(cls, paths: Sequence[str], max_bytes: int, root: str | None) -> _Named:
        folders: list[str] = []
        files: dict[str, str] = {}
        problems: list[NotLookedAt] = []
        for path in paths:
            if path == "-":
                continue
            try:
                absolute = os.path.abspath(path)
                state = os.stat(absolute)
                if stat.S_ISDIR(state.st_mode):
                    with os.scandir(absolute):
                        folders.append(absolute)
                elif stat.S_ISREG(state.st_mode):
                    with open(absolute, "rb") as file:
                        head = file.read(_HEAD)
                    folder, name = os.path.split(absolute)
                    limit = _limit(kind_of(name, os.path.basename(folder), head), max_bytes)
                    if limit is not None and state.st_size > limit:
                        detail = _too_large(state.st_size, limit)
                        problems.append(NotLookedAt(path, "too-large", detail))
                        continue
                    real = os.path.realpath(absolute) if os.path.islink(absolute) else absolute
                    files[absolute] = real
                else:
                    detail = "neither a file nor a folder"
                    problems.append(NotLookedAt(path, "not-a-regular-file", detail))
            except FileNotFoundError:
                problems.append(NotLookedAt(path, "not-found", "no such file or folder"))
            except OSError as error:
                problems.append(NotLookedAt(path, *reason_of(error)))
            except ValueError as error:
                problems.append(NotLookedAt(path, "unreadable", str(error)))
        if not problems:
            try:
                root = cls._root(folders, files, root)
            except ValueError as error:
                problems = [NotLookedAt(path, "outside-root", str(error)) for path in paths]
        if problems:
            raise NamedPathError(problems)
        assert root is not None
        return cls(root, frozenset(folders), files, "-" in paths)

    @staticmethod
    def _root(folders: list[str], files: dict[str, str], root: str | None) -> str:
        places = folders + [os.path.dirname(file) for file in files]
        if root is None:
            # ValueError: on different drives of Windows
            return os.path.commonpath(places) if places else os.getcwd()
        root = os.path.abspath(root)
        for place in places:
            if not _prefix(place).startswith(_prefix(root)):
                raise ValueError(f"not in {root}")
        return root

    def folder_around(self, path: str) -> str:
        """The innermost named folder that a path is in, else the root."""
        around = [f for f in self.folders if _posix(path).startswith(_prefix(f))]
        return max(around, key=len, default=self.root)


class _Walk:
    """Goes down the named folders; no recursion, for trees of any depth."""

    def __init__(
        self,
        named: _Named,
        exclude: Sequence[str],
        extend_exclude: Sequence[str],
        include_ignored: bool,
        max_bytes: int,
    ) -> None:
        self.files: dict[str, SourceFile] = {}
        self.rows: list[NotLookedAt] = []
        self._named = named
        self._root = _prefix(named.root)
        defaults = () if exclude else DEFAULT_EXCLUDES
        own = Chain(Ignores([*exclude, *extend_exclude]), len(self._root), None)
        self._excludes = [("excluded", own)] if own.ignores else []
        if defaults:
            chain = Chain(Ignores(defaults), len(self._root), None)
            self._excludes.append(("excluded-by-default", chain))
        self._include_ignored = include_ignored
        self._max_bytes = max_bytes
        self._vendored: set[str] = set()
        self._walked: set[str] = set()
        self._links: list[tuple[str, str, bool]] = []
        self._real = {folder: os.path.realpath(folder) for folder in named.folders}

    def below(self, start: str) -> None:
        """Everything in and below a named folder."""
        stack = [(start, self._above(start))]
        while stack:
            folder, inside = stack.pop()
            if folder not in self._walked:
                self._walked.add(folder)
                stack.extend(self._folder(folder, inside))

    def named_file(self, shown: str, opened: str) -> None:
        """A file the user named, whatever patterns say of it."""
        around = self._named.folder_around(shown)
        role = Role.CODE
        for folder in _posix(os.path.dirname(shown))[len(_prefix(around)) :].split("/"):
            role = role_in_folder(role, folder)
        try:
            size = os.stat(opened).st_size
        except OSError as error:
            self._row(shown, *reason_of(error))
            return
        prefix, name = os.path.split(shown)
        self._add(name, self._folder_name(_prefix(prefix)), shown, opened, size, role)

    def check_links(self) -> None:
        """A link into the tree is no loss, unless what it leads to was left out."""
        for path, target, is_folder in self._links:
            if target not in self._walked and target not in self.files:
                self._row(path, "link-to-excluded", f"leads to {self._shown(target)}", is_folder)

    def _folder(self, folder: str, inside: _Inside) -> Iterator[tuple[str, _Inside]]:
        try:
            with os.scandir(folder) as scanned:
                entries = list(scanned)
        except OSError as error:
            self._row(folder, *reason_of(error), True)
            return
        names = {entry.name for entry in entries}
        if folder not in self._named.folders and not names.isdisjoint(ENVIRONMENT_MARKS):
            self._row(folder, "excluded-by-default", "a Python environment", True)
            return
        prefix = _prefix(folder)
        native = folder.rstrip(os.sep) + os.sep
        folder_name = self._folder_name(prefix)
        if ".gitmodules" in names:
            self._read_gitmodules(prefix)
        if is_copy(self._folder_name(_prefix(os.path.dirname(folder))), names):
            inside = replace(inside, role=Role.VENDORED)
        if not self._include_ignored:
            if ".git" in names:  # the patterns of an outer repository do not reach into this one
                inside = _repository(folder, inside.role)
            if ".gitignore" in names:
                inside = inside.with_patterns(prefix + ".gitignore", prefix)
        for entry in entries:
            name = entry.name
            path = prefix + name
            try:
                if entry.is_symlink() or _is_junction(path):
                    self._link(entry, path, inside)
                elif entry.is_dir(follow_symlinks=False):
                    child = native + name
                    if child in self._named.folders:
                        yield child, replace(inside, role=Role.CODE, ignored_by="")
                    elif name not in NEVER and (below := self._judge(name, path, inside, True)):
                        role = Role.VENDORED if path in self._vendored else inside.role
                        yield child, replace(below, role=role_in_folder(role, name))
                elif self._named.files and native + name in self._named.files:
                    continue
                elif entry.is_file(follow_symlinks=False):
                    if self._judge(name, path, inside, False):
                        size = entry.stat(follow_symlinks=False).st_size
                        self._add(name, folder_name, path, native + name, size, inside.role)
                else:
                    self._row(path, "not-a-regular-file", "a pipe, a socket or a device")
            except OSError as error:
                self._row(path, *reason_of(error))

    def _judge(self, name: str, path: str, inside: _Inside, is_folder: bool) -> _Inside | None:
        """``None``: patterns leave the entry out; it is listed then, a file when it would be read.

        Else what holds below it.
        """
        for reason, excludes in self._excludes:
            pattern = excludes.match(name, path, is_folder)
            if pattern is None:
                continue
            if (
                reason == "excluded-by-default"
                and name in OUTPUT_OR_PACKAGE
                and os.path.isfile(f"{path}/__init__.py")
            ):
                continue
            count = inside.tracked.python_files(path) if inside.tracked and is_folder else 0
            tracked = f"; Python files in it that git tracks: {count}" if count else ""
            self._left_out_row(name, path, reason, pattern, is_folder, tracked)
            return None
        ignored_by = inside.ignored_by
        if not ignored_by and inside.chain is not None:
            ignored_by = inside.chain.match(name, path, is_folder) or ""
        if not ignored_by:
            return inside
        if inside.tracked is not None and inside.tracked.holds(path, is_folder):
            return replace(inside, ignored_by=ignored_by)
        self._left_out_row(name, path, "ignored", ignored_by, is_folder)
        return None

    def _left_out_row(
        self, name: str, path: str, reason: str, pattern: str, is_folder: bool, more: str = ""
    ) -> None:
        if is_folder or self._kind_by_name(name, path) in READ_KINDS:
            self._row(path, reason, f"by the pattern {printable(pattern)}{more}", is_folder)

    def _link(self, entry: os.DirEntry[str], path: str, inside: _Inside) -> None:
        if not self._judge(entry.name, path, inside, False):
            return
        is_folder = os.path.isdir(path)
        matters = is_folder or self._kind_by_name(entry.name, path) in READ_KINDS
        if not matters:
            return
        real = os.path.realpath(path)
        if not os.path.lexists(real) or os.path.islink(real):
            self._row(path, "broken-link", "leads to nothing")
            return
        for folder, real_folder in self._real.items():
            if real == real_folder:
                self._links.append((path, folder, is_folder))
                return
            if _posix(real).startswith(_prefix(real_folder)):
                parts = _posix(real)[len(_prefix(real_folder)) :].split("/")
                self._links.append((path, os.path.join(folder, *parts), is_folder))
                return
        self._row(path, "link-out-of-tree", "leads out of the tree", is_folder)

    def _add(
        self, name: str, folder: str, shown: str, absolute: str, size: int, role: Role
    ) -> None:
        head = _head(absolute) if size and needs_head(name) else b""
        kind = kind_of(name, folder, head)
        limit = _limit(kind, self._max_bytes)
        if limit is not None and size > limit:
            self._row(shown, "too-large", _too_large(size, limit))
            return
        path = self._shown(shown)
        role = role_of_file(role, name, kind)
        self.files[absolute] = SourceFile(path, absolute, kind, role, size)

    def _kind_by_name(self, name: str, path: str) -> str:
        return kind_of(name, self._folder_name(path.rpartition("/")[0] + "/"))

    def _folder_name(self, prefix: str) -> str:
        """The last name of a folder below the root, whose own name is not the tree's."""
        return prefix[len(self._root) : -1].rpartition("/")[2]

    def _shown(self, path: str) -> str:
        return printable(_posix(path)[len(self._root) :])

    def _row(self, path: str, reason: str, detail: str, is_folder: bool = False) -> None:
        shown = self._shown(path)
        self.rows.append(NotLookedAt(shown + "/" if is_folder else shown, reason, detail))

    def _read_gitmodules(self, prefix: str) -> None:
        for submodule in submodules(read_small(prefix + ".gitmodules")):
            self._vendored.add(prefix + submodule)

    def _above(self, start: str) -> _Inside:
        """What git would apply at ``start`` from the folders above it."""
        repository = repository_root(start)
        if repository is None or repository == start:
            return _Inside()
        self._read_gitmodules(_prefix(repository))
        if self._include_ignored:
            return _Inside()
        inside = _repository(repository, Role.CODE)
        around = repository
        for part in os.path.relpath(start, repository).split(os.sep):
            prefix = _prefix(around)
            inside = inside.with_patterns(prefix + ".gitignore", prefix)
            around = os.path.join(around, part)
        return inside


@dataclass(frozen=True, slots=True)
class _Inside:
    """What holds in a folder because of where it is."""

    chain: Chain | None = None
    tracked: Tracked | None = None
    """The repository the folder is in."""
    role: Role = Role.CODE
    ignored_by: str = ""
    """Git ignores the folder by this pattern: only what it tracks counts."""

    def with_patterns(self, file: str, prefix: str) -> _Inside:
        ignores = read_ignores(file)
        if ignores is None:
            return self
        return replace(self, chain=Chain(ignores, len(prefix), self.chain))


def _repository(root: str, role: Role) -> _Inside:
    """A repository begins: patterns from outside do not reach into it."""
    prefix = _prefix(root)
    return _Inside(None, Tracked(root, prefix), role).with_patterns(exclude_file(root), prefix)


def _head(path: str) -> bytes:
    try:
        return read_regular(path, _HEAD)
    except Unreadable:  # told when it is read, if it is then
        return b""


if sys.platform == "win32":

    def _is_junction(path: str) -> bool:
        try:
            return bool(os.lstat(path).st_reparse_tag == stat.IO_REPARSE_TAG_MOUNT_POINT)
        except OSError:
            return False
else:

    def _is_junction(path: str) -> bool:
        return False
