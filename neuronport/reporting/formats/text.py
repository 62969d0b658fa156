"""The first screen: what happens on each target, what matters most, what it costs, what is next."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.findings import Confidence
from neuronport.reporting import escape
from neuronport.reporting.result import AuditResult, RenderOptions
from neuronport.reporting.screen import (
    Painter,
    closing,
    fit,
    fit_end,
    head,
    line_around,
    place,
    width_of,
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
    """Two lines: what it is and how much of it; where it is and what to write instead."""
    columns = options.columns
    count = plural(len(group.places), "place")
    if group.reach:
        files = len({step.path for step in group.reach})
        count = f"reaches {plural(len(group.reach), 'place')} in {plural(files, 'file')}"
    else:
        count += f", {group.effort}"
    verdict = _verdict(group)
    left = f"{number:>2}. {verdict:<{margin}}  "
    title = _title(group, columns - width_of(left) - width_of(count) - 2)
    gap = " " * max(2, columns - width_of(left) - width_of(title) - width_of(count))
    painted = paint(verdict, str(group.level)) + " " * (margin - len(verdict))
    yield f"{number:>2}. {painted}  {paint(title, 'bold')}{gap}{count}\n"

    first = group.places[0]
    at = place(first.location.path, first.location.line)
    more = f" +{len(group.places) - 1:,}" if len(group.places) > 1 else ""
    where = f"    {fit_end(at, columns // 2)}{more}  "
    differ = ""
    if len({tuple(words) for words in group.verdicts.values()}) > 1 or any(
        len(words) > 1 for words in group.verdicts.values()
    ):
        differ = "; ".join(
            (f"{target.partition('@')[0]} " if len(group.verdicts) > 1 else "")
            + ", ".join(_counted(str(v), n, len(group.places)) for v, n in words.items())
            for target, words in group.verdicts.items()
        )
        differ = f"({differ})  "
    fix = f"  [{group.fix.codemod}]" if group.fix else ""
    room = columns - width_of(where) - width_of(differ) - width_of(escape.terminal(fix))
    instead = next(iter(group.replacements.values()), "")
    if instead:
        said = fit(escape.terminal("→ " + " ".join(instead.split())), room)
    else:
        said = line_around(first.snippet, first.location.column, max(8, room))
    line = f"{where}{differ}{said}{escape.terminal(fix)}"
    yield f"{paint(fit(line, columns), 'dim')}".rstrip() + "\n"


def _title(group: Group, room: int) -> str:
    """The words for people and the id for the next command; the id whole, if need be alone."""
    key = escape.terminal(group.key)
    if group.key.startswith("api/") and not group.reach:
        return key
    words = escape.terminal(group.title)
    left = room - width_of(key) - 3
    return f"{fit(words, left)} [{key}]" if left >= _WORDS else key


_WORDS = 16
"""Columns below which words say nothing."""


def _counted(word: str, number: int, places: int) -> str:
    """The number only where it says something."""
    return word if number == places else f"{word} {number:,}"
