"""``neuronport rules``: what the tool knows."""

from __future__ import annotations

import click


@click.command("rules")
@click.argument("text", required=False)
@click.option("--area", "areas", multiple=True, help="Only these areas.")
@click.option("--verdict", "verdicts", multiple=True, help="Only rules with this verdict.")
@click.option("--path", "path_names", multiple=True, help="Only rules that speak of this path.")
@click.option("-t", "--target", multiple=True, metavar="PATH[@SDK][:CHIP]", help="As of `audit`.")
@click.option("--all", "whole", is_flag=True, help="Also every API, without naming any filter.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
)
def command(
    text: str | None,
    areas: tuple[str, ...],
    verdicts: tuple[str, ...],
    path_names: tuple[str, ...],
    target: tuple[str, ...],
    whole: bool,
    format_: str,
) -> None:
    """List the rules by area, with their verdicts.

    TEXT leaves those that have it in their id or title. Without it or another filter, APIs are
    counted, not listed.
    """
    import json
    import sys
    from collections import Counter

    from neuronport import targets as known
    from neuronport.cli._rules import book, out, targets
    from neuronport.findings import Verdict
    from neuronport.reporting.output import options_for
    from neuronport.reporting.pages import markdown_table, text_table
    from neuronport.reporting.screen import Painter
    from neuronport.reporting.screen import command as command_line
    from neuronport.reporting.summary import plural
    from neuronport.rulebook import pages

    rules = book()
    where = targets(target)
    all_areas = sorted({spec.area for spec in rules.all()})
    _check(areas, all_areas, "--area")
    _check(verdicts, list(Verdict), "--verdict")
    _check(path_names, list(known.paths()), "--path")
    if path_names:
        where = [t for t in where if t.path in path_names] or [known.resolve(p) for p in path_names]
    wanted = (text or "").lower()
    chosen = []
    for spec in sorted(rules.all(), key=lambda s: (s.area, bool(s.name), s.id)):
        words = pages.verdict_words(spec, where)
        if (
            (areas and spec.area not in areas)
            or (verdicts and not set(verdicts) & set(words.values()))
            or (path_names and not set(path_names) & set(spec.verdicts))
            or wanted not in f"{spec.id} {spec.title} {spec.note}".lower()
        ):
            continue
        chosen.append(spec)
    counts = Counter(spec.area for spec in chosen)
    if format_ == "json":
        document = {
            "rules_version": rules.digest,
            "targets": [str(t) for t in where],
            "counts": {"rules": len(chosen), "areas": dict(sorted(counts.items()))},
            "rules": [pages.brief_json(spec, where) for spec in chosen],
        }
        out([json.dumps(document, indent=2) + "\n"])
        return
    options = options_for(sys.stdout)
    paint = Painter(options.color)
    in_short = format_ == "text" and not (whole or text or areas or verdicts or path_names)
    for area in sorted(counts):
        rows = [spec for spec in chosen if spec.area == area and not (in_short and spec.name)]
        counted = counts[area] - len(rows)
        if format_ == "markdown":
            out([f"## {area} ({len(rows)})\n\n"])
            out(markdown_table(rows, list(dict.fromkeys(t.path for t in where))))
            out(["\n"])
        else:
            out([f"{paint(f'{area} ({len(rows):,})', 'bold')}\n"])
            if rows:
                out(text_table(rows, where, options))
            if counted:
                again = command_line("rules", "--area", area)
                out([f"  {'and ' if rows else ''}{plural(counted, 'API')}: {again}\n"])
            out(["\n"])
    number = plural(len(rules.all()), "rule")
    shown = number if len(chosen) == len(rules.all()) else f"{len(chosen):,} of {number}"
    out([f"{shown}; rules {rules.digest[:12]}\n"])


def _check(given: tuple[str, ...], known: list[str], option: str) -> None:
    for word in given:
        if word not in known:
            raise click.BadParameter(
                f"{word!r} is none of {', '.join(known)}", param_hint=f"'{option}'"
            )
