"""By what names the files of a tree are imported."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronport.findings import Role
from neuronport.workspace import (
    Modules,
    SourceFile,
    kind_of,
    module_names,
    modules,
    open_workspace,
)
from tests.workspace.trees import grow


def tree(*paths: str, root: str = "/nowhere/my-model") -> list[SourceFile]:
    return [
        SourceFile(path, f"{root}/{path}", kind_of(path.rpartition("/")[2]), Role.CODE, 0)
        for path in paths
    ]


def test_scripts_at_the_root() -> None:
    found = modules(tree("train.py", "my-script.py", "README.md"))
    assert found.names == {"train.py": "train", "my-script.py": "my-script"}
    assert found.alternatives["train.py"] == ("train",)
    assert found.roots == ("",)


def test_a_package_at_the_root() -> None:
    names = module_names(tree("pkg/__init__.py", "pkg/a.py", "pkg/sub/__init__.py", "pkg/sub/b.py"))
    assert names == {
        "pkg/__init__.py": "pkg",
        "pkg/a.py": "pkg.a",
        "pkg/sub/__init__.py": "pkg.sub",
        "pkg/sub/b.py": "pkg.sub.b",
    }


def test_a_source_folder_is_a_root() -> None:
    found = modules(tree("src/pkg/__init__.py", "src/pkg/a.py", "src/tool.py", "setup.py"))
    assert found.roots == ("", "src")
    assert found.names["src/pkg/a.py"] == "pkg.a"
    assert found.alternatives["src/pkg/a.py"] == ("pkg.a", "src.pkg.a")
    assert found.alternatives["src/tool.py"] == ("src.tool", "tool")


def test_several_roots() -> None:
    found = modules(
        tree("one/a/__init__.py", "one/a/x.py", "two/deep/b/__init__.py", "c/__init__.py")
    )
    assert found.roots == ("", "one", "two/deep")
    assert found.names["one/a/x.py"] == "a.x"
    assert found.names["two/deep/b/__init__.py"] == "b"
    assert found.names["c/__init__.py"] == "c"


def test_namespace_packages() -> None:
    found = modules(tree("models/blocks/attention.py", "src/ns/a.py"))
    assert found.alternatives["models/blocks/attention.py"] == (
        "models.blocks.attention",
        "attention",
    )
    assert found.alternatives["src/ns/a.py"] == ("src.ns.a", "ns.a", "a")


def test_a_gap_in_a_package_begins_another() -> None:
    names = module_names(tree("a/__init__.py", "a/gap/b/__init__.py", "a/gap/b/c.py"))
    assert names["a/gap/b/c.py"] == "b.c"


def test_a_tree_cut_from_a_package(tmp_path: Path) -> None:
    grow(tmp_path, {"outer/__init__.py": "", "outer/inner/__init__.py": "", "outer/inner/a.py": ""})
    found = modules(open_workspace([os.fspath(tmp_path / "outer" / "inner")]).files)
    assert found.alternatives == {"__init__.py": ("outer.inner",), "a.py": ("outer.inner.a", "a")}


def test_a_stray_init_at_the_root_of_a_checkout() -> None:
    found = modules(tree("__init__.py", "a.py", "pkg/__init__.py", "pkg/b.py"))
    assert found.names == {
        "__init__.py": "__init__",
        "a.py": "a",
        "pkg/__init__.py": "pkg",
        "pkg/b.py": "pkg.b",
    }


PROJECT = tree(
    "train.py",
    "utils.py",
    "scripts/run.py",
    "scripts/utils.py",
    "tools/eval.py",
    "tools/common.py",
    "one/utils/__init__.py",
    "one/main.py",
    "src/pkg/__init__.py",
    "src/pkg/core.py",
    "old/pkg/__init__.py",
    "old/pkg/core.py",
    "old/pkg/use.py",
    "gpt/train.py",
    "gpt/model.py",
    "gpt/random.py",
    "gpt/data/corpus.py",
    "gpt/layers/attention.py",
)


@pytest.mark.parametrize(
    ("name", "importer", "found"),
    [
        ("utils", "train.py", "utils.py"),
        ("utils", "scripts/run.py", "scripts/utils.py"),
        ("utils", "one/main.py", "one/utils/__init__.py"),
        ("common", "tools/eval.py", "tools/common.py"),
        ("common", "train.py", None),
        ("tools.common", "train.py", "tools/common.py"),
        ("pkg.core", "src/pkg/__init__.py", "src/pkg/core.py"),
        ("pkg.core", "old/pkg/use.py", "old/pkg/core.py"),
        ("pkg.core", "train.py", None),
        ("torch", "train.py", None),
        ("data.corpus", "gpt/train.py", "gpt/data/corpus.py"),
        ("data.corpus", "gpt/layers/attention.py", "gpt/data/corpus.py"),
        ("data.corpus", "train.py", None),
        ("gpt.data.corpus", "train.py", "gpt/data/corpus.py"),
        ("model", "gpt/layers/attention.py", "gpt/model.py"),
        ("model", "train.py", None),
        ("random", "gpt/layers/attention.py", None),
        ("random", "gpt/train.py", "gpt/random.py"),
        ("core", "old/pkg/use.py", None),
        ("old.pkg.core", "train.py", "old/pkg/core.py"),
    ],
)
def test_the_file_an_import_means(name: str, importer: str, found: str | None) -> None:
    assert modules(PROJECT).find(name, importer) == found


def test_a_package_hides_a_module_of_its_name() -> None:
    found = modules(tree("a.py", "a/__init__.py", "b.py"))
    assert found.candidates("a") == ("a.py", "a/__init__.py")
    assert found.find("a", "b.py") == "a/__init__.py"


_NAMES = st.sampled_from(["a", "b", "src", "__init__"])
_PATHS = st.lists(_NAMES, min_size=1, max_size=5).map(lambda parts: "/".join(parts) + ".py")


@given(st.lists(_PATHS, unique=True, max_size=15), st.randoms(use_true_random=False))
def test_every_file_has_names_whatever_the_order(paths: list[str], chance: random.Random) -> None:
    files = tree(*paths)
    found = modules(files)
    chance.shuffle(files)
    again: Modules = modules(files)
    assert (found.names, found.alternatives, found.roots) == (
        again.names,
        again.alternatives,
        again.roots,
    )
    assert list(found.names) == sorted(paths)
    for path in paths:
        names = found.alternatives[path]
        assert names[0] == found.names[path]
        assert len(set(names)) == len(names)
        for name in names:
            # A name is always the end of the path: no name is made up.
            ends = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            assert ("." + ends).endswith("." + name)


def test_fifty_thousand_files() -> None:
    files = tree(
        *(f"p{n % 50}/q{n % 1000}/{'__init__' if n < 1000 else f'm{n}'}.py" for n in range(50_000))
    )
    began = time.perf_counter()
    found = modules(files)
    assert len(found.names) == 50_000
    assert time.perf_counter() - began < 10  # linear: well under a second when idle
