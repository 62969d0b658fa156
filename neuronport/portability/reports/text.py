"""For people, at a terminal: the three verdicts first, then what each rests on."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from neuronport.portability.verdict import LEVELS, Ground, Level, Portability
from neuronport.reporting.escape import terminal

_WIDTH = 100


def render(result: Portability) -> str:
    return "\n".join(_lines(result)) + "\n"


def _lines(result: Portability) -> Iterator[str]:
    yield f"portability of {terminal(result.tree)}" if result.tree else "portability"
    yield ""
    for name in LEVELS:
        level = result.levels[name]
        required = "  (required)" if name in result.required else ""
        yield f"  {name:<12} {level.verdict}{required}"
    for name in LEVELS:
        yield from _level(result.levels[name])
    compared = result.levels["performance"].figures.get("comparisons", ())
    if compared:
        yield ""
        yield "runs side by side"
        for row in compared:
            yield from _comparison(row)
    yield ""
    yield "read from"
    for source in result.sources:
        what = f"{source.kind} {source.file}".rstrip()
        made = f", made {source.made}" if source.made else ""
        yield from _wrapped(f"{what}: {source.state}{made}", "  ", "      ")
    for problem in result.problems:
        yield from _wrapped(f"not read: {problem}", "  ", "      ")
    if result.broken:
        yield ""
        why = "required, and not shown to hold" if result.required else "fails"
        yield f"{', '.join(result.broken)}: {why}"


def _level(level: Level) -> Iterator[str]:
    yield ""
    yield f"{level.name}: {level.verdict}"
    if len(level.by_target) > 1:
        for target, verdict in level.by_target.items():
            yield f"  {terminal(target)}: {verdict}"
    several = len(level.by_target) > 1
    for ground in level.because:
        yield from _ground(ground, "-", several)
    for ground in level.not_known:
        yield from _wrapped(f"not known: {ground.says} ({ground.rests_on})", "  ? ", "    ")


def _ground(ground: Ground, mark: str, several: bool) -> Iterator[str]:
    target = f"{ground.target}: " if several and ground.target else ""
    yield from _wrapped(f"{target}{ground.says}", f"  {mark} ", "    ")
    if ground.places:
        yield from _wrapped(", ".join(ground.places), "      ", "      ")
    yield from _wrapped(f"[{ground.rests_on}]", "      ", "      ")


def _comparison(row: dict[str, object]) -> Iterator[str]:
    yield from _wrapped(f"{row['first']} and {row['second']}", "  ", "      ")
    if not row["comparable"]:
        differs = row["differs"]
        assert isinstance(differs, list)
        yield from _wrapped(f"not compared: {'; '.join(differs)}", "    ", "      ")
        return
    figures = row["figures"]
    assert isinstance(figures, dict)
    for name, figure in figures.items():
        ratio = f", ratio {figure['ratio']:g}" if figure["ratio"] is not None else ""
        numbers = f"{figure['first']:g} and {figure['second']:g} {figure['unit']}"
        yield from _wrapped(f"{name}: {numbers}{ratio}", "    ", "      ")
    if row["unknown"]:
        unknown = row["unknown"]
        assert isinstance(unknown, list)
        yield from _wrapped(f"said by neither: {', '.join(unknown)}", "    ", "      ")


def _wrapped(text: str, first: str, rest: str) -> Iterator[str]:
    yield from textwrap.wrap(
        terminal(text),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
