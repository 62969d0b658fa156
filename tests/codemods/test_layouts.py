"""Wherever a program is run from, it finds the seam: each layout runs before the port and after it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.codemods.porting import plan_for, plant, port

TORCH = """
class device(str):
    type = property(lambda self: self.partition(":")[0])


def zeros(*size, device=None):
    print("zeros on", device)


class cuda:
    is_available = staticmethod(lambda: False)
"""
"""So little of it that a run takes no time."""
CODE = 'import torch\ndef f():\n    return torch.zeros(3, device="cuda")\n'
CALL = CODE + "f()\n"


class Layout(NamedTuple):
    files: Mapping[str, str]
    runs: Sequence[tuple[str, ...]]
    """Folder, and what Python is given."""
    seams: Sequence[str]
    installed: str = ""
    """A folder that is on the path besides."""


LAYOUTS = {
    "a script": Layout({"a.py": CALL}, [(".", "a.py")], ["neuron_device.py"]),
    "scripts in folders": Layout(
        {"tools/train.py": CALL, "tools/deep/eval.py": CALL},
        [(".", "tools/train.py"), ("tools", "train.py"), (".", "tools/deep/eval.py")],
        ["tools/deep/neuron_device.py", "tools/neuron_device.py"],
    ),
    "a package": Layout(
        {"pkg/__init__.py": "", "pkg/a.py": CODE, "run.py": "from pkg.a import f\n" + CALL},
        [(".", "run.py"), (".", "-m", "pkg.a")],
        ["pkg/neuron_device.py"],
    ),
    "a package that imports relatively": Layout(
        {
            "pkg/__init__.py": "from .sub.b import g\n",
            "pkg/a.py": CODE,
            "pkg/sub/__init__.py": "",
            "pkg/sub/b.py": "from ..a import f as g\n" + CODE,
        },
        [(".", "-c", "import pkg; pkg.g()"), (".", "-c", "from pkg.sub.b import f; f()")],
        ["pkg/neuron_device.py"],
    ),
    "packages without __init__": Layout(
        {
            "pkg/a.py": CODE,
            "pkg/sub/b.py": "from pkg.a import f as g\n" + CODE,
            "pkg/rel.py": "from .a import f as g\n" + CODE,
            "main.py": "from pkg.sub import b\nfrom pkg import rel\nb.f(); b.g(); rel.f(); rel.g()\n",
        },
        [(".", "main.py"), (".", "-m", "pkg.sub.b")],
        ["pkg/neuron_device.py"],
    ),
    "scripts beside an __init__": Layout(
        {
            "pkg/__init__.py": "",
            "pkg/helper.py": "import random\ndef h(): pass\n",
            "pkg/train.py": "from helper import h\n" + CALL,
        },
        [(".", "pkg/train.py"), ("pkg", "train.py")],
        ["pkg/neuron_device.py"],
    ),
    "imports in functions": Layout(
        {
            "pkg/a.py": CODE,
            "pkg/b.py": "def g():\n    from pkg.a import f\n    f()\n" + CODE,
            "main.py": "def main():\n    from pkg.b import f, g\n    f()\n    g()\nmain()\n",
        },
        [(".", "main.py")],
        ["pkg/neuron_device.py"],
    ),
    "src": Layout(
        {
            "pyproject.toml": "",
            "src/pkg/__init__.py": "",
            "src/pkg/a.py": CODE,
            "scripts/train.py": "from pkg import a\na.f()\n" + CALL,
            "tests/test_a.py": "from pkg.a import f\nf()\n" + CALL,
        },
        [(".", "scripts/train.py"), ("scripts", "train.py"), (".", "tests/test_a.py")],
        ["src/pkg/neuron_device.py"],
        "src",
    ),
    "names of libraries beside": Layout(
        {
            "pkg/__init__.py": "",
            "pkg/random.py": CODE,
            "pkg/tqdm.py": CODE,
            "pkg/b.py": "import random\nfrom .random import f as g\ng()\n" + CODE,
            "main.py": "import pkg.b, pkg.tqdm\npkg.b.f(); pkg.tqdm.f()\n",
        },
        [(".", "main.py")],
        ["pkg/neuron_device.py"],
    ),
    "the name of the seam is a package": Layout(
        {"a.py": CALL, "neuron_device/__init__.py": "", "neuron_device/b.py": ""},
        [(".", "a.py")],
        ["neuron_seam.py"],
    ),
}


def environment(folder: Path, layout: Layout) -> dict[str, str]:
    there = [
        str(folder / "stub"),
        *([str(folder / "tree" / layout.installed)] * bool(layout.installed)),
    ]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(there), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_the_seam_is_found(tmp_path: Path, layout: Layout) -> None:
    tree = tmp_path / "tree"
    plant(tmp_path / "stub", {"torch.py": TORCH})
    plant(tree, layout.files)

    def runs() -> list[str]:
        return [
            subprocess.run(
                [sys.executable, *command],
                cwd=tree / folder,
                env=environment(tmp_path, layout),
                capture_output=True,
                text=True,
                check=True,
                timeout=60,
            ).stdout
            for folder, *command in layout.runs
        ]

    before = runs()
    port(tree)
    assert [out.replace("on cuda", "on cpu") for out in before] == runs()
    seams = sorted(p.relative_to(tree).as_posix() for p in tree.rglob("neuron_*.py"))
    assert seams == list(layout.seams)
    _, again = plan_for(tree)
    assert again.rewritten == []


@pytest.mark.parametrize("inside", [True, False], ids=["relative", "by its name"])
def test_a_package_that_is_the_whole_tree(tmp_path: Path, inside: bool) -> None:
    """``neuronport port path/to/package``: what is above it is not looked at."""
    tree = tmp_path / "mine"
    imports = "from . import other\n" if inside else "from mine import other\n"
    files = {"__init__.py": "", "other.py": "", "a.py": imports + CODE}
    plant(tree, {**files, "sub/__init__.py": "", "sub/b.py": "from .. import other\n" + CODE})
    plant(tmp_path / "stub", {"torch.py": TORCH})
    port(tree)
    done = subprocess.run(
        [sys.executable, "-c", "from mine.a import f; from mine.sub.b import f as g; f(); g()"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "stub")},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "zeros on cpu\n" * 2


def test_a_seam_that_git_ignores_is_not_written_over(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {"a.py": CALL, "neuron_device.py": "mine = 1\n", ".gitignore": "neuron_device.py\n"},
    )
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    port(tmp_path)
    assert (tmp_path / "neuron_device.py").read_text() == "mine = 1\n"
    assert "from neuron_seam import get_device" in (tmp_path / "a.py").read_text()
