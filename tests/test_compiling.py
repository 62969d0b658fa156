"""What is compiled where that is asked for, and that nothing is where it is not or cannot be.

Compiling takes a minute or two: the test that does it runs where ``NEURONPORT_TEST_COMPILE`` is
set, with mypy[mypyc], setuptools and a C compiler installed.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from benchmarks.compiled_same import differences
from benchmarks.compiled_same import main as same
from tests.test_packaging import ROOT, Environment, checkout, from_wheel, run, sdist, wheel, works

__all__ = ["checkout", "from_wheel", "sdist", "wheel"]  # fixtures


def _hook():
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hook = _hook()
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"][
    "wheel"
]["hooks"]["custom"]
FILES = hook.to_compile(ROOT, CONFIG)
COMPILED = {name.removesuffix(".py").replace("/", ".") for name in FILES}
OTHERS = sorted(
    name
    for path in (ROOT / "neuronport").rglob("*.py")
    if (name := path.relative_to(ROOT).as_posix()) not in FILES
)


def parsed(name: str) -> ast.Module:
    return ast.parse((ROOT / name).read_text(encoding="utf-8"))


def written_out(name: str) -> list[tuple[int, list[ast.expr]]]:
    """Line and items of everything that membership is asked of where it stands."""
    return [
        (node.lineno, side.elts)
        for node in ast.walk(parsed(name))
        if isinstance(node, ast.Compare)
        and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops)
        for side in node.comparators
        if isinstance(side, ast.Tuple | ast.List | ast.Set)
    ]


def imported(tree: ast.Module) -> dict[str, str]:
    """Name in a module → module it was imported from."""
    return {
        alias.asname or alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and not node.level
        for alias in node.names
    }


# ---- the list --------------------------------------------------------------------------------------


def test_every_module_of_the_list_is_there():
    assert "neuronport/readers/python/evaluate.py" in FILES
    assert all((ROOT / name).is_file() for name in FILES)
    assert not set(FILES) & set(CONFIG["interpreted"])
    assert not [name for name in FILES if name.endswith("__init__.py")]


@pytest.mark.parametrize(
    "config",
    [
        {"compiled": ["neuronport/no_such/*.py"], "interpreted": []},
        {"compiled": ["neuronport/source/*.py"], "interpreted": ["neuronport/gone.py"]},
    ],
)
def test_a_list_that_names_what_is_gone_is_an_error(config):
    with pytest.raises(FileNotFoundError):
        hook.to_compile(ROOT, config)


@pytest.mark.parametrize("name", FILES)
def test_what_is_compiled_uses_nothing_that_compiled_classes_do_not_have(name):
    """Neither a dict of their own, in which cached properties lie, nor weak references."""
    tree = parsed(name)
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    used |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    assert not used & {"cached_property", "WeakKeyDictionary", "WeakValueDictionary", "__dict__"}


@pytest.mark.parametrize("name", FILES)
def test_what_is_compiled_asks_for_membership_in_no_unpacked_tuple(name):
    """``x in (*A, *B)``: mypyc gives up on it."""
    unpacked = [
        line
        for line, items in written_out(name)
        if any(isinstance(item, ast.Starred) for item in items)
    ]
    assert not unpacked


@pytest.mark.parametrize("name", FILES)
def test_what_is_compiled_looks_for_nothing_among_tuples_written_out(name):
    """``x in (("const", True), …)``: x is then taken to hold these types, and ``1 == True``, so that
    one of another type is let through and fails where it is used."""
    narrowed = [
        line
        for line, items in written_out(name)
        if any(isinstance(item, ast.Tuple) for item in items)
    ]
    assert not narrowed


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_interpreted_has_no_class_below_a_compiled_one(name):
    tree = parsed(name)
    origins = imported(tree)
    below = [
        (node.name, base.id)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if isinstance(base, ast.Name) and origins.get(base.id) in COMPILED
    ]
    assert not below


def test_the_version_asks_a_module_that_is_compiled():
    from neuronport import compiled

    assert compiled._ASKED in COMPILED
    assert not compiled.is_compiled()


# ---- the hook --------------------------------------------------------------------------------------


def test_nothing_is_asked_for_where_nothing_is_compiled(monkeypatch):
    monkeypatch.setattr(hook, "missing", lambda _: "all of it")
    for value in ({}, {"NEURONPORT_COMPILE": ""}, {"NEURONPORT_COMPILE": "0"}):
        assert hook.requirements(value) == []
    assert hook.requirements({"NEURONPORT_COMPILE": "auto"}) == []
    assert any(r.startswith("mypy") for r in hook.requirements({"NEURONPORT_COMPILE": "1"}))
    monkeypatch.setattr(hook, "missing", lambda _: "")
    assert hook.requirements({}) == []
    assert any(r.startswith("mypy") for r in hook.requirements({"NEURONPORT_COMPILE": "auto"}))


def test_another_value_is_an_error():
    with pytest.raises(ValueError, match="NEURONPORT_COMPILE"):
        hook.requirements({"NEURONPORT_COMPILE": "yes please"})


@pytest.mark.skipif(os.name == "nt", reason="there the compiler is not looked for in PATH")
def test_a_compiler_is_looked_for_where_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(hook.sysconfig, "get_path", lambda _: str(tmp_path))
    assert "headers" in hook.missing({"PATH": str(tmp_path)})
    (tmp_path / "Python.h").write_text("")
    assert "no C compiler" in hook.missing({"PATH": str(tmp_path)})
    assert "no C compiler (/nonexistent)" in hook.missing({"CC": "/nonexistent -O1"})
    (tmp_path / "mycc").write_text("#!/bin/sh\n")
    (tmp_path / "mycc").chmod(0o755)
    assert hook.missing({"CC": "mycc -O1", "PATH": str(tmp_path)}) == ""


def build(checkout: Path, out: Path, **environment: str):
    command = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out)
    return run(*command, cwd=checkout, check=False, **environment)


@pytest.mark.skipif(os.name == "nt", reason="there the compiler is not looked for in PATH")
def test_without_a_compiler_auto_makes_the_pure_wheel_and_says_so(checkout, wheel, tmp_path):
    done = build(checkout, tmp_path, NEURONPORT_COMPILE="auto", CC="/nonexistent")
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("neuronport: ")]
    assert said == ["neuronport: a wheel of Python alone: there is no C compiler (/nonexistent)"]
    (file,) = tmp_path.glob("*.whl")
    assert file.name == wheel.name
    with zipfile.ZipFile(file) as one, zipfile.ZipFile(wheel) as other:
        assert set(one.namelist()) == set(other.namelist())


@pytest.mark.skipif(os.name == "nt", reason="there the compiler is not looked for in PATH")
def test_without_a_compiler_one_makes_no_wheel(checkout, tmp_path):
    done = build(checkout, tmp_path, NEURONPORT_COMPILE="1", CC="/nonexistent")
    assert done.returncode != 0
    assert "NotCompiledError" in done.stderr
    assert not list(tmp_path.glob("*.whl"))


@pytest.mark.skipif(
    not os.environ.get("NEURONPORT_TEST_COMPILE"), reason="NEURONPORT_TEST_COMPILE is not set"
)
def test_a_compiled_wheel_works_and_finds_the_same(checkout, from_wheel, tmp_path):
    before = {p for p in checkout.rglob("*") if "__pycache__" not in p.parts}
    done = build(checkout, tmp_path / "wheel", NEURONPORT_COMPILE="1")
    assert done.returncode == 0, done.stderr
    assert {p for p in checkout.rglob("*") if "__pycache__" not in p.parts} == before
    (file,) = (tmp_path / "wheel").glob("*.whl")
    assert "-none-any" not in file.name
    with zipfile.ZipFile(file) as archive:
        inside = archive.namelist()
    libraries = [n for n in inside if n.endswith((".so", ".pyd"))]
    assert {n.partition(".")[0].replace("/", ".") for n in libraries} == {
        *COMPILED, "neuronport__mypyc",
    }  # fmt: skip
    assert set(FILES) <= set(inside)
    environment = Environment(tmp_path / "env")
    environment.install(file, cwd=tmp_path)
    (tmp_path / "tree").mkdir()
    works(environment, tmp_path / "tree", os.path.join("neuronport", "_data"), "compiled")
    pythons = [str(from_wheel.python), str(environment.python)]
    assert same([*pythons, str(ROOT / "samples")]) == 0
    assert same([*reversed(pythons)]) == 2


# ---- comparing -------------------------------------------------------------------------------------


def test_what_differs_is_named():
    one = {"a": [1, {"b": "x"}], "c": None}
    assert list(differences(one, {"a": [1, {"b": "x"}], "c": None})) == []
    assert list(differences(one, {"a": [1, {"b": "y"}], "c": None})) == [".a[1].b: x / y"]
    assert list(differences(one, {"a": [1], "c": None}))
    assert list(differences(one, {"a": [True, {"b": "x"}], "c": None}))
    assert list(differences(one, {"c": None, "a": [1, {"b": "x"}]}))
    assert list(differences({"a": None}, {}))
