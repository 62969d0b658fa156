"""What the formats for a terminal share: colour, fitting into columns, the closing sections."""

from __future__ import annotations

import shlex
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

from neuronport.findings import Level, NotLookedAt, Role
from neuronport.reporting import escape
from neuronport.reporting.result import AuditResult, RenderOptions
from neuronport.reporting.summary import (
    EFFORT_KEY,
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
_SHOWN_ROWS = 5
_SHOWN_MISSING = 2
KIND_NAMES: Mapping[str, str] = {
    "dockerfile": "Dockerfile",
    "requirements": "requirements",
    "notebook": "notebook (.ipynb)",
    "shell": "shell",
    "cuda": "CUDA (.cu)",
    "cpp": "C and C++",
    "yaml": "YAML",
    "toml": "TOML",
    "ini": "INI",
    "json": "JSON",
}
"""Kinds of files that may say something of CUDA, as they are called; the rest is data and text."""


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
    # A build server takes a line that begins with two colons for a command.
    shown = f"./{path}" if path.startswith("::") else path
    return escape.terminal(shown) + numbers


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
    audit: AuditResult, options: RenderOptions, paint: Painter, in_short: bool = True
) -> Iterator[str]:
    """Areas, files, effort, what is set apart, what was not looked at, age, next command."""
    summary = summarize(audit)
    if summary.counted:
        yield from _tables(summary, audit.tree.root, options, paint)
    yield "\n"
    for label, said in _facts(audit, summary, in_short):
        lines = wrap(said, options.columns - 15, "", "")
        yield f"{paint(f'{label:<13}', 'bold')}  {lines[0]}\n"
        for line in lines[1:]:
            yield f"{' ' * 15}{line}\n"
    for number, row in enumerate(_next(audit, summary, in_short)):
        label = "" if number else "next"
        yield f"{paint(f'{label:<4}', 'bold')}  {row}\n"


def not_looked_at(audit: AuditResult, options: RenderOptions, paint: Painter) -> Iterator[str]:
    """What was in scope and could not be judged, every file by name."""
    missing = audit.not_looked_at
    if not missing:
        return
    yield f"\n{paint(f'Not looked at: {len(missing):,}', 'warning')}\n"
    for item in missing:
        yield f"  {fit(_missed(item), options.columns - 2)}\n"


def _missed(item: NotLookedAt) -> str:
    said = f"{place(item.path, item.line)}  {escape.terminal(item.reason)}"
    return said + (f": {escape.terminal(item.detail)}" if item.detail else "")


def _tables(summary: Summary, root: str, options: RenderOptions, paint: Painter) -> Iterator[str]:
    """Areas and files side by side; names that are too long for that make two tables of them."""
    left = _table("area", summary.by_area)
    left_width = max(map(width_of, left))
    right = _table("file", summary.by_file)
    room = options.columns - left_width - 3
    if max(map(width_of, right)) > room:
        right = _table("file", summary.by_file, f"{root.rstrip('/')}/")
    yield "\n"
    if max(map(width_of, right)) > room:
        for table in (left, _table("file", summary.by_file)):
            for number, line in enumerate(table):
                yield (paint(line, "bold") if number == 0 else line) + "\n"
        return
    for number in range(max(len(left), len(right))):
        one = left[number] if number < len(left) else ""
        two = right[number] if number < len(right) else ""
        pad = " " * (left_width - width_of(one) + 3)
        line = f"{one}{pad}{two}".rstrip()
        yield (paint(line, "bold") if number == 0 else line) + "\n"


def _table(heading: str, rows: Mapping[str, Mapping[Level, int]], before: str = "") -> list[str]:
    """``before``: what stands before every name and need not be said."""
    levels = [lv for lv in Level if any(lv in counts for counts in rows.values())]
    columns = [len(str(lv)) + 3 for lv in levels]
    limit = _SHOWN_ROWS if len(rows) <= _SHOWN_ROWS else _SHOWN_ROWS - 1
    names = [place(name.removeprefix(before), None) for name in list(rows)[:limit]]
    margin = max(len(heading), *map(width_of, names))
    numbers = [[f"{counts.get(lv, 0):,}" for lv in levels] for counts in rows.values()]
    lines = [
        name
        + " " * (margin - width_of(name))
        + "".join(cell.rjust(column) for cell, column in zip(cells, columns, strict=True))
        for name, cells in zip(
            [heading, *names], [[f"{lv}s" for lv in levels], *numbers[:limit]], strict=True
        )
    ]
    if len(rows) > limit:
        lines.append(f"… and {len(rows) - limit:,} more")
    return lines


