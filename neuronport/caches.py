"""The user's cache folder. It changes time, never results: what cannot be read is made again,
what cannot be written is not kept."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from functools import cache
from pathlib import Path


@cache
def folder() -> Path | None:
    """Where caches live, or None when there is no place for them.

    ``NEURONPORT_CACHE_DIR`` names another place; empty switches the cache off.
    """
    named = os.environ.get("NEURONPORT_CACHE_DIR")
    if named is not None:
        return Path(named) if named else None
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base, "neuronport") if base and os.path.isabs(base) else None


def read(kind: str, name: str) -> bytes | None:
    """What was kept under a name, or None."""
    base = folder()
    if base is None:
        return None
    try:
        return (base / kind / name).read_bytes()
    except OSError:
        return None


def write(kind: str, name: str, data: bytes) -> None:
    """Keep data under a name; readers never see half of it."""
    base = folder()
    if base is None:
        return
    try:
        target = base / kind
        target.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=target)
    except OSError:
        return
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, target / name)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
