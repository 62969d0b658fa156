"""How a figure is written: the same on the page and in Markdown."""

from __future__ import annotations

from neuronport.reporting.summary import duration

NOT_KNOWN = "not known"


def shown(value: float | int | None, kind: str) -> str:
    """``kind``: ``count``, ``duration`` (minutes of work), ``percent``, ``share`` (0 to 1),
    ``bytes``, ``seconds``, ``number``."""
    if value is None:
        return NOT_KNOWN
    if kind == "count":
        return f"{int(value):,}"
    if kind == "duration":
        return duration(int(value))
    if kind == "percent":
        return f"{int(value)} %"
    if kind == "share":
        return f"{100 * value:.1f} %"
    if kind == "bytes":
        return _bytes(value)
    if kind == "seconds":
        return f"{value:.3g} s"
    if kind == "number":
        return f"{value:.3g}"
    raise ValueError(kind)


def _bytes(value: float) -> str:
    if value < 1000:
        return f"{int(value)} B"
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        if value < 999.5 or unit == "TB":
            return f"{value:.3g} {unit}"
    raise AssertionError
