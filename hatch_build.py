"""Builds the wheel: of Python alone, or, where that is asked for, with its hot modules compiled.
Either brings along the rules in the form in which an audit wants them.

``NEURONPORT_COMPILE`` decides. Not set, empty or ``0``: pure Python. ``1``: compiled with mypyc, or
no wheel at all. ``auto``: compiled where that works, else pure Python and a line that says why.
Which modules are compiled is in ``pyproject.toml``, under the hook. The sources stay in a compiled
wheel: tracebacks show them, and caches are keyed by them. Editable installs are never compiled.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

VARIABLE = "NEURONPORT_COMPILE"
REQUIREMENTS = ["mypy[mypyc]==2.4.1", "setuptools>=66"]
"""One release of mypyc: what it makes of a module is not the same in the next."""
GROUP = "neuronport"
"""All modules are in one library, ``neuronport__mypyc``, and call each other directly."""


PREPARED = "neuronport/_data/prepared"


class NotCompiledError(Exception):
    """Why nothing can be compiled here."""


def wanted(environment: Mapping[str, str]) -> str:
    """``""``, ``"1"`` or ``"auto"``."""
    value = environment.get(VARIABLE, "").strip().lower()
    if value in ("", "0"):
        return ""
    if value in ("1", "auto"):
        return value
    raise ValueError(f"{VARIABLE} is 1, auto or 0, not {value!r}")


def missing(environment: Mapping[str, str]) -> str:
    """What is not there that compiling needs, besides packages; empty: nothing."""
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.is_file():
        return f"the headers of Python are not installed ({header})"
    if os.name == "nt":  # setuptools finds Visual C++ by itself, outside of PATH
        return ""
    command = environment.get("CC") or sysconfig.get_config_var("CC") or "cc"
    compiler = shlex.split(command)[0]
    if shutil.which(compiler, path=environment.get("PATH", os.defpath)) is None:
        return f"there is no C compiler ({compiler})"
    return ""


def requirements(environment: Mapping[str, str]) -> list[str]:
    """What must be installed to build the wheel, besides what ``pyproject.toml`` says."""
    value = wanted(environment)
    if value == "1" or (value == "auto" and not missing(environment)):
        return list(REQUIREMENTS)
    return []


def to_compile(root: Path, config: Mapping[str, Any]) -> list[str]:
    """The files to compile, relative to ``root``, as the tables of the hook say."""
    left = set(config["interpreted"])
    found: set[str] = set()
    for pattern in config["compiled"]:
        files = {path.relative_to(root).as_posix() for path in root.glob(pattern)}
        if not files:
            raise FileNotFoundError(f"no module {pattern}")
        found |= files
    if not left <= found:
        raise FileNotFoundError(f"no modules {', '.join(sorted(left - found))}")
    return sorted(name for name in found - left if not name.endswith("/__init__.py"))


def prepared(root: Path, folder: Path) -> dict[str, str]:
    """What the first run would make otherwise; each file and the place it has in the wheel."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    words = [sys.executable, "-m", "neuronport.prepared", str(folder)]
    subprocess.run(words, cwd=root, env=environment, check=True)
    return {
        str(path): f"{PREPARED}/{path.relative_to(folder).as_posix()}"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def compiled(root: Path, files: list[str], folder: Path) -> dict[str, str]:
    """Compile into ``folder``; each library and the place it has in the wheel.

    Raises NotCompiledError.
    """
    why = missing(os.environ)
    if why:
        raise NotCompiledError(why)
    source, out = folder / "source", folder / "out"
    # Away from the checkout: neither the files mypyc writes nor the settings it would find there.
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(root / "neuronport", source / "neuronport", ignore=skipped)
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), str(out), *files],
        cwd=source,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise NotCompiledError(f"it could not be compiled:\n{done.stdout[-4000:]}")
    return {
        str(path): path.relative_to(out).as_posix()
        for path in sorted(out.rglob("*"))
        if path.suffix in (".so", ".pyd")
    }


def compile_here(out: str, files: list[str]) -> None:
    """In a process of its own: mypyc writes ``build/`` where it stands."""
    from mypyc.build import mypycify
    from setuptools import Distribution

    options = ["--config-file=", "--ignore-missing-imports"]
    # More than -O1 takes minutes more and makes no audit faster: it is in calls of Python's own C.
    extensions = mypycify([*options, *files], opt_level="1", debug_level="0", group_name=GROUP)
    if os.name != "nt":
        for extension in extensions:
            # Debian and others ask for -Wall, which doubles the time on code of this kind.
            extension.extra_compile_args.append("-Wno-all")
    command = Distribution({"name": "neuronport", "ext_modules": extensions}).get_command_obj(
        "build_ext"
    )
    command.build_lib = out
    command.build_temp = "build"
    command.ensure_finalized()
    command.run()


def main() -> None:
    compile_here(sys.argv[1], sys.argv[2:])


if __name__ == "__main__":
    main()
else:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface

    class CompileHook(BuildHookInterface):  # type: ignore[type-arg]
        """What hatchling calls."""

        _folder: tempfile.TemporaryDirectory[str] | None = None

        def dependencies(self) -> list[str]:
            return requirements(os.environ)

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            value = wanted(os.environ)
            if version == "editable":
                return
            self._folder = tempfile.TemporaryDirectory(prefix="neuronport-build-")
            root, folder = Path(self.root), Path(self._folder.name)
            build_data["force_include"] |= prepared(root, folder / "prepared")
            if not value:
                return
            try:
                libraries = compiled(root, to_compile(root, self.config), folder)
            except NotCompiledError as error:
                if value == "1":
                    raise
                print(f"neuronport: a wheel of Python alone: {error}", file=sys.stderr)
                return
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
            build_data["force_include"] |= libraries

        def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
            if self._folder is not None:
                self._folder.cleanup()
