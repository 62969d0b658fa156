"""neuronport from a wheel, from an editable install and from a checkout, all offline."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from neuronport import __version__, caches, prepared
from neuronport.rulebook import load
from neuronport.rulebook.load import rulebook

ROOT = Path(__file__).parents[1]
RULE = "api/flash_attn#import"


def run(
    *command: str | Path, cwd: Path, check: bool = True, **more: str
) -> subprocess.CompletedProcess[str]:
    """``more``: of the environment."""
    left_out = ("PYTHONPATH", "PYTHONHOME", "NEURONPORT_COMPILE")
    env = {k: v for k, v in os.environ.items() if k not in left_out}
    done = subprocess.run(
        [str(c) for c in command],
        cwd=cwd,
        env={**env, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **more},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


class Environment:
    """A virtual environment that sees the dependencies of this one, but not its neuronport."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False)
        scripts = folder / ("Scripts" if os.name == "nt" else "bin")
        suffix = ".exe" if os.name == "nt" else ""
        self.python = scripts / f"python{suffix}"
        self.script = scripts / f"neuronport{suffix}"
        code = "import sysconfig; print(sysconfig.get_path('purelib'))"
        own = run(self.python, "-c", code, cwd=folder).stdout.strip()
        # A plain line of a .pth file adds a folder without obeying the .pth files in it.
        Path(own, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def install(self, *arguments: str | Path, cwd: Path) -> None:
        run(
            sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet",
            "--no-deps", "--no-build-isolation", *arguments, cwd=cwd,
        )  # fmt: skip


@pytest.fixture(scope="session")
def checkout(tmp_path_factory):
    """A copy of what is in the repository: nothing here may write into it."""
    import shutil

    copy = tmp_path_factory.mktemp("checkout") / "neuronport"
    left_out = shutil.ignore_patterns(
        ".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis", "*.egg-info", "build", "dist"
    )
    shutil.copytree(ROOT, copy, ignore=left_out, symlinks=True)
    return copy


@pytest.fixture(scope="session")
def sdist(checkout, tmp_path_factory):
    out = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", out, cwd=checkout)
    (file,) = out.glob("*.tar.gz")
    return file


@pytest.fixture(scope="session")
def wheel(sdist, tmp_path_factory):
    """Built from the source distribution, so that this one is known to be whole."""
    out = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(out, filter="data")
    (source,) = out.iterdir()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out, cwd=source)
    (file,) = out.glob("*.whl")
    assert file.name.endswith("-py3-none-any.whl")
    return file


@pytest.fixture(scope="session")
def from_wheel(wheel, tmp_path_factory):
    environment = Environment(tmp_path_factory.mktemp("env-wheel") / "env")
    environment.install(wheel, cwd=wheel.parent)
    return environment


@pytest.fixture(scope="session")
def editable(checkout, tmp_path_factory):
    environment = Environment(tmp_path_factory.mktemp("env-editable") / "env")
    environment.install("--editable", checkout, cwd=checkout)
    return environment


def names(folder: str) -> set[str]:
    base = ROOT / folder
    return {
        p.relative_to(ROOT).as_posix()
        for p in base.rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    }


def test_the_wheel_holds_the_package_and_its_data_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    data = {
        f"neuronport/_data/{name}"
        for name in names("rules") | names("schemas") | names("templates")
    }
    assert data
    assert data <= inside
    assert names("neuronport") <= inside
    rest = {n for n in inside - data - names("neuronport") if ".dist-info/" not in n}
    prepared = {n for n in rest if n.startswith("neuronport/_data/prepared/")}
    assert rest == prepared
    assert len(prepared) == 2


def test_the_source_distribution_holds_what_tests_and_documentation_need(sdist):
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("README.md", "LICENSE", "pyproject.toml", ".pre-commit-hooks.yaml", ".ci/run"):
        assert name in inside
    for folder in ("neuronport", "rules", "schemas", "templates", "tests", "samples", "docs"):
        assert names(folder) <= inside


