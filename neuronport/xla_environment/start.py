"""What the environment's interpreter runs: sets the limits, then runs the worker.

Run as a file: nothing there knows neuronport, of which only this package and the worker are
imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from typing import Any


def _bootstrap() -> None:
    """Makes neuronport's modules importable without this folder hiding anything."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    package = os.path.dirname(here)
    spec = importlib.util.spec_from_file_location(
        "neuronport", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["neuronport"] = module
    spec.loader.exec_module(module)


def _limit(megabytes: int) -> None:
    import resource

    if megabytes:
        resource.setrlimit(resource.RLIMIT_DATA, (megabytes << 20, megabytes << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 - not the Python that neuronport runs on
        print(f"Python {sys.version.split()[0]}: 3.11 or later is needed")
        return 3
    with open(sys.argv[1], encoding="utf-8") as stream:
        asked: dict[str, Any] = json.load(stream)
    _bootstrap()
    _limit(asked["memory"])
    worker = importlib.import_module(asked["worker"])
    with open(sys.argv[2], "a", buffering=1, encoding="utf-8") as rows:

        def write(row: dict[str, Any]) -> None:
            rows.write(json.dumps(row, separators=(",", ":")) + "\n")

        worker.main(asked["request"], write)
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # what torch_xla takes down at exit can hang, and nothing is left to be written
