"""The child process: reads a request, runs the user's code, writes a record.

Run as a file, not as a module: the interpreter may be the user's own, which knows neither
neuronport nor what it needs.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from typing import Any


def _bootstrap() -> None:
    """Makes this package importable without its folder hiding anything of the environment."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    if "neuronport" in sys.modules:
        return
    package = os.path.dirname(os.path.dirname(here))
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
        limit = megabytes << 20
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as stream:
        request: dict[str, Any] = json.load(stream)
    _bootstrap()
    sys.path.insert(0, os.getcwd())
    _limit(request["memory"])
    started = time.monotonic()
    try:
        import torch
    except ImportError as error:
        _write(request, {"error": f"torch cannot be imported by {sys.executable}: {error}"})
        return 0
    from neuronport.graph.capture.session import captured

    record = captured(request)
    record["torch"] = str(torch.__version__)
    record["python"] = ".".join(str(v) for v in sys.version_info[:3])
    record["seconds"] = round(time.monotonic() - started, 3)
    _write(request, record)
    return 0


def _write(request: dict[str, Any], record: dict[str, Any]) -> None:
    part = request["record"] + ".part"
    with open(part, "w", encoding="utf-8") as stream:
        json.dump(record, stream)
    os.replace(part, request["record"])


if __name__ == "__main__":
    raise SystemExit(main())
