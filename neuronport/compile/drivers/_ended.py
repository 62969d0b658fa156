"""How a process ended that did not come to its end, as a status and a line."""

from __future__ import annotations

from collections.abc import Sequence


def status(why: str) -> tuple[str, str]:
    """``("timed-out", …)``, ``("over-memory", …)`` or ``("crashed", …)``."""
    if why.startswith("not finished"):
        return "timed-out", f"{why} (--time-limit)"
    if "MB were used" in why:
        return "over-memory", f"{why} (--memory-limit)"
    if not why:
        return "crashed", "its process ended itself, with status 0 and without a result"
    if why.endswith(("SIGKILL", "SIGABRT")):
        return "crashed", f"{why}, as happens over the memory limit (--memory-limit)"
    return "crashed", why


def is_memory(error: str) -> bool:
    """Whether an exception says that there was no memory left."""
    return any(
        word in error
        for word in ("MemoryError", "can't allocate memory", "bad_alloc", "Cannot allocate memory")
    )


def with_last(line: str, tail: Sequence[str]) -> str:
    """A line, and what was printed last."""
    return f"{line}: {tail[-1]}" if tail else line