def not_read_sentence(audit: AuditResult) -> str:
    """Which kinds of files are in the tree and not read, by number; empty: none."""
    kinds = audit.tree.unread_kinds
    parts = [f"{kinds[k]:,} {name}" for k, name in KIND_NAMES.items() if kinds.get(k)]
    rest = summarize(audit).unread - sum(kinds.get(k, 0) for k in KIND_NAMES)
    if rest > 0:
        parts.append(f"{rest:,} other {'file' if rest == 1 else 'files'}")
    return ", ".join(parts)


def _facts(audit: AuditResult, summary: Summary, in_short: bool) -> Iterator[tuple[str, str]]:
    if summary.effort:
        parts = [
            f"{effort} {LEVEL_WORK.get(level, '')}" for level, effort in summary.effort.items()
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
        why = f": {escape.terminal(first.why)}" if first.why else ""
        yield (
            "unused",
            f"{plural(len(audit.unused_suppressions), 'suppression')} without effect, first at"
            f" {place(first.path, first.line)}{why}",
        )
    missing = audit.not_looked_at
    if missing:
        reasons = ", ".join(f"{n:,} {escape.terminal(r)}" for r, n in summary.not_looked_at.items())
        yield "not looked at", reasons
        if in_short:
            for item in missing[:_SHOWN_MISSING]:
                yield "", fit(_missed(item), 85)
    if unread := not_read_sentence(audit):
        yield "not read", f"{unread}: look at them yourself"
    if audit.knowledge:
        ages = []
        for known in audit.knowledge:
            newest = f", newest evidence {known.newest}" if known.newest else ", evidence undated"
            ages.append(escape.terminal(f"{known.path} up to SDK {known.sdk}{newest}"))
        yield "knowledge", f"{'; '.join(ages)}; rules {escape.terminal(audit.rules_version[:12])}"
    yield "result", result_sentence(audit, summary)


def effort_key(ranges: Iterable[EffortRange]) -> str:
    """What the numbers mean, in short; the whole is in EFFORT_METHOD."""
    day = " (days of 8 h)" if any(r.high > 8 * 60 for r in ranges) else ""
    return f"{day}: {EFFORT_KEY}"


def result_sentence(audit: AuditResult, summary: Summary) -> str:
    if audit.exit_code == 3:
        return "a path that was named, or everything, could not be looked at: exit code 3"
    if audit.tree.looked_at == 0:
        return f"nothing was looked at, which is not clean: exit code {audit.exit_code}"
    level = "no level" if audit.fail_on is Level.NONE else f"level {audit.fail_on}"
    number = plural(summary.failing, "finding")
    more = f", and {summary.may_fail:,} possible" if summary.may_fail else ""
    return f"{number} at or above {level}, likely or certain{more}: exit code {audit.exit_code}"


def _next(audit: AuditResult, summary: Summary, in_short: bool) -> Sequence[str]:
    arguments = list(audit.command)
    full = []
    if in_short:
        full = [command("audit", *arguments, *audit.audit_options, "--format", "full")]
    if audit.tree.looked_at == 0:
        return [command("audit", "--help"), "  which files are read, and how to name others"]
    if not summary.groups:
        shows_more = (
            *audit.findings,
            *audit.suppressed,
            *audit.baselined,
            *audit.unused_suppressions[1:],
            *audit.not_looked_at[_SHOWN_MISSING:],
        )
        return full if shows_more else ()
    first = summary.groups[0]
    rows = []
    if in_short:
        # Words of --select add up: with those given it would be more than the cause.
        kept = [word for word in arguments if not word.startswith("--select=")]
        only = ["--select", first.key, "--format", "full"]
        rows.append(command("audit", *kept, *audit.audit_options, *only))
    rows.append(command("explain", first.rule))
    if any(g.fix and g.fix.codemod for g in summary.groups):
        rows.append(command("port", *arguments, "--diff"))
    return [*rows, *full]
