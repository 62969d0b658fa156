"""The seam: the one module of a project that knows which devices there are.

Its functions are those of ``templates/port/neuron_device.py``, a program like any other; a project
gets the ones its code asks for. Where the module goes is decided per program: a package and the
scripts that import it share one, scripts that stand alone have their own next to them.
"""

from __future__ import annotations

import ast
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from neuronport.codemods.engine.project import Project
from neuronport.data import data_folder
from neuronport.workspace import WorkspaceError, decode_python, read_source

MARK = "the one place of this project that knows which devices there are"
_NAMES = ("neuron_device", "neuron_seam", "neuron_device_seam")


_PIECES = (ast.FunctionDef, ast.ClassDef)
_MODULES = ("contextlib", "inspect", "time")
"""Modules of the template that not every function needs."""


class _Piece(NamedTuple):
    text: str
    needs: frozenset[str]


@cache
def _template() -> tuple[str, Mapping[str, _Piece]]:
    """The head of the module and its functions, in their order."""
    text = (data_folder("templates") / "port" / "neuron_device.py").read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    functions = [n for n in ast.parse(text).body if isinstance(n, _PIECES)]
    names = {f.name for f in functions}
    pieces = {}
    for function in functions:
        body = "".join(lines[function.lineno - 1 : function.end_lineno])
        used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)} & names
        pieces[function.name] = _Piece(body, frozenset(used - {function.name}))
    head = "".join(lines[: functions[0].lineno - 1]).rstrip("\n") + "\n"
    return head, pieces


def functions() -> tuple[str, ...]:
    """What the seam can offer."""
    return tuple(_template()[1])


def _closure(names: Iterable[str]) -> set[str]:
    pieces = _template()[1]
    wanted: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in wanted:
            wanted.add(name)
            pending += pieces[name].needs
    return wanted


def new_module(names: Iterable[str]) -> str:
    """The text of a seam with these functions and what they need."""
    head, pieces = _template()
    wanted = _closure(names)
    there = [m for m in _MODULES if any(f"{m}." in pieces[name].text for name in wanted)]
    whole = "".join(f"import {m}\n" for m in _MODULES) + "\n"
    kept = "".join(f"import {m}\n" for m in there)
    head = head.replace(whole, f"{kept}\n" if kept else "")
    return head + "".join(f"\n\n{p.text}" for name, p in pieces.items() if name in wanted)


def extended(text: str, names: Iterable[str], newline: str) -> str:
    """A seam with the functions it lacks added at its end; what is there stays as it is."""
    there = {n.name for n in ast.parse(text).body if isinstance(n, _PIECES)}
    pieces = _template()[1]
    missing = _closure(names) - there
    if not missing:
        return text
    lacking = [m for m in _MODULES if f"import {m}{newline}" not in text]
    for module in lacking:
        pieces = {
            name: p._replace(text=p.text.replace(f"{module}.", f'__import__("{module}").'))
            for name, p in pieces.items()
        }
    added = "".join(f"\n\n{p.text}" for name, p in pieces.items() if name in missing)
    body = text if text.endswith(newline) else text + newline
    return body + added.replace("\n", newline)


class Seam(NamedTuple):
    path: str
    """Of the module."""
    base: str
    """The folder from which it is imported: ``sys.path`` has it."""
    exists: bool

    @property
    def dotted(self) -> str:
        relative = self.path[len(self.base) + 1 :] if self.base else self.path
        return relative.removesuffix(".py").replace("/", ".")


