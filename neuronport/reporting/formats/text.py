"""The first screen: what happens on each target, what matters most, what it costs, what is next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neuronport.findings import Confidence
from neuronport.reporting import escape
from neuronport.reporting.result import AuditResult, RenderOptions
from neuronport.reporting.screen import (
    Painter,
    closing,
    fit,
    head,
    line_around,
    place,
    width_of,
    wrap,
)
from neuronport.reporting.summary import Group, plural, summarize

NAME = "text"
DESCRIPTION = "one screen for people: verdict, the causes that matter most, effort, what is next"


def render(audit: AuditResult, options: RenderOptions) -> Iterator[str]:
    paint = Painter(options.color)
    yield from head(audit, options, paint)
    groups = summarize(audit).groups
    shown = groups[: options.groups]
    if shown:
        said = f"What matters most ({len(shown)} of {plural(len(groups), 'cause')})"
        marks = ", ".join(
            f"{mark} {word}"
            for word, mark in _MARKS.items()
            if any(g.confidence is word for g in shown)
        )
        yield f"\n{paint(said, 'bold')}{f'  {marks}' if marks else ''}\n"
    margin = max((len(_verdict(g)) for g in shown), default=0)
    for number, group in enumerate(shown, 1):
        yield from _group(number, group, options, paint, margin)
    yield from closing(audit, options, paint)


_MARKS = {Confidence.LIKELY: "~", Confidence.POSSIBLE: "?"}


def _verdict(group: Group) -> str:
    mark = _MARKS.get(group.confidence, "")
    return f"{group.verdict}{f' {mark}' if mark else ''}"


def _group(
    number: int, group: Group, options: RenderOptions, paint: Painter, margin: int
) -> Iterator[str]:
    """What it is and how much of it; where it is, whole; what to write instead.

    Two lines, and more where they would be too long: only what is written instead, or the line of
    source that stands for it, is ever cut.
    """
    columns = options.columns
    count = plural(len(group.places), "place")
    if group.reach:
        files = len({step.path for step in group.reach})
        count = f"reaches {plural(len(group.reach), 'place')} in {plural(files, 'file')}"
    else:
        count += f", {group.effort}"
    verdict = _verdict(group)
    indent = f"{number:>2}. {verdict:<{margin}}  "
    painted = f"{number:>2}. {paint(verdict, str(group.level))}{' ' * (margin - len(verdict))}  "
    room = columns - width_of(indent) - width_of(count) - 2
    key = escape.terminal(_key(group))
    named = group.key.startswith("api/") and not group.reach
    title = key if named else escape.terminal(" ".join(group.title.split()))
    beside = "" if title == key else f" [{key}]"
    below = ""
    if width_of(title + beside) > room:
        beside, below = "", beside.strip()
    first, *rest = wrap(title + beside, room, "", "")
    gap = " " * max(2, columns - width_of(indent) - width_of(first) - width_of(count))
    yield f"{painted}{paint(first, 'bold')}{gap}{count}\n"
    for line in rest:
        yield f"{' ' * width_of(indent)}{paint(line, 'bold')}\n"

    found = group.places[0]
    more = f" +{len(group.places) - 1:,}" if len(group.places) > 1 else ""
    words = [place(found.location.path, found.location.line) + more, below, _differ(group)]
    fix = f"fix: {escape.terminal(group.fix.codemod)}" if group.fix else ""
    for line in _filled([*words, _instead(group), fix], group, columns - 4):
        yield f"    {paint(line, 'dim')}".rstrip() + "\n"


def _filled(words: Sequence[str], group: Group, columns: int) -> Iterator[str]:
    """Words in as few lines as they take; what is instead, the last but one, gives way."""
    *before, instead, fix = words
    after = f"  {fix}" if fix else ""
    line = ""
    for word in filter(None, before):
        if line and width_of(line) + width_of(word) + 2 > columns:
            yield line
            line = ""
        line += f"  {word}" if line else word
    found = group.places[0]
    source = found.snippet.strip()
    room = columns - width_of(line) - width_of(after) - 2
    if room < min(_LEAST, width_of(instead or escape.terminal(source[:_LEAST]))):
        yield line
        line, room = "", columns - width_of(after)
    shown = instead or line_around(found.snippet, found.location.column, max(8, room))
    said = fit(shown, room)
    yield f"{line}{'  ' if line and said else ''}{said}{after}".strip()


def _instead(group: Group) -> str:
    instead = next(iter(group.replacements.values()), "")
    return escape.terminal("→ " + " ".join(instead.split())) if instead else ""


def _differ(group: Group) -> str:
    """The verdicts, where not every place has the same on every target."""
    if len({tuple(words) for words in group.verdicts.values()}) <= 1 and all(
        len(words) == 1 for words in group.verdicts.values()
    ):
        return ""
    said = "; ".join(
        (f"{target.partition('@')[0]} " if len(group.verdicts) > 1 else "")
        + ", ".join(_counted(str(v), n, len(group.places)) for v, n in words.items())
        for target, words in group.verdicts.items()
    )
    return f"({said})"


def _key(group: Group) -> str:
    """The id for the next command; that of a choice is its rule where the place follows anyway."""
    first = group.places[0].location
    named_for_place = group.key.startswith(f"{group.rule}/") and group.key.endswith(
        f":{first.line}"
    )
    return group.rule if named_for_place else group.key


_LEAST = 40
"""Columns below which what is written instead goes on a line of its own."""


def _counted(word: str, number: int, places: int) -> str:
    """The number only where it says something."""
    return word if number == places else f"{word} {number:,}"
