"""Whether this neuronport is compiled: asked of a module that was loaded, not of how it was built."""

from __future__ import annotations

import importlib
from importlib.machinery import EXTENSION_SUFFIXES

_ASKED = "neuronport.readers.python.scan"
"""One of the compiled modules; all of them are in one library."""


def is_compiled() -> bool:
    """Whether the modules that can be compiled run as machine code."""
    file = importlib.import_module(_ASKED).__file__ or ""
    return file.endswith(tuple(EXTENSION_SUFFIXES))


def form() -> str:
    """In words."""
    return "compiled" if is_compiled() else "pure Python"