class Seams:
    """Where the seams of a project are or go."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.paths = set(project.python)
        self.folders = {p.rpartition("/")[0] for p in self.paths}
        self._packages: set[str] = set()
        """Folders that are packages because modules in them import relatively."""
        self._bases: dict[str, Counter[str]] = {}
        """For each file, the folders from which others in the tree import it."""
        self._beside: set[str] = set()
        """Files that import others of their folder by their bare names."""
        self._above = ""
        """What the folder of the tree is called where it is a package itself."""
        if "__init__.py" in self.paths:
            self._above = os.path.basename(os.path.abspath(self.project.root))
        self._by_above: set[str] = set()
        """Files that import from it by that name."""
        self._reached: dict[str, list[str]] = {}
        """For each file, the files of the tree that it imports by absolute names."""
        self._follow_imports()
        self.existing = [p for p in project.python if self._is_seam(p)]

    def _is_seam(self, path: str) -> bool:
        if path.rpartition("/")[2].removesuffix(".py") not in _NAMES:
            return False
        try:
            text = decode_python(read_source(self.project.files[path])).text
        except WorkspaceError:
            return False
        return MARK in text

    def _follow_imports(self) -> None:
        absolute: dict[str, list[str]] = {}
        for path in self.project.python:
            dotted = list(self.project.imported_names().get(path, ()))
            for dots, name in self.project.imports(path):
                above = path.rpartition("/")[0]
                for _ in range(dots):
                    self._packages.add(above)
                    above = above.rpartition("/")[0]
                if not dots:
                    dotted.append(name)
            absolute[path] = list(dict.fromkeys(dotted))
        for path, names in absolute.items():
            folder = path.rpartition("/")[0]
            for name in names:
                head = name.partition(".")[0]
                if not head or head in sys.stdlib_module_names:
                    continue
                if head == self._above:
                    self._by_above.add(path)
                target, base = self._target(name, path)
                beside = f"{folder}/{head}" if folder else head
                if target is None and {f"{beside}.py", f"{beside}/__init__.py"} & self.paths:
                    # In a package that imports relatively this is somebody else's library.
                    self._beside |= {path} if folder not in self._packages else set()
                if target is None or (base in self._packages and base):
                    continue
                self._reached.setdefault(path, []).append(target)
                self._bases.setdefault(target, Counter())[base] += 1

    def _target(self, dotted: str, path: str) -> tuple[str | None, str]:
        """The file of the tree that an absolute import means, and from which folder it is seen."""
        parts = dotted.split(".")
        while parts:
            target = self.project.modules.find(".".join(parts), path)
            if target is not None:
                stem = target.removesuffix("/__init__.py").removesuffix(".py").split("/")
                return target, "/".join(stem[: len(stem) - len(parts)])
            parts.pop()
        return None, ""

    def base(self, path: str) -> str:
        """The folder from which a file's own module name begins."""
        known = self._bases.get(path)
        if known:
            return max(known.items(), key=lambda item: (item[1], item[0]))[0]
        folder = path.rpartition("/")[0]
        while folder and (f"{folder}/__init__.py" in self.paths or folder in self._packages):
            folder = folder.rpartition("/")[0]
        return folder

    def package(self, path: str) -> str:
        """The topmost package a file is in, as a folder; '' for a script."""
        folder = path.rpartition("/")[0]
        base = self.base(path)
        if folder == base:
            return ""
        head = folder[len(base) + 1 if base else 0 :].partition("/")[0]
        return f"{base}/{head}" if base else head

    def _program(self, path: str) -> tuple[str, str]:
        """The folder a file's program is imported from, and a package it needs ('' for none)."""
        folder = path.rpartition("/")[0]
        if path in self._beside and path not in self._bases:
            # A program that is started where it is, ``__init__.py`` there or not.
            return folder, ""
        if self.package(path):
            return self.base(path), self.package(path)
        bases: Counter[str] = Counter()
        packages: Counter[str] = Counter()
        for target in self._reached.get(path, ()):
            bases[self.base(target)] += 1
            if self.package(target):
                packages[self.package(target)] += 1
        if not bases or folder in bases:
            return folder, ""
        base = max(bases.items(), key=lambda item: (item[1], item[0]))[0]
        inside = [p for p, _ in packages.most_common() if p.rpartition("/")[0] == base]
        return base, inside[0] if inside else ""

    def place(self, paths: Iterable[str]) -> dict[str, Seam]:
        """For each file that needs one, its seam."""
        programs: dict[str, list[tuple[str, str]]] = {}
        for path in sorted(paths):
            base, package = self._program(path)
            programs.setdefault(base, []).append((path, package))
        result: dict[str, Seam] = {}
        for base, members in programs.items():
            seam = self._existing(base) or self._new(base, members)
            for path, _ in members:
                result[path] = seam
        return result

    def _existing(self, base: str) -> Seam | None:
        for path in self.existing:
            if self.base(path) == base or path.rpartition("/")[0] == base:
                return Seam(path, base, True)
        return None

    def _new(self, base: str, members: list[tuple[str, str]]) -> Seam:
        inside = Counter(package for path, package in members if package)
        folder = base
        scripts = [p for p, package in members if not package]
        if inside and (len(inside) == 1 or self._installed(base)) and self._reach(scripts, base):
            folder = inside.most_common(1)[0][0]
        for name in _NAMES:
            path = f"{folder}/{name}.py" if folder else f"{name}.py"
            if not self._is_taken(path):
                return Seam(path, base, False)
        raise ValueError(
            f"every name for the seam is taken in {folder or 'the folder of the tree'}"
        )

    def _is_taken(self, path: str) -> bool:
        """Whether a module is there, or something that is imported in its place; in the tree or not:
        what git ignores is in the folder, too."""
        place = os.path.join(self.project.root, *path.split("/"))
        package = os.path.join(place.removesuffix(".py"), "__init__.py")
        return path in self.paths or os.path.lexists(place) or os.path.lexists(package)

    def _reach(self, scripts: list[str], base: str) -> bool:
        """Whether scripts can import what is below the base: they stand in it."""
        return all(s.rpartition("/")[0] == base for s in scripts)

    def _installed(self, base: str) -> bool:
        """Whether the packages of a folder are installed, so that only they are importable."""
        folders = {base, base.rpartition("/")[0]}
        names = {f"{f}/{n}" if f else n for f in folders for n in ("setup.py", "setup.cfg")}
        projects = {f"{f}/pyproject.toml" if f else "pyproject.toml" for f in folders}
        return bool((names | projects) & set(self.project.files))

    def import_from(self, path: str, seam: Seam, relative: bool) -> str:
        """The module part of ``from … import`` by which a file gets its seam."""
        above = self._above and not seam.base
        if relative and (self.package(path) or above or path.rpartition("/")[0] in self._packages):
            mine = path.rpartition("/")[0].split("/") if "/" in path else []
            its = seam.path.rpartition("/")[0].split("/") if "/" in seam.path else []
            common = 0
            while common < min(len(mine), len(its)) and mine[common] == its[common]:
                common += 1
            if above or common > (len(seam.base.split("/")) if seam.base else 0):
                rest = [*its[common:], seam.path.rpartition("/")[2].removesuffix(".py")]
                return "." * (len(mine) - common + 1) + ".".join(rest)
        if above and path in self._by_above:
            return f"{self._above}.{seam.dotted}"
        return seam.dotted
