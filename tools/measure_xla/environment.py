"""The environment the measuring runs in: torch_xla, the torch it was built for, stub libraries."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

from tools.measure_xla import stubs

TORCH = "2.9.0"
TORCH_XLA = "2.9.0"
PACKAGES = [
    f"torch=={TORCH}",
    f"torch_xla=={TORCH_XLA}",
    # what the two import at run time, without the CUDA wheels that torch declares
    *("absl-py", "expecttest", "filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx"),
    *("numpy", "pyyaml", "scipy", "setuptools", "sympy", "typing_extensions"),
    *("requests", "certifi", "charset-normalizer", "idna", "urllib3"),
]


def python_of(folder: Path) -> Path:
    return folder / "bin" / "python"


def create(folder: Path) -> None:
    """Install into ``folder``; what is there already is kept."""
    if not python_of(folder).exists():
        venv.create(folder, with_pip=True)
    subprocess.run(
        [str(python_of(folder)), "-m", "pip", "install", "--quiet", "--no-deps", *PACKAGES],
        check=True,
    )
    libraries = stubs.make(torch_libraries(folder), folder / "stubs")
    print(f"{len(libraries)} stub libraries in {folder / 'stubs'}", file=sys.stderr)
    subprocess.run(
        [str(python_of(folder)), "-c", "import torch_xla; print(torch_xla.device())"],
        env=variables(folder),
        check=True,
    )


def torch_libraries(folder: Path) -> Path:
    (found,) = folder.glob("lib/python3*/site-packages/torch/lib")
    return found


def variables(folder: Path) -> dict[str, str]:
    """The environment variables of a worker."""
    return {
        **os.environ,
        "LD_LIBRARY_PATH": str(folder / "stubs"),
        "PJRT_DEVICE": "CPU",
        "OMP_NUM_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
