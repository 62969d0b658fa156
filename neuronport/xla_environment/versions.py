"""A worker: which versions are there, and whether they work."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def main(request: dict[str, Any], write: Callable[[dict[str, Any]], None]) -> None:
    import torch
    import torch_xla

    write(
        {
            "torch": str(torch.__version__),
            "torch_xla": str(torch_xla.__version__),
            "python": ".".join(str(v) for v in sys.version_info[:3]),
            "device": str(torch_xla.device()),
        }
    )
