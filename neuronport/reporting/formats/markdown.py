"""A summary for a pull request comment; short enough for one, whatever the audit found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neuronport.reporting.escape import markdown, markdown_code
from neuronport.reporting.result import AuditResult, RenderOptions
from neuronport.reporting.screen import LEVEL_WORK, ROLE_NAMES, result_sentence
from neuronport.reporting.summary import (
    EFFORT_METHOD,
    Group,
    looked_at_sentence,
    plural,
    summarize,
    target_line,
)

NAME = "markdown"
DESCRIPTION = "summary for a pull request comment"

_CELL = 200
_MISSING = 10


def render(audit: AuditResult, options: RenderOptions) -> Iterator[str]:
    summary = summarize(audit)
    yield "## neuronport\n\n"
    for target in audit.targets:
        line = target_line(str(target), audit)
        yield f"- {_code(str(target))}: {markdown(line)}\n"
    yield f"\n{_code(audit.tree.root)}: {_text(looked_at_sentence(audit))}.\n"
    shown = summary.groups[: options.groups]
    if shown:
        targets = [str(t) for t in audit.targets]
        yield f"\n### What matters most ({len(shown)} of {plural(len(summary.groups), 'cause')})\n\n"
        yield f"| | cause | {' | '.join(_code(t, True) for t in targets)} | places | first at | effort |\n"
        yield f"|---|---|{'---|' * len(targets)}--:|---|---|\n"
        for group in shown:
            yield _row(group, targets)
        yield from _instead(shown)
    yield "\n"
    if summary.effort:
        parts = [
            f"{effort} {LEVEL_WORK.get(level, '')}" for level, effort in summary.effort.items()
        ]
        yield f"- Effort: {'; '.join(parts)}. {EFFORT_METHOD}\n"
    for name, ratio in summary.ratio.items():
        if ratio.percent is not None:
            yield (
                f"- Portability, {_code(name)}: {ratio.works:,} of {ratio.total:,} "
                f"device-specific places ({ratio.percent} %) already work.\n"
            )
    if summary.by_role:
        parts = [f"{n:,} in {ROLE_NAMES[role]}" for role, n in summary.by_role.items()]
        yield f"- Set apart, not counted: {', '.join(parts)}.\n"
    silenced = len(audit.suppressed) + len(audit.baselined)
    if silenced:
        yield f"- Suppressed: {silenced:,}; without effect: {len(audit.unused_suppressions):,}.\n"
    if audit.knowledge:
        ages = [
            f"{k.path} up to SDK {k.sdk}" + (f", newest evidence {k.newest}" if k.newest else "")
            for k in audit.knowledge
        ]
        yield f"- Knowledge: {_text('; '.join(ages))}; rules {_code(audit.rules_version[:12])}.\n"
    yield f"- Result: {_text(result_sentence(audit, summary))}.\n"
    missing = audit.not_looked_at
    if missing:
        yield f"\n<details><summary>Not looked at: {len(missing):,}</summary>\n\n"
        for item in missing[:_MISSING]:
            at = item.path + (f":{item.line}" if item.line else "")
            detail = f": {_text(item.detail)}" if item.detail else ""
            yield f"- {_code(at)} {_text(item.reason)}{detail}\n"
        if len(missing) > _MISSING:
            yield f"- and {len(missing) - _MISSING:,} more\n"
        yield "\n</details>\n"


def _row(group: Group, targets: list[str]) -> str:
    first = group.places[0].location
    level = str(group.level)
    verdicts = " | ".join(
        ", ".join(
            str(v) if n == len(group.places) else f"{v} {n:,}"
            for v, n in group.verdicts.get(t, {}).items()
        )
        for t in targets
    )
    cause = f"{_text(group.title)} {_code(group.rule, True)}"
    at = _code(f"{first.path}:{first.line}", True)
    return f"| {level} | {cause} | {verdicts} | {len(group.places):,} | {at} | {group.effort} |\n"


def _instead(groups: Sequence[Group]) -> Iterator[str]:
    rows = []
    for group in groups:
        for target, words in group.replacements.items():
            rows.append(f"- {_code(group.rule)} on {_code(target)}: {_code(words)}\n")
    if rows:
        yield "\n<details><summary>What to write instead</summary>\n\n"
        yield from rows
        yield "\n</details>\n"


def _cut(text: str) -> str:
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"


def _text(text: str) -> str:
    return markdown(_cut(text))


def _code(text: str, cell: bool = False) -> str:
    return markdown_code(_cut(text), cell)
