"""The audit only looks: it runs nothing of the tree, changes nothing in it, and what the tree is
called or holds does nothing to the terminal."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import ROOT, environment, neuronport

MARKER = "EXECUTED"


class _Bomb:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def trap(folder: Path) -> Path:
    """A tree in which everything that anyone might import, run or unpickle leaves a mark."""
    marker = folder / MARKER
    program = (
        f"open({str(marker)!r}, 'w').write(__name__)\n"
        "import causal_conv1d\nraise SystemExit('it ran')\n"
    )
    tree = folder / "tree"
    for name in (
        "conftest.py", "setup.py", "sitecustomize.py", "usercustomize.py", "__init__.py",
        "__main__.py", "torch.py", "torch/__init__.py", "ast.py", "json.py", "click/__init__.py",
        "re.py", "libcst/__init__.py", "neuronport.py", "neuronport/__init__.py", "hubconf.py",
        "neuronport/cli/audit.py", "flash_attn.py", "tests/conftest.py", "noxfile.py", "encodings.py",
        "codecs/evil.py", "evil_codec.py", "fabfile.py", "tokenize.py", "tomllib.py",
    ):  # fmt: skip
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(program)
    (tree / "cookie.py").write_text("# -*- coding: evil_codec -*-\nx = 1\n")
    (tree / "evil.pth").write_text(f"import os; open({str(marker)!r}, 'w')\n")
    for name in ("model.pt", "model.pth.tar", "checkpoint.ckpt", "data.pkl", "weights.bin"):
        (tree / name).write_bytes(pickle.dumps(_Bomb(str(marker))))
    # the bomb is one: a trap that nothing springs would prove nothing
    bomb = (tree / "data.pkl").read_bytes()
    pickle.loads(bomb).close()
    assert marker.exists()
    marker.unlink()
    (tree / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "setup"\nbackend-path = ["."]\n'
    )
    (tree / "train.sh").write_text(f"touch {marker}\n")
    return tree


def state(tree: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(p.relative_to(tree)): (p.lstat().st_mtime_ns, p.read_bytes() if p.is_file() else b"")
        for p in sorted(tree.rglob("*"))
    }


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_nothing_of_the_tree_is_run_or_changed(tmp_path, jobs):
    tree = trap(tmp_path)
    before = state(tree)
    code = (
        "import neuronport.pool as pool, sys\n"
        "pool._WORTH_IT = 0\n"
        "from neuronport.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "audit", ".", "-j", jobs, "--format", "json"],
        capture_output=True,
        cwd=tree,
        # -c puts the current folder on the path; whoever calls us decides that, not we
        env=environment({"PYTHONSAFEPATH": "1"}),
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr.decode()
    assert len(json.loads(done.stdout)["findings"]) > 15
    assert not (tmp_path / MARKER).exists()
    assert state(tree) == before


def test_from_inside_the_tree_as_people_call_it(tmp_path):
    tree = trap(tmp_path)
    before = state(tree)
    script = tmp_path / "neuronport-script"
    script.write_text("from neuronport.cli import main\nmain()\n")
    done = subprocess.run(
        [sys.executable, str(script), "audit"],
        capture_output=True,
        cwd=tree,
        env=environment(),
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr.decode()
    assert not (tmp_path / MARKER).exists()
    assert state(tree) == before


@pytest.mark.skipif(sys.platform == "win32", reason="these names cannot exist there")
def test_hostile_names_and_lines_do_nothing_to_the_terminal(tmp_path):
    bad = "\x1b]0;owned\x07\x1b[2J\u202egnp.py"
    (tmp_path / "a\nb\r\x1b[31m.py").write_text("import flash_attn\n")
    (tmp_path / "::error::x.py").write_text("import flash_attn\n")
    (tmp_path / bad).write_text("import flash_attn\n")
    (tmp_path / "c.py").write_text(f"import flash_attn; x = 1  # {bad}\n", encoding="utf-8")
    os.mkdir(os.fsencode(tmp_path) + b"/\xff\xfe")
    with open(os.fsencode(tmp_path) + b"/\xff\xfe/d.py", "wb") as file:
        file.write(b"import flash_attn\ndef f(:\n")
    for name in ("text", "full", "github", "markdown", "json", "sarif", "gitlab"):
        done = neuronport("audit", ".", "--format", name, cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        for character in "\x1b\x07\r\u202e":
            assert character not in done.stdout, name
        if name == "github":
            assert all(
                x.startswith("::error file=") or not x.startswith("::")
                for x in done.stdout.splitlines()
            )
    missing = neuronport("audit", f"none{bad}", cwd=tmp_path)
    assert missing.returncode == 3
    assert "\x1b" not in missing.stderr
    assert missing.stderr.count("\n") == 1


def test_the_trap_is_outside_of_the_project():
    assert not list(ROOT.rglob(MARKER))
