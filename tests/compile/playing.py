"""Runs ``neuronport compile`` with tools that are played by replays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema

from neuronport.data import data_folder

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
REPLAYS = HERE / "replays"
SMALL = HERE / "models" / "small.py"
TOKENS = ("--input", "zeros((1,4),dtype=int64)")
_SCHEMA = json.loads((data_folder("schemas") / "compile.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        found = json.loads(self.out)
        jsonschema.validate(found, _SCHEMA)
        return found


class Tools:
    """A folder of programs for PATH, and the variables that choose the replays."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.variables: dict[str, str] = {
            "TORCH_NEURONX_NEFF_CACHE_DIR": str(folder / "neff_cache")
        }
        self.modules: list[str] = []
        self.xla_python = ""

    def neuronx_cc(self, name: str) -> Tools:
        self._script("neuronx-cc", REPLAYS / "neuronx_cc" / "neuronx-cc")
        self.variables["REPLAY_NEURONX_CC"] = str(REPLAYS / "neuronx_cc" / f"{name}.toml")
        return self

    def off_path(self, folder: Path) -> str:
        """Moves the compiler to a folder that PATH does not have."""
        folder.mkdir()
        return str((self.bin / "neuronx-cc").rename(folder / "neuronx-cc"))

    def module(self, folder: str, **variables: str) -> Tools:
        self.modules.append(str(REPLAYS / folder))
        self.variables.update(variables)
        return self

    def xla(self, name: str) -> Tools:
        self.xla_python = self._script("xla-python", HERE / "xla_player.py")
        self.variables["REPLAY_TORCH_XLA"] = str(REPLAYS / "torch_xla" / f"{name}.json")
        return self

    def _script(self, name: str, file: Path) -> str:
        script = self.bin / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{file}" "$@"\n', encoding="utf-8")
        script.chmod(0o755)
        return str(script)

    def compile(self, model: str | Path, *arguments: str, form: str = "json") -> Ran:
        # the interpreter's own folder is looked at for neuronx-cc, too: it has none here
        path = os.pathsep.join([str(self.bin), "/usr/bin", "/bin"])
        environment: Mapping[str, str] = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("NEURON", "TORCH_NEURON"))},
            "PATH": path,
            "PYTHONPATH": os.pathsep.join([*self.modules, str(ROOT)]),
            **self.variables,
        }
        xla = ["--xla-python", self.xla_python] if self.xla_python else []
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "neuronport",
                "compile",
                str(model),
                "--format",
                form,
                *xla,
                *arguments,
            ],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Ran(done.returncode, done.stdout, done.stderr)