def works(environment: Environment, folder: Path, expected: str, form: str = "pure Python") -> None:
    """Every way in, from a folder that has nothing to do with neuronport."""
    (folder / "a.py").write_text("import flash_attn\n")
    code = "from neuronport.data import data_folder as f; print(f('rules')); print(f('schemas'))"
    places = run(environment.python, "-c", code, cwd=folder).stdout.split("\n")
    assert all(expected in place for place in places[:2]), places
    for command in ([environment.script], [environment.python, "-m", "neuronport"]):
        shown = run(*command, "--version", cwd=folder).stdout
        assert shown == f"neuronport, version {__version__} ({form})\n"
        done = run(*command, "audit", "--format", "json", cwd=folder, check=False)
        assert done.returncode == 1, done.stderr
        assert RULE in {f["rule"] for f in json.loads(done.stdout)["findings"]}
    assert RULE in run(environment.script, "explain", RULE, cwd=folder).stdout


def test_from_a_wheel(from_wheel, tmp_path):
    works(from_wheel, tmp_path, os.path.join("neuronport", "_data"))


def test_a_first_run_has_nothing_to_prepare(from_wheel, tmp_path):
    (tmp_path / "a.py").write_text(
        "import flash_attn\nimport torch\ntorch.nonzero(torch.ones(2))\n"
    )
    code = (
        "import neuronport.rulebook.load as load, neuronport.operators.index as index\n"
        "def made(*a): raise SystemExit('made anew')\n"
        "load._compact = index._fill = made\n"
        "from neuronport.cli import main; main()"
    )
    words = ("-c", code, "audit", "--format", "json")
    done = run(from_wheel.python, *words, cwd=tmp_path, check=False, NEURONPORT_CACHE_DIR="")
    assert "made anew" not in done.stderr
    assert RULE in {f["rule"] for f in json.loads(done.stdout)["findings"]}


def test_what_was_prepared_of_other_rules_is_not_used(tmp_path, monkeypatch):
    (tmp_path / "rulebook.json").write_text('{"digest": "of others"}')
    monkeypatch.setattr(prepared, "file", lambda *parts: tmp_path.joinpath(*parts))
    monkeypatch.setattr(caches, "folder", lambda: None)
    assert RULE in rulebook.__wrapped__().rows
    prepared.make(tmp_path)
    monkeypatch.delattr(load, "_compact")
    assert RULE in rulebook.__wrapped__().rows


def test_editable(editable, checkout, tmp_path):
    works(editable, tmp_path, str(checkout))


def test_an_editable_install_sees_a_change_of_the_rules(editable, checkout, tmp_path):
    """Forced includes leave copies of the data in the environment; they must not be read."""
    new = checkout / "rules" / "api" / "zz_just_added.toml"
    new.write_text(
        'namespace = "zz_just_added"\ntitle = "Added"\n[evidence.e]\nkind = "inferred"\n'
        'source = "this test"\nsays = "it is there"\n[[row]]\nname = "zz_just_added.f"\n'
        'native = "breaks"\nevidence = ["e"]\n'
    )
    try:
        shown = run(editable.script, "explain", "api/zz_just_added.f", cwd=tmp_path)
    finally:
        new.unlink()
    assert "zz_just_added" in shown.stdout


def test_from_a_checkout(tmp_path):
    code = "from neuronport.data import data_folder as f; print(f('rules'))"
    place = run(sys.executable, "-c", code, cwd=ROOT).stdout.strip()
    assert Path(place) == ROOT / "rules"
    assert run(sys.executable, "-m", "neuronport", "--version", cwd=ROOT).stdout


def test_the_hook_of_pre_commit_is_the_command(from_wheel, tmp_path):
    """What pre-commit runs: the entry with several files, in one process at a time."""
    hook = dict(
        line.strip("- ").split(": ", 1)
        for line in (ROOT / ".pre-commit-hooks.yaml").read_text().splitlines()
        if ": " in line and "#" not in line
    )
    assert hook["language"] == "python"
    assert hook["require_serial"] == "true"
    assert "python" in hook["types_or"]
    assert "pass_filenames" not in hook  # its default is true
    name, *arguments = hook["entry"].split()
    assert name == from_wheel.script.stem
    (tmp_path / "a b.py").write_text("import flash_attn\n")
    (tmp_path / "c.py").write_text("x = 1\n")
    both = run(from_wheel.script, *arguments, "a b.py", "c.py", cwd=tmp_path, check=False)
    assert both.returncode == 1
    assert "a b.py:1" in both.stdout
    assert run(from_wheel.script, *arguments, "c.py", cwd=tmp_path).returncode == 0
