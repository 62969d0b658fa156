"""The first screen: what happens on each target, what matters most, what it costs, what is next."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.findings import Confidence, Finding
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
        yield f"\n{paint(said, 'bold')}\n"
    for number, group in enumerate(shown, 1):
        yield "\n"
        yield from _group(number, group, options, paint)
    yield from closing(audit, options, paint)


def _group(number: int, group: Group, options: RenderOptions, paint: Painter) -> Iterator[str]:
    columns = options.columns
    count = plural(len(group.places), "place")
    if group.files > 1:
        count += f" in {plural(group.files, 'file')}"
    level = str(group.level)
    sure = "" if group.confidence is Confidence.CERTAIN else f" ({group.confidence})"
    left = f"{number:>2}. {level}{sure}  "
    title = fit(escape.terminal(group.title), columns - width_of(left) - len(count) - 2)
    gap = " " * max(2, columns - width_of(left) - width_of(title) - len(count))
    yield f"{number:>2}. {paint(level, level)}{sure}  {paint(title, 'bold')}{gap}{count}\n"

    verdicts = [
        f"{target} {', '.join(_counted(str(v), n, len(group.places)) for v, n in words.items())}"
        for target, words in group.verdicts.items()
    ]
    cost = f"{group.effort} each" if len(group.places) > 1 else str(group.effort)
    facts = [*verdicts, cost]
    if group.fix:
        facts.append(f"{group.fix.safety} fix: {group.fix.codemod}")
    facts.append(f"[{group.rule}]")
    if group.key != group.rule:
        facts.append(f"one cause: {group.key}")
    for line in wrap(escape.terminal(" · ".join(facts)), columns, "    ", "    "):
        yield f"{paint(line, 'dim')}\n"

    sample = _sample(group, options.places)
    names = [fit(place(f.location.path, f.location.line), columns // 2) for f in sample]
    margin = max(width_of(n) for n in names)
    for finding, name in zip(sample, names, strict=True):
        code = line_around(finding.snippet, finding.location.column, columns - 6 - margin)
        pad = " " * (margin - width_of(name))
        yield f"    {name}{pad}  {code}".rstrip() + "\n"
    if len(group.places) > len(sample):
        yield f"    … and {len(group.places) - len(sample):,} more\n"

    same = len(set(group.replacements.values())) == 1
    for target, words in group.replacements.items():
        label = "instead: " if same else f"instead ({target}): "
        text = " ".join(words.split())
        yield from (
            f"{x}\n" for x in wrap(escape.terminal(label + text), columns, "    ", "      ")
        )
        if same:
            break


def _counted(word: str, number: int, places: int) -> str:
    """The number only where it says something."""
    return word if number == places else f"{word} {number:,}"


def _sample(group: Group, limit: int) -> list[Finding]:
    """The first places, of different files while there are any."""
    chosen: list[Finding] = []
    paths: set[str] = set()
    for finding in group.places:
        if len(chosen) == limit:
            return chosen
        if finding.location.path not in paths:
            paths.add(finding.location.path)
            chosen.append(finding)
    for finding in group.places:
        if len(chosen) == limit:
            break
        if all(finding is not c for c in chosen):
            chosen.append(finding)
    rank = {id(f): i for i, f in enumerate(group.places)}
    return sorted(chosen, key=lambda f: rank[id(f)])
