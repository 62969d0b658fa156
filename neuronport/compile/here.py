"""What can compile here: interpreters, the compiler on PATH, devices. Each is asked once."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from neuronport import children
from neuronport.data import data_folder
from neuronport.xla_environment import XlaEnvironmentError, XlaPython, run

_PROBE = "neuronport.compile.workers.probe"
_PROBE_SECONDS = 180
_DEVICES = Path("/dev")
_VERSION = re.compile(r"NeuronX Compiler version (\S+)")


@dataclass(frozen=True, slots=True)
class TorchPython:
    """The interpreter of an environment with torch, which may be one of Neuron's."""

    file: str
    extra: Mapping[str, str]

    def checked(self) -> TorchPython:
        if shutil.which(self.file) is None:
            raise XlaEnvironmentError(f"{self.file}: no interpreter is there")
        return self

    def variables(self) -> dict[str, str]:
        """The user's, without the network for libraries that would use it."""
        return {
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "HF_DATASETS_OFFLINE": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            **self.extra,
        }


@dataclass(frozen=True, slots=True)
class Torch:
    """What an interpreter has."""

    packages: Mapping[str, str]
    trace: bool = False
    """``torch_neuronx.trace`` is there."""
    backend: bool = False
    """``torch.compile`` knows the backend ``neuron``."""
    devices: int = 0
    """Of ``torch.neuron``."""
    device: str = ""
    error: str = ""

    def versions(self, *names: str) -> dict[str, str]:
        return {n: self.packages[n] for n in names if n in self.packages}


@dataclass(frozen=True, slots=True)
class Compiler:
    """``neuronx-cc``."""

    file: str
    version: str = ""
    error: str = ""
    """Why it is not used."""


class Here:
    def __init__(self, python: str = "", xla_python: str = "", neuronx_cc: str = "") -> None:
        self.python = python or sys.executable
        self.xla_python = xla_python
        self.named_compiler = neuronx_cc

    @cached_property
    def torch(self) -> Torch:
        try:
            done = run(TorchPython(self.python, {}), _PROBE, {}, seconds=_PROBE_SECONDS)
        except XlaEnvironmentError as error:
            return Torch({}, error=str(error))
        found: dict[str, Any] = {"packages": {}}
        for row in done.rows:
            found.update(row)
        problem = found.get("error", "")
        if done.why and not problem:
            last = f": {done.tail[-1]}" if done.tail else ""
            problem = f"importing torch_neuronx {done.why}{last}"
        return Torch(
            {str(k): str(v) for k, v in found["packages"].items()},
            bool(found.get("trace")),
            bool(found.get("backend")),
            int(found.get("devices", 0)),
            str(found.get("device", "")),
            str(problem),
        )

    @cached_property
    def xla(self) -> Mapping[str, str]:
        """Versions in the environment with torch_xla.

        Raises XlaEnvironmentError: none is named, or it cannot be used.
        """
        if not self.xla_python:
            raise XlaEnvironmentError("no interpreter with torch_xla is named (--xla-python)")
        return XlaPython(self.xla_python).checked().versions()

    @cached_property
    def neuronx_cc(self) -> Compiler:
        """The one that is named, else the one beside the interpreter, else the one on PATH."""
        beside = str(Path(self.python).absolute().parent)
        file = (
            shutil.which(self.named_compiler)
            if self.named_compiler
            else shutil.which("neuronx-cc", path=beside) or shutil.which("neuronx-cc")
        )
        if file is None:
            named = f"{self.named_compiler}: no program is there"
            return Compiler("", error=named if self.named_compiler else "neuronx-cc is not on PATH")
        with tempfile.TemporaryDirectory(prefix="neuronport-") as folder:
            try:
                ended = children.run([file, "--version"], Path(folder) / "output", 60, 4096)
            except children.NotStartedError as error:
                return Compiler(file, error=str(error))
        version = _VERSION.search(ended.text)
        if version is None:
            first = next((x for x in ended.text.splitlines() if x.strip()), "")[:120].strip()
            said = f"{first!r}" if first else "nothing"
            why = f" ({ended.why})" if ended.why else ""
            return Compiler(
                file, error=f"{file} --version says {said}{why}: not what neuronx-cc says"
            )
        return Compiler(file, version[1])

    @cached_property
    def device_files(self) -> int:
        """Neuron devices that the driver shows: ``/dev/neuron0`` …"""
        try:
            return sum(bool(re.fullmatch(r"neuron\d+", name)) for name in os.listdir(_DEVICES))
        except OSError:
            return 0


@cache
def how_to_get(driver: str) -> tuple[str, ...]:
    with (data_folder("rules") / "compile" / "tools.toml").open("rb") as stream:
        table = tomllib.load(stream)
    return tuple(table[driver]["get"])
