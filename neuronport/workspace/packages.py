"""By what names the Python files of a tree are imported.

A package reaches up as long as there is ``__init__.py``; the folder above it has to be on
``sys.path`` and is a *root*. A file in no package is named from the tree's own root (a namespace
package), and its folder is on ``sys.path`` when it is run as a script.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from neuronport.workspace.files import SourceFile

SOURCE_FOLDERS = frozenset({"src", "lib", "python"})
"""Folders that are roots by their name, when they are no package, whatever is in them."""


@dataclass(frozen=True)
class Modules:
    """The import names of a tree's Python files."""

    names: Mapping[str, str]
    """Path → the name it is most likely imported by."""
    alternatives: Mapping[str, tuple[str, ...]]
    """Path → every name it may be imported by, that of ``names`` first."""
    roots: tuple[str, ...]
    """Folders that have to be on ``sys.path``, sorted; the tree's own is the empty string."""

    @cached_property
    def _paths(self) -> dict[str, list[str]]:
        paths: dict[str, list[str]] = {}
        for path in sorted(self.alternatives):
            for name in self.alternatives[path]:
                paths.setdefault(name, []).append(path)
        return paths

    def candidates(self, name: str) -> tuple[str, ...]:
        """Every file that ``import name`` may mean, sorted."""
        return tuple(self._paths.get(name, ()))

    def find(self, name: str, importer: str) -> str | None:
        """The file that ``import name`` means in the file ``importer``; ``None``: none, or unclear.

        First as if each folder around the importer were on ``sys.path``, the innermost first: one
        is that of the script that was started. A folder with ``__init__.py`` never is. Then by
        the names known, what shares the most folders with the importer first; a file that has the
        name only as a script beside others is none of a file elsewhere.
        """
        here = folder = _folder(importer)
        while True:
            if f"{folder}/__init__.py".lstrip("/") not in self.names:
                beside = folder == here or folder in self.roots
                # Further out a name of the standard library is more likely that one.
                if beside or name not in sys.stdlib_module_names:
                    found = _one(self._places.get(f"{folder}/{name.replace('.', '/')}".lstrip("/")))
                    if found is not None:
                        return found
            if not folder:
                break
            folder = _folder(folder)
        possible = [
            (_shared(here, _place(path)), path)
            for path in self._paths.get(name, ())
            if not self._is_bare(name, path)
        ]
        most = max((shared for shared, _ in possible), default=0)
        return _one([path for shared, path in possible if shared == most])

    @cached_property
    def _places(self) -> dict[str, list[str]]:
        """Where a module is in the tree, without suffix → its file, or a package's and a module's."""
        places: dict[str, list[str]] = {}
        for path in self.names:
            place = os.path.splitext(path)[0]
            places.setdefault(place.removesuffix("/__init__"), []).append(path)
        return places

    def _is_bare(self, name: str, path: str) -> bool:
        return "." not in name and name != self.names[path] and _place(path) not in self.roots


def _one(paths: list[str] | None) -> str | None:
    """The file among those of one name; of a package and a module Python takes the package."""
    if paths and len(paths) > 1:
        paths = [path for path in paths if _name(path) == "__init__.py"]
    return paths[0] if paths and len(paths) == 1 else None


def modules(files: Iterable[SourceFile]) -> Modules:
    """The import names of the Python files among ``files``."""
    python = sorted((f for f in files if f.kind == "python"), key=lambda f: f.path)
    inits = {_folder(f.path): f for f in python if _name(f.path) == "__init__.py"}
    packages: dict[str, tuple[str, ...]] = {}
    roots = {""}
    for folder in sorted(inits):  # a folder sorts before what is in it
        if not folder:
            packages[folder] = _packages_from_above(inits[folder].absolute)
            continue
        outer = _folder(folder)
        packages[folder] = (*packages.get(outer, ()), _name(folder))
        if outer not in packages:
            roots.add(outer)
    folders = sorted({_folder(f.path) for f in python})
    for folder in folders:
        roots.update(_source_folders(folder, packages))
    enclosing = {folder: _enclosing(folder, roots) for folder in folders}
    names: dict[str, str] = {}
    alternatives: dict[str, tuple[str, ...]] = {}
    for file in python:
        folder = _folder(file.path)
        stem = _stem(file.path)
        own = () if stem == "__init__" else (stem,)
        parts = tuple(folder.split("/")) if folder else ()
        found = [(*parts, *own)]
        if folder in packages:
            found.insert(0, (*packages[folder], *own))
        else:
            found += [(*parts[depth:], *own) for depth in enclosing[folder]]
            found.append(own)
        spelled = list(dict.fromkeys(".".join(f) for f in found if f)) or [stem]
        names[file.path] = spelled[0]
        alternatives[file.path] = tuple(spelled)
    return Modules(names, alternatives, tuple(sorted(roots)))


def module_names(files: Iterable[SourceFile]) -> dict[str, str]:
    """Path → import name, for the Python files among ``files``."""
    return dict(modules(files).names)


def _packages_from_above(init: str) -> tuple[str, ...]:
    """The dotted name of the tree's own root, which holds ``init``; the tree was cut from a package.

    Empty when it cannot be one: a checkout with a stray ``__init__.py`` in a folder ``my-model``.
    """
    names: list[str] = []
    folder = os.path.dirname(init)
    while True:
        outer, name = os.path.split(folder)
        if not name.isidentifier():
            return tuple(names)
        names.insert(0, name)
        if not os.path.isfile(os.path.join(outer, "__init__.py")):
            return tuple(names)
        folder = outer


def _source_folders(folder: str, packages: Mapping[str, object]) -> list[str]:
    """The folder and those around it that are roots by their name."""
    found = []
    while folder:
        if _name(folder) in SOURCE_FOLDERS and folder not in packages:
            found.append(folder)
        folder = _folder(folder)
    return found


def _enclosing(folder: str, roots: Container[str]) -> list[int]:
    """How many folders deep the roots around a folder are, the nearest first."""
    depths = []
    depth = folder.count("/") + 1 if folder else 0
    while folder:
        if folder in roots:
            depths.append(depth)
        folder = _folder(folder)
        depth -= 1
    return depths


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _stem(path: str) -> str:
    return os.path.splitext(_name(path))[0]


def _place(path: str) -> str:
    """The folder in which a module is found: for a package, the one that holds it."""
    folder = _folder(path)
    return _folder(folder) if _name(path) == "__init__.py" else folder


def _shared(one: str, other: str) -> int:
    """How many folders two folders have in common from the root on."""
    count = 0
    for a, b in zip(one.split("/"), other.split("/"), strict=False):
        if a != b or not a:
            break
        count += 1
    return count
