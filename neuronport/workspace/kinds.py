"""What kind a file is, by its name, and by its ``#!`` line when the name says nothing."""

from __future__ import annotations

import re
from fnmatch import translate

KINDS: dict[str, tuple[str, ...]] = {
    "dockerfile": (
        "Dockerfile",
        "Dockerfile.*",
        "Dockerfile-*",
        "*.dockerfile",
        "Containerfile",
        "Containerfile.*",
    ),
    "requirements": (
        "*requirements*.txt",
        "*requirements*.in",
        "*constraints*.txt",
        "requirements/*.txt",
        "requirements/*.in",
        "pip-packages.txt",
    ),
    "python": ("*.py", "*.pyw"),
    "stub": ("*.pyi",),
    "notebook": ("*.ipynb",),
    "toml": ("*.toml", "Pipfile", "poetry.lock", "uv.lock", "pdm.lock"),
    "ini": ("*.ini", "*.cfg", ".flake8", ".coveragerc", ".pylintrc"),
    "json": ("*.json", "*.jsonc", "Pipfile.lock"),
    "yaml": ("*.yaml", "*.yml"),
    "shell": (
        "*.sh",
        "*.bash",
        "*.zsh",
        "*.ksh",
        "*.slurm",
        "*.sbatch",
        "*.pbs",
        "*.lsf",
        ".bashrc",
        ".envrc",
    ),
    "cuda": ("*.cu", "*.cuh"),
    "cpp": ("*.c", "*.cc", "*.cpp", "*.cxx", "*.h", "*.hh", "*.hpp", "*.hxx", "*.inl"),
    "markdown": ("*.md", "*.markdown", "*.mdx"),
    "other": (),
}
"""Kind → names it has, letter case aside: a name, ``*`` + suffix, a glob, or ``folder/glob``."""

PYTHON_KINDS = frozenset({"python", "stub", "notebook"})

READ_KINDS = frozenset({"python", "stub"})
"""Kinds that are looked into; the others are counted, so nothing is lost when one is left out."""

LARGE_KINDS = frozenset({"notebook"})
"""Kinds that carry pictures inside: allowed ten times the size."""

_INTERPRETERS = (
    (re.compile(rb"python[0-9.]*$"), "python"),
    (re.compile(rb"(ba|da|z|k|a)?sh$"), "shell"),
)

_NAMES: dict[str, str] = {}
_SUFFIXES: dict[str, str] = {}
_GLOBS: list[tuple[re.Pattern[str], bool, str]] = []
for _kind, _patterns in KINDS.items():
    for _pattern in _patterns:
        _low = _pattern.lower()
        if "*" not in _low:
            _NAMES[_low] = _kind
        elif re.fullmatch(r"\*\.[a-z]+", _low):
            _SUFFIXES[_low[1:]] = _kind
        else:
            _GLOBS.append((re.compile(translate(_low)), "/" in _low, _kind))

_GLOB_HINTS = ("docker", "container", "requirements", "constraints")
"""Every glob holds one of these words: most names need no glob."""


def kind_of(name: str, folder: str = "", head: bytes = b"") -> str:
    """The kind of the file ``name`` in the folder called ``folder``, beginning with ``head``.

    ``head`` counts only when the name has no suffix.
    """
    low = name.lower()
    kind = _NAMES.get(low)
    if kind:
        return kind
    dot = low.rfind(".")
    suffix = low[dot:] if dot > 0 else ""
    if suffix in (".txt", ".in") or suffix not in _SUFFIXES:
        path = f"{folder.lower()}/{low}"
        if any(hint in path for hint in _GLOB_HINTS):
            for pattern, with_folder, kind in _GLOBS:
                if pattern.match(path if with_folder else low):
                    return kind
    if suffix:
        return _SUFFIXES.get(suffix, "other")
    return _kind_of_script(head) if head.startswith(b"#!") else "other"


def needs_head(name: str) -> bool:
    """Does the kind of a file of this name depend on its first line?"""
    return "." not in name and name.lower() not in _NAMES


def _kind_of_script(head: bytes) -> str:
    words = head[2:].split(b"\n", 1)[0].split()
    for word in words:
        program = word.rsplit(b"/", 1)[-1]
        if program == b"env" or word.startswith(b"-") or b"=" in word:
            continue
        for pattern, kind in _INTERPRETERS:
            if pattern.match(program):
                return kind
        return "other"
    return "other"
