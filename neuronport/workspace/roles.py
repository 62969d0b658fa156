"""What part of a project a file is, by the conventions of names and folders."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set

from neuronport.findings import Role

FOLDERS: Mapping[str, Role] = {
    **dict.fromkeys(("test", "tests", "unittests", "unit_tests", "e2e_tests"), Role.TEST),
    **dict.fromkeys(("integration_tests", "tests_unit", "tests_integration"), Role.TEST),
    **dict.fromkeys(("example", "examples", "samples", "demo", "demos"), Role.EXAMPLE),
    **dict.fromkeys(("tutorial", "tutorials", "docs"), Role.EXAMPLE),
    **dict.fromkeys(("third_party", "third-party", "thirdparty", "3rdparty"), Role.VENDORED),
    **dict.fromkeys(("vendor", "vendored", "_vendor", "vendors"), Role.VENDORED),
    **dict.fromkeys(("extern", "external", "externals"), Role.VENDORED),
}
"""A folder's name, letter case aside → what is below it. ``sample`` is not here: in generative
models it holds the sampling code."""

_NEEDED = frozenset(("dependencies", "deps"))
_PROJECT = frozenset(("setup.py", "pyproject.toml"))
"""What only a project of its own has at its root."""

_STRENGTH = {Role.CODE: 0, Role.EXAMPLE: 1, Role.TEST: 2, Role.VENDORED: 3}
_TESTED_KINDS = frozenset({"python", "stub", "notebook", "cuda", "cpp", "shell"})
_TEST_NAME = re.compile(r"(test_.*|.*_test|conftest|tests)\.[^.]+")


def stronger(one: Role, other: Role) -> Role:
    """Tests of vendored code are vendored, tests of examples are tests."""
    return one if _STRENGTH[one] >= _STRENGTH[other] else other


def role_in_folder(role: Role, folder: str) -> Role:
    """The role of what is in ``folder``, which is in a folder of that role."""
    return stronger(role, FOLDERS.get(folder.lower(), Role.CODE))


def is_copy(above: str, names: Set[str]) -> bool:
    """Whether a folder is the copy of another project: it lies in one called ``dependencies`` and is
    installed by itself. A program may call a part of its own so."""
    return above.lower() in _NEEDED and not _PROJECT.isdisjoint(names)


def role_of_file(role: Role, name: str, kind: str) -> Role:
    """The role of the file ``name``, which is in a folder of that role."""
    if "test" in name and kind in _TESTED_KINDS and _TEST_NAME.fullmatch(name):
        return stronger(role, Role.TEST)
    return role


def role_of_path(path: str) -> Role:
    """The role of the Python file at a path of the tree."""
    *folders, name = path.split("/")
    role = Role.CODE
    for folder in folders:
        role = role_in_folder(role, folder)
    return role_of_file(role, name, "python")


_SUBMODULE_PATH = re.compile(r"^\s*path\s*=\s*(.+?)\s*$", re.MULTILINE)


def submodules(gitmodules: str) -> list[str]:
    """The folders that a ``.gitmodules`` file names, relative to its own."""
    return [path.strip('"').strip("/") for path in _SUBMODULE_PATH.findall(gitmodules)]
