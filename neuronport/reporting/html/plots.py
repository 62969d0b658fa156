"""Plots as SVG. Every plot has its figures beside it as text: a picture alone says nothing to many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10

from markupsafe import Markup, escape

WIDTH = 600


def stacked(parts: Sequence[tuple[str, int]], title: str, height: int = 14) -> Markup:
    """One bar of several parts: ``(class, number)``."""
    total = sum(n for _, n in parts)
    rects, x = [], 0.0
    for name, number in parts:
        width = WIDTH * number / total if total else 0
        rects.append(Markup('<rect class="fill {}" x="{}" width="{}" height="{}"/>').format(
            name, _n(x), _n(width), height
        ))  # fmt: skip
        x += width
    return _svg(WIDTH, height, title, rects, "bar")


def ranges(rows: Sequence[tuple[str, int, int]], title: str) -> Markup:
    """Ranges of minutes on one scale that goes by powers of ten: ``(class, low, high)``."""
    top = max((high for _, _, high in rows), default=0)
    if not top:
        return Markup("")
    scale = WIDTH / log10(max(top, 10) * 1.05)

    def at(minutes: int) -> float:
        return log10(max(minutes, 1)) * scale

    out, y = [], 2
    for name, low, high in rows:
        out.append(
            Markup('<rect class="track" x="0" y="{}" width="{}" height="2"/>').format(y + 4, WIDTH)
        )
        out.append(Markup('<rect class="fill {}" x="{}" y="{}" width="{}" height="10" rx="3"/>').format(
            name, _n(at(low)), y, _n(max(at(high) - at(low), 4))
        ))  # fmt: skip
        y += 18
    return _svg(WIDTH, y, title, out, "ranges")


def strip(runs: Sequence[Sequence[object]], title: str) -> Markup:
    """A graph's nodes in their order, coloured by their word: ``[word, nodes]``."""
    total = sum(int(str(n)) for _, n in runs)
    if not total:
        return Markup("")
    rects, x = [], 0.0
    for word, nodes in runs:
        width = WIDTH * int(str(nodes)) / total
        rects.append(Markup('<rect class="fill v-{}" x="{}" width="{}" height="22"/>').format(
            word, _n(x), _n(max(width, 0.4))
        ))  # fmt: skip
        x += width
    return _svg(WIDTH, 22, title, rects, "strip")


def pairs(rows: Sequence[tuple[str, int, int]], title: str) -> Markup:
    """Before above after, for each row: ``(class, before, after)``."""
    top = max((max(a, b) for _, a, b in rows), default=0)
    if not top:
        return Markup("")
    out, y = [], 0
    for name, before, after in rows:
        for number, faint in ((before, " faint"), (after, "")):
            out.append(Markup('<rect class="fill {}{}" x="0" y="{}" width="{}" height="9"/>').format(
                name, faint, y, _n(WIDTH * number / top)
            ))  # fmt: skip
            y += 10
        y += 8
    return _svg(WIDTH, y, title, out, "pairs")


def phases(seconds: Mapping[str, float | None], together: Sequence[float], title: str) -> Markup:
    """The phases of one compilation one after the other, those that cannot be told apart hatched."""
    parts = [(f"p-{name}", value) for name, value in seconds.items() if value]
    parts += [("p-together", value) for value in together if value]
    total = sum(value for _, value in parts)
    if not total:
        return Markup("")
    rects, x = [], 0.0
    for name, value in parts:
        width = WIDTH * value / total
        rects.append(Markup('<rect class="fill {}" x="{}" width="{}" height="12"/>').format(
            name, _n(x), _n(width)
        ))  # fmt: skip
        x += width
    return _svg(WIDTH, 12, title, rects, "bar")


def _svg(width: int, height: int, title: str, inside: Sequence[Markup], kind: str) -> Markup:
    return Markup(
        '<svg class="plot {}" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img">'
        "<title>{}</title>{}</svg>"
    ).format(kind, width, height, escape(title), Markup("").join(inside))


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
