"""Markdown, for a comment or a page."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.portability.verdict import LEVELS, Ground, Portability
from neuronport.reporting.escape import markdown, markdown_code


def render(result: Portability) -> str:
    return "\n".join(_lines(result)) + "\n"


def _lines(result: Portability) -> Iterator[str]:
    yield f"# Portability of {markdown(result.tree)}" if result.tree else "# Portability"
    yield ""
    yield "| level | verdict | required |"
    yield "|---|---|---|"
    for name in LEVELS:
        required = "yes" if name in result.required else ""
        yield f"| {name} | **{result.levels[name].verdict}** | {required} |"
    for name in LEVELS:
        level = result.levels[name]
        yield ""
        yield f"## {name.capitalize()}: {level.verdict}"
        yield ""
        if len(level.by_target) > 1:
            for target, verdict in level.by_target.items():
                yield f"* {markdown_code(target)}: {verdict}"
        for ground in level.because:
            yield _ground(ground)
        for ground in level.not_known:
            yield f"* not known: {markdown(ground.says)} ({markdown_code(ground.rests_on)})"
    compared = result.levels["performance"].figures.get("comparisons", ())
    if compared:
        yield ""
        yield "## Runs side by side"
        for row in compared:
            yield ""
            yield f"{markdown_code(row['first'])} and {markdown_code(row['second'])}"
            yield ""
            if not row["comparable"]:
                yield f"* not compared: {markdown('; '.join(row['differs']))}"
            for name, figure in row["figures"].items():
                ratio = f", ratio {figure['ratio']:g}" if figure["ratio"] is not None else ""
                unit = markdown(figure["unit"])
                yield f"* {name}: {figure['first']:g} and {figure['second']:g} {unit}{ratio}"
    yield ""
    yield "## Read from"
    yield ""
    yield "| record | file | state | made |"
    yield "|---|---|---|---|"
    for source in result.sources:
        file = markdown_code(source.file, cell=True) if source.file else ""
        yield f"| {source.kind} | {file} | {source.state} | {markdown(source.made)} |"
    for problem in result.problems:
        yield ""
        yield f"Not read: {markdown(problem)}"


def _ground(ground: Ground) -> str:
    target = f"{markdown_code(ground.target)}: " if ground.target else ""
    places = "".join(f" {markdown_code(p)}" for p in ground.places)
    return f"* {target}{markdown(ground.says)} — {markdown_code(ground.rests_on)}{places}"
