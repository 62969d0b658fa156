"""What the formats for a terminal share: colour, fitting into columns, the closing sections."""

from __future__ import annotations

import shlex
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tabulate import tabulate

from neuronport.findings import Level, Role
from neuronport.reporting import escape
from neuronport.reporting.result import AuditResult, RenderOptions
from neuronport.reporting.summary import (
    EffortRange,
    Summary,
    looked_at_sentence,
    plural,
    summarize,
    target_line,
)
from neuronport.targets import Target

_STYLES = {
    "bold": "1",
    "dim": "2",
    "error": "1;31",
    "warning": "1;33",
    "note": "36",
    "none": "2",
    "good": "32",
}
ROLE_NAMES: Mapping[Role, str] = {
    Role.CODE: "code",
    Role.TEST: "tests",
    Role.EXAMPLE: "examples",
    Role.VENDORED: "vendored code",
}
LEVEL_WORK: Mapping[Level, str] = {
    Level.ERROR: "to run correctly",
    Level.WARNING: "to run fast",
    Level.NOTE: "to stay portable",
}
_SHOWN_FILES = 5
_SHOWN_MISSING = 5


class Painter:
    """Colour, or none."""

    def __init__(self, color: bool) -> None:
        self._color = color

    def __call__(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._color and text else text


def width_of(text: str) -> int:
    """Columns that escaped text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def fit(text: str, columns: int) -> str:
    """Escaped text cut to ``columns``, the cut shown."""
    if width_of(text) <= columns:
        return text
    kept, used = [], 0
    for character in text:
        used += width_of(character)
        if used > columns - 1:
            break
        kept.append(character)
    return "".join(kept) + "…"


def line_around(text: str, column: int, columns: int) -> str:
    """A source line for one row: from its start, or around ``column`` (1-based) when too long."""
    indent = len(text) - len(text.lstrip())
    start = indent
    if column - 1 - indent > columns // 2:
        start = column - 1 - columns // 4
    # Cut before escaping: a minified line may be megabytes.
    shown = escape.terminal(text[start : start + columns + 1].rstrip("\r\n"))
    return fit(("…" if start > indent else "") + shown, columns)


def wrap(text: str, columns: int, first: str, rest: str) -> list[str]:
    """Escaped text as lines of at most ``columns``, ``first`` before the first one."""
    if len(first) + len(text) <= columns and "\n" not in text:
        return [first + text.strip()]
    return textwrap.wrap(
        text,
        columns,
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
    ) or [first.rstrip()]


def place(path: str, line: int | None, column: int | None = None) -> str:
    numbers = "".join(f":{n}" for n in (line, column) if n)
    return escape.terminal(path) + numbers


def first_paragraph(text: str) -> str:
    return " ".join(text.strip().split("\n\n", 1)[0].split())


def target_name(target: Target) -> str:
    return str(target) if target.chip_named else f"{target} ({', '.join(target.chips)})"


def command(*words: str) -> str:
    """A command line to copy."""
    return escape.terminal("neuronport " + " ".join(shlex.quote(w) for w in words))


def head(audit: AuditResult, options: RenderOptions, paint: Painter) -> Iterator[str]:
    """The tool, the tree and one line per target."""
    tree = audit.tree
    named = f"neuronport {audit.tool_version}"
    root = fit(escape.terminal(tree.root), options.columns // 2)
    said = f"{root}: {looked_at_sentence(audit)}"
    first, *rest = wrap(said, options.columns - len(named) - 2, "", "")
    yield f"{paint(named, 'bold')}  {first}\n"
    for line in rest:
        yield f"{' ' * len(named)}  {line}\n"
    yield "\n"
    names = [target_name(t) for t in audit.targets]
    margin = max((len(n) for n in names), default=0)
    for target, name in zip(audit.targets, names, strict=True):
        found = summarize(audit).by_target.get(str(target), {})
        worst = next(iter(found)).level if found else Level.NONE
        lines = wrap(target_line(str(target), audit), options.columns - margin - 2, "", "")
        yield f"{paint(name.ljust(margin), 'bold')}  {paint(lines[0], str(worst))}\n"
        for line in lines[1:]:
            yield f"{' ' * margin}  {paint(line, str(worst))}\n"


def closing(
    audit: AuditResult, options: RenderOptions, paint: Painter, missing: bool = True
) -> Iterator[str]:
    """Areas, files, effort, what is set apart, what was not looked at, age, next command."""
    summary = summarize(audit)
    if summary.counted:
        yield from _table("By area", "area", summary.by_area, options, paint, len(summary.by_area))
        yield from _table("By file", "file", summary.by_file, options, paint, _SHOWN_FILES)
    yield f"\n{paint('In sum', 'bold')}\n"
    for label, said in _facts(audit, summary):
        lines = wrap(said, options.columns - 18, "", "")
        yield f"  {label:<14}  {lines[0]}\n"
        for line in lines[1:]:
            yield f"{' ' * 18}{line}\n"
    if missing:
        yield from not_looked_at(audit, options, paint, _SHOWN_MISSING)
    rows = _next(audit, summary, in_short=missing)
    if rows:
        yield f"\n{paint('Next', 'bold')}\n"
    for row in rows:
        yield f"  {row}\n"


def not_looked_at(
    audit: AuditResult, options: RenderOptions, paint: Painter, limit: int
) -> Iterator[str]:
    """What was in scope and could not be judged, the first ``limit`` of it by name."""
    missing = audit.not_looked_at
    if not missing:
        return
    reasons = ", ".join(
        f"{n:,} {escape.terminal(r)}" for r, n in summarize(audit).not_looked_at.items()
    )
    yield f"\n{paint(f'Not looked at: {len(missing):,}', 'warning')} ({reasons})\n"
    for item in missing[:limit]:
        said = f"{place(item.path, item.line)}  {escape.terminal(item.reason)}"
        if item.detail:
            said += f": {escape.terminal(item.detail)}"
        yield f"  {fit(said, options.columns - 2)}\n"
    if len(missing) > limit:
        yield f"  … and {len(missing) - limit:,} more, in full with --format full\n"


def _table(
    title: str,
    heading: str,
    rows: Mapping[str, Mapping[Level, int]],
    options: RenderOptions,
    paint: Painter,
    limit: int,
) -> Iterator[str]:
    levels = [lv for lv in Level if any(lv in counts for counts in rows.values())]
    shown = [
        [fit(escape.terminal(name), options.columns - 40), *(counts.get(lv, 0) for lv in levels)]
        for name, counts in list(rows.items())[:limit]
    ]
    headers = [heading, *(f"{lv}s" for lv in levels)]
    table = tabulate(shown, headers, tablefmt="plain", disable_numparse=[0], intfmt=",")
    yield f"\n{paint(title, 'bold')}\n{textwrap.indent(table, '  ')}\n"
    if len(rows) > limit:
        yield f"  … and {len(rows) - limit:,} more\n"


def _facts(audit: AuditResult, summary: Summary) -> Iterator[tuple[str, str]]:
    if summary.effort:
        parts = [
            f"{effort} {LEVEL_WORK.get(level, '')} ({plural(effort.places, 'place')})"
            for level, effort in summary.effort.items()
        ]
        yield "effort", "; ".join(parts) + effort_key(summary.effort.values())
    for target, ratio in summary.ratio.items():
        if ratio.percent is not None:
            yield (
                "portability",
                f"{target}: {ratio.works:,} of {plural(ratio.total, 'device-specific place')} "
                f"({ratio.percent} %) already "
                f"{'works' if ratio.works == 1 else 'work'}",
            )
    if summary.by_role:
        parts = [f"{n:,} in {ROLE_NAMES[role]}" for role, n in summary.by_role.items()]
        yield "set apart", f"{', '.join(parts)}; not counted above, they do not fail a run"
    silenced = []
    if audit.suppressed:
        silenced.append(f"{len(audit.suppressed):,} by comments")
    if audit.baselined:
        silenced.append(f"{len(audit.baselined):,} by the baseline")
    if silenced:
        yield "suppressed", " and ".join(silenced)
    if audit.unused_suppressions:
        first = audit.unused_suppressions[0]
        yield (
            "unused",
            f"{plural(len(audit.unused_suppressions), 'suppression')} without effect, first at"
            f" {place(first.path, first.line)}",
        )
    kinds = ", ".join(f"{n:,} {escape.terminal(k)}" for k, n in audit.tree.by_kind.items())
    if kinds:
        yield "read", kinds
    if summary.unread:
        yield "not read", f"{plural(summary.unread, 'file')} of kinds neuronport does not read"
    if audit.knowledge:
        ages = []
        for known in audit.knowledge:
            newest = f", newest evidence {known.newest}" if known.newest else ", evidence undated"
            ages.append(escape.terminal(f"{known.path} up to SDK {known.sdk}{newest}"))
        yield "knowledge", f"{'; '.join(ages)}; rules {escape.terminal(audit.rules_version[:12])}"
    yield "result", result_sentence(audit, summary)


def effort_key(ranges: Iterable[EffortRange]) -> str:
    """What the numbers mean, in short; the whole is in EFFORT_METHOD."""
    day = ", a day of 8 h" if any(r.high > 8 * 60 for r in ranges) else ""
    return f" (from one mend per cause or codemod to every place by hand{day})"


def result_sentence(audit: AuditResult, summary: Summary) -> str:
    if audit.exit_code == 3:
        return "a path that was named, or everything, could not be looked at: exit code 3"
    level = "no level" if audit.fail_on is Level.NONE else f"level {audit.fail_on}"
    number = plural(summary.failing, "finding")
    return f"{number} at or above {level}, likely or certain: exit code {audit.exit_code}"


def _next(audit: AuditResult, summary: Summary, in_short: bool) -> Sequence[str]:
    arguments = list(audit.command)
    full = [command("audit", *arguments, "--format", "full")] if in_short else []
    if audit.tree.looked_at == 0:
        return [command("audit", "--help"), "  which files are read, and how to name others"]
    if not summary.groups:
        return full
    rows = [command("explain", summary.groups[0].rule)]
    if any(g.fix and g.fix.codemod for g in summary.groups):
        rows.append(command("port", *arguments, "--diff"))
    return [*rows, *full]
