"""Pages and lists of rules, as text for a terminal and as Markdown."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tabulate import tabulate

from neuronport.findings import Evidence, Verdict
from neuronport.reporting import escape
from neuronport.reporting.result import RenderOptions
from neuronport.reporting.screen import Painter, fit, wrap
from neuronport.rulebook import pages
from neuronport.rulebook.model import Fixture, Spec, Window
from neuronport.targets import Target

_ROOM = 30
"""Columns below which a list says nothing beside the verdicts."""


def text_page(spec: Spec, options: RenderOptions) -> Iterator[str]:
    """The page of one rule or row for a terminal."""
    paint = Painter(options.color)
    yield f"{paint(spec.id, 'bold')}  {spec.title}\n"
    facts = [f"area {spec.area}", f"effort {spec.effort} per place"]
    if spec.name and spec.kind:
        facts.append(f"mapping: {pages.mapping_words(spec)}")
    yield f"{paint(' · '.join(facts), 'dim')}\n"
    yield _heading("Verdict", paint)
    for path, windows in spec.verdicts.items():
        for window in windows:
            verdict = paint(f"{window.verdict:<11}", str(window.verdict.level))
            when = pages.window_words(window)
            yield f"  {path:<7} {verdict}{'  ' + when if when else ''}".rstrip() + "\n"
    if spec.why:
        yield _heading("Why", paint)
        yield from _block(spec.why, options.columns)
    if spec.note and spec.note != spec.why:
        yield _heading("Note", paint)
        yield from _block(spec.note, options.columns)
    shown = pages.example(spec)
    if shown is not None:
        yield _heading("Example", paint)
        yield from _program(shown, paint)
    if spec.replacement:
        yield _heading("Instead", paint)
        for paths, words in _merged(spec.replacement):
            yield from (f"{x}\n" for x in wrap(f"{paths}: {words}", options.columns, "  ", "    "))
    if spec.ways:
        yield _heading("By hand", paint)
        for way in spec.ways:
            yield from (f"{x}\n" for x in wrap(f"* {way}", options.columns, "  ", "    "))
    if spec.fix:
        yield _heading("Fix", paint)
        yield f"  {spec.fix.codemod} ({spec.fix.safety}): {spec.fix.title}\n"
    limits = pages.limits(spec)
    if limits:
        yield _heading("Limits", paint)
        for limit in limits:
            yield from (f"{x}\n" for x in wrap(limit, options.columns, "  ", "    "))
    yield _heading("Evidence", paint)
    for evidence in spec.evidence:
        yield from (
            f"{x}\n"
            for x in wrap(f"{_origin(evidence)}: {evidence.says}", options.columns, "  ", "    ")
        )
    yield f"\n{paint(f'rules/{spec.file}', 'dim')}\n"


def _heading(title: str, paint: Painter) -> str:
    return f"\n{paint(title, 'bold')}\n"


def _block(text: str, columns: int) -> Iterator[str]:
    """Paragraphs, wrapped unless they are laid out by hand (code, lists)."""
    fenced = False
    for number, paragraph in enumerate(text.strip().split("\n\n")):
        if number:
            yield "\n"
        lines = paragraph.splitlines()
        by_hand = fenced or any(x.startswith((" ", "- ", "* ", "|", "```")) for x in lines)
        fenced ^= sum(x.lstrip().startswith("```") for x in lines) % 2 == 1
        if by_hand:
            yield from (f"  {x}".rstrip() + "\n" for x in lines)
        else:
            words = _BOLD.sub(r"\1", " ".join(lines))
            yield from (f"{x}\n" for x in wrap(words, columns, "  ", "  "))


def _program(fixture: Fixture, paint: Painter) -> Iterator[str]:
    if fixture.file != "case.py":
        yield f"  {fixture.file}:\n"
    for number, line in enumerate(fixture.code.splitlines(), 1):
        mark = paint(">", "error") if number in fixture.lines else " "
        yield f"  {mark} {escape.terminal(line)}".rstrip() + "\n"


def _merged(by_path: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """``(paths, words)``, paths with the same words together."""
    together: dict[str, list[str]] = {}
    for path, words in by_path.items():
        together.setdefault(" ".join(words.split()), []).append(path)
    for words, names in together.items():
        yield " and ".join(names), words


_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_CODE = re.compile(r"(`[^`]*`)")
_MARKUP = re.compile(r"([\\<>*|\[\]]|(?<!\w)_|_(?!\w))")


def prose(text: str) -> str:
    """A sentence of a rule as Markdown: what is between backticks stays code."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(p if p.startswith("`") else _MARKUP.sub(r"\\\1", p) for p in parts)


def markdown_evidence(evidence: Evidence) -> str:
    about = evidence.path or "both paths"
    sdk = f", SDK {evidence.sdk}" if evidence.sdk else ""
    return f"* {evidence.kind} ({about}{sdk}): {prose(evidence.says)} [{prose(evidence.source)}]\n"


def _origin(evidence: Evidence) -> str:
    about = evidence.path or "both paths"
    sdk = f", SDK {evidence.sdk}" if evidence.sdk else ""
    return f"{evidence.kind} ({about}{sdk}), {evidence.source}"


# ---- Markdown --------------------------------------------------------------------------------------


def markdown_page(spec: Spec, level: int = 1) -> Iterator[str]:
    """The page of one rule or row; ``level`` is that of its heading."""
    sub = "#" * (level + 1)
    yield f"{'#' * level} {escape.markdown_code(spec.id)}\n\n"
    yield f"{prose(spec.title)}.\n\n"
    facts = [f"Area {spec.area}", f"effort {spec.effort} per place"]
    if spec.name and spec.kind:
        facts.append(f"mapping: {pages.mapping_words(spec)}")
    yield f"{'; '.join(facts)}.\n\n"
    yield "| path | verdict | when |\n|---|---|---|\n"
    for path, windows in spec.verdicts.items():
        for window in windows:
            yield f"| {path} | `{window.verdict}` | {pages.window_words(window) or 'always'} |\n"
    if spec.why:
        yield f"\n{spec.why.strip()}\n"
    if spec.note and spec.note != spec.why:
        yield f"\n{prose(spec.note)}\n"
    shown = pages.example(spec)
    if shown is not None:
        language = "python" if shown.file.endswith(".py") else ""
        lines = ", ".join(map(str, shown.lines))
        where = f" (line {lines})" if lines else ""
        name = "" if shown.file == "case.py" else f" in {escape.markdown_code(shown.file)}"
        yield f"\n{sub} Example\n\nFires here{name}{where}:\n\n```{language}\n{shown.code}```\n"
    if spec.replacement:
        yield f"\n{sub} Instead\n\n"
        for paths, words in _merged(spec.replacement):
            yield f"* {paths}: {escape.markdown_code(words)}\n"
    if spec.ways:
        yield f"\n{sub} By hand\n\n"
        yield from (f"* {escape.markdown_code(way)}\n" for way in spec.ways)
    if spec.fix:
        yield f"\n{sub} Fix\n\n"
        yield f"`{spec.fix.codemod}` ({spec.fix.safety}): {prose(spec.fix.title)}.\n"
    limits = pages.limits(spec)
    if limits:
        yield f"\n{sub} Limits\n\n"
        yield from (f"* {limit}\n" for limit in limits)
    yield f"\n{sub} Evidence\n\n"
    for evidence in spec.evidence:
        yield markdown_evidence(evidence)


def window_cell(windows: Sequence[Window]) -> str:
    """The verdicts of a path in one table cell."""
    said = []
    for window in windows:
        when = pages.window_words(window)
        said.append(f"`{window.verdict}`{f' ({when})' if when else ''}")
    return ", ".join(said) or "–"


def markdown_table(specs: Sequence[Spec], paths: Sequence[str], prefix: str = "") -> Iterator[str]:
    """One line per rule or row: verdicts on each path, and what to write instead. ``prefix`` is
    left off the ids."""
    yield f"| rule | {' | '.join(paths)} | effort | instead |\n"
    yield f"|---|{'---|' * len(paths)}---|---|\n"
    for spec in specs:
        name = escape.markdown_code(spec.id.removeprefix(prefix), cell=True)
        verdicts = " | ".join(window_cell(spec.verdicts.get(path, ())) for path in paths)
        instead = "; ".join(
            (f"{names}: " if len(set(spec.replacement.values())) > 1 else "")
            + escape.markdown_code(words, cell=True)
            for names, words in _merged(spec.replacement)
        )
        yield f"| {name} | {verdicts} | {spec.effort} | {instead or '–'} |\n"


# ---- lists -----------------------------------------------------------------------------------------


def text_table(
    specs: Sequence[Spec], targets: Sequence[Target], options: RenderOptions
) -> Iterator[str]:
    """One line per rule or row: its verdict on each target and its title or replacement."""
    room = options.columns - max((len(s.id) for s in specs), default=0) - 15 * len(targets) - 2
    rows = []
    for spec in specs:
        words = pages.verdict_words(spec, targets)
        instead = next((w for _, w in _merged(spec.replacement)), "")
        said = f"instead: {instead}" if spec.name and instead else spec.title
        row = [spec.id, *(words.get(str(t), "–") for t in targets)]
        # Half a word of a replacement helps nobody.
        rows.append([*row, fit(escape.terminal(said), room)] if room >= _ROOM else row)
    headers = ["rule", *map(str, targets), *([""] if room >= _ROOM else [])]
    table = tabulate(rows, headers, tablefmt="plain", disable_numparse=True)
    yield textwrap.indent(table, "  ", lambda line: bool(line.strip())) + "\n"


def text_groups(specs: Sequence[Spec], name: str, targets: Sequence[Target]) -> Iterator[str]:
    """Rows counted by the part of their name that follows ``name``, with their verdicts."""
    parts: dict[str, list[Spec]] = {}
    for spec in specs:
        rest = spec.name.lower().partition(f"{name.lower()}.")[2].partition(".")[0]
        start = len(spec.name) - len(spec.name.lower().partition(f"{name.lower()}.")[2])
        parts.setdefault(spec.name[: start + len(rest)], []).append(spec)
    alone = [part for part in parts if len(parts[part]) == 1]
    if len(alone) > 1:
        parts[f"{name}: names of one row"] = [spec for part in alone for spec in parts.pop(part)]
    rows = []
    for part in sorted(parts):
        row = [part, str(len(parts[part]))]
        for target in targets:
            found = Counter(spec.verdict(target) for spec in parts[part])
            words = [f"{v} {found[v]:,}" for v in Verdict if found[v]]
            one = bool(words) and len(found) == 1
            row.append(words[0].rpartition(" ")[0] if one else ", ".join(words) or "–")
        rows.append(row)
    headers = ["below", "rows", *map(str, targets)]
    table = tabulate(rows, headers, tablefmt="plain", disable_numparse=True)
    yield textwrap.indent(table, "  ", lambda line: bool(line.strip())) + "\n"


def text_card(
    spec: Spec, targets: Sequence[Target], options: RenderOptions, paint: Painter
) -> Iterator[str]:
    """A row in a few lines: verdict and replacement on each target."""
    yield f"{paint(spec.name or spec.id, 'bold')}  [{spec.id}] {spec.effort}\n"
    if spec.when:
        said = ", and ".join(pages.condition_words(c) for c in spec.when)
        yield f"  where {escape.terminal(said)}\n"
    for target in targets:
        verdict = spec.verdict(target)
        words = str(verdict) if verdict is not None else "nothing is said about it"
        painted = paint(words, str(verdict.level)) if verdict is not None else words
        instead = " ".join(spec.replacement.get(target.path, "").split())
        yield f"  {target!s:<12} {painted}\n"
        if instead:
            yield from (
                f"{x}\n" for x in wrap(f"instead: {instead}", options.columns, " " * 15, " " * 17)
            )
    if spec.note:
        yield from (f"{x}\n" for x in wrap(spec.note, options.columns, "  ", "  "))
    kinds = ", ".join(dict.fromkeys(str(e.kind) for e in spec.evidence))
    yield f"  {paint(f'evidence: {kinds}; neuronport explain {spec.id!r}', 'dim')}\n"
