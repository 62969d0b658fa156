"""Progress on stderr, on a terminal only, and only for what takes long enough to be seen."""

from __future__ import annotations

import sys
import time

_AFTER = 0.7
"""Seconds before anything is shown."""
_EVERY = 0.1


class Progress:
    """Counts steps of named phases; clears its line at the end."""

    def __init__(self, total: int, labels: dict[str, str]) -> None:
        self._total = total
        self._labels = labels
        self._counts = dict.fromkeys(labels, 0)
        self._started = self._shown = time.monotonic()
        self._visible = False
        self._enabled = sys.stderr is not None and sys.stderr.isatty()

    def step(self, phase: str) -> None:
        self._counts[phase] += 1
        if not self._enabled:
            return
        now = time.monotonic()
        if now - self._started < _AFTER or now - self._shown < _EVERY:
            return
        self._shown = now
        self._visible = True
        text = f"{self._labels[phase]} {self._counts[phase]} of {self._total} files"
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    def close(self) -> None:
        if self._visible:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._visible = False
