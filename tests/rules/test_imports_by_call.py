"""Imports that are no import statement, and names that another module has from one that may fail."""

from __future__ import annotations

from pathlib import Path

from tests.rules.judging import judge_files

WRAPPER = "import importlib\ndef optional_import(n, v='', name=''):\n    ...\n"


def said(folder: Path, files: dict[str, str]) -> dict[tuple[int, str], tuple[str, str]]:
    part = judge_files(folder, files, ("native",))
    return {
        (f.location.line, f.rule): (f.verdict.value, f.confidence.value)
        for f in part.findings
        if f.location.path == "use.py"
    }


def test_a_function_of_the_project_that_tries_to_import(tmp_path: Path) -> None:
    code = (
        "from lib.util import optional_import\n"
        "cupy, has_cupy = optional_import('cupy')\n"
        "_, has_norm = optional_import('apex.normalization', name='FusedLayerNorm')\n"
        "nib, _ = optional_import('nibabel')\n"
        "def f(x):\n    if has_cupy:\n        x = cupy.asarray(x)\n    return cupy.cuda.Stream()\n"
    )
    found = said(tmp_path, {"lib/__init__.py": "", "lib/util.py": WRAPPER, "use.py": code})
    assert {k: v[0] for k, v in found.items()} == {
        (2, "api/cupy#import"): "locks-in",
        (3, "api/apex#import"): "locks-in",
        (7, "api/cupy.asarray"): "locks-in",
        (8, "api/cupy.cuda.Stream"): "breaks",
    }


def test_import_module_is_an_import(tmp_path: Path) -> None:
    code = (
        "import importlib\nlib = importlib.import_module('apex.optimizers')\n"
        "lib.FusedAdam([])\nname = input()\nimportlib.import_module(name)\n"
        "importlib.import_module('.apex', 'pkg')\n"
        "try:\n    bnb = importlib.import_module('flash_attn')\nexcept ImportError:\n    bnb = None\n"
    )
    found = said(tmp_path, {"use.py": code})
    assert {k: v[0] for k, v in found.items()} == {
        (2, "api/apex#import"): "breaks",
        (3, "api/apex.optimizers.FusedAdam"): "breaks",
        (8, "api/flash_attn#import"): "locks-in",
    }


def test_a_variable_of_another_module_that_holds_a_library(tmp_path: Path) -> None:
    external = (
        "{stand_in}\nerror = None\ntcnn = None\ntry:\n    import tinycudann\n    tcnn = tinycudann\n"
        "except ImportError as e:\n    error = e\nif error is not None:\n    tcnn = {name}(error)\n"
    )
    code = "from lib.external import tcnn\ndef f(n):\n    return tcnn.Encoding(n, {})\n"
    files = {"lib/__init__.py": "", "use.py": code}
    raising = external.format(stand_in="class LazyError:\n    ...", name="LazyError")
    found = said(tmp_path / "a", files | {"lib/external.py": raising})
    assert found[3, "api/tinycudann.Encoding"][0] == "breaks"
    plain = external.format(stand_in="class PlainEncodings:\n    ...", name="PlainEncodings")
    assert said(tmp_path / "b", files | {"lib/external.py": plain}) == {}


def test_an_import_that_raises_something_else_is_not_excused(tmp_path: Path) -> None:
    code = "try:\n    import tinycudann\nexcept {}:\n    tinycudann = None\n"
    verdicts = [
        said(tmp_path / str(i), {"use.py": code.format(error)})[2, "api/tinycudann#import"][0]
        for i, error in enumerate(("ImportError", "(ImportError, OSError)", "Exception"))
    ]
    assert verdicts == ["breaks", "locks-in", "locks-in"]
