"""An interpreter that has torch_xla, and how it has to be started."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path


class XlaEnvironmentError(RuntimeError):
    """The interpreter cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class XlaPython:
    """The interpreter of an environment with torch_xla."""

    file: str

    def checked(self) -> XlaPython:
        """Itself.

        Raises XlaEnvironmentError: there is no such program.
        """
        if shutil.which(self.file) is None:
            raise XlaEnvironmentError(f"{self.file}: no interpreter is there")
        return self

    def variables(self) -> dict[str, str]:
        """The environment variables to start it with."""
        found = {
            **os.environ,
            "PJRT_DEVICE": "CPU",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }
        found.pop("PYTHONPATH", None)  # of another torch, perhaps
        # the file itself may be a link to the interpreter that the environment was made with
        stubs = Path(self.file).absolute().parent.parent / "stubs"
        if stubs.is_dir():  # an environment of tools/measure_xla: empty CUDA libraries
            before = found.get("LD_LIBRARY_PATH", "")
            found["LD_LIBRARY_PATH"] = f"{stubs}{os.pathsep}{before}" if before else str(stubs)
        return found

    def versions(self) -> Mapping[str, str]:
        """``torch``, ``torch_xla`` and ``python`` as installed there.

        Raises XlaEnvironmentError: torch_xla cannot be imported.
        """
        return _versions(self.file)


@cache
def _versions(file: str) -> Mapping[str, str]:
    from neuronport.xla_environment.running import run

    done = run(XlaPython(file), "neuronport.xla_environment.versions", {}, seconds=120)
    if done.why or not done.rows:
        last = f": {done.tail[-1]}" if done.tail else ""
        raise XlaEnvironmentError(
            f"{file}: torch_xla cannot be used ({done.why or 'no answer'}{last})"
        )
    return {str(k): str(v) for k, v in done.rows[0].items()}
