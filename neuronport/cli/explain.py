"""``neuronport explain``: the page of a rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from neuronport.rulebook.model import Rulebook


@click.command(
    "explain", short_help="Say everything about a rule, a group or a fix, with evidence."
)
@click.argument("rule")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
)
def command(rule: str, format_: str) -> None:
    """Say everything about RULE: verdicts, why, an example, what to write instead, the evidence.

    RULE is what a report names: a rule (`hardcoded-cuda-device`, `api/torch.cuda.Event`; the name
    of an API alone does, too), a group of findings with one cause (`operator-support/aten::sort`),
    or a fix (`device-seam`).

    The exit status is 2 when there is nothing of this name.
    """
    import json
    import sys

    from neuronport.cli._rules import book, out
    from neuronport.reporting import escape
    from neuronport.reporting.output import options_for
    from neuronport.reporting.pages import markdown_page, text_page
    from neuronport.rulebook import lookup, pages
    from neuronport.rulebook.words import codemod_names, group_rule

    rules = book()
    specs = lookup.find_rule(rule, rules)
    cause = ""
    if not specs and (of_group := group_rule(rule, rules)):
        specs = lookup.find_rule(of_group, rules)
        cause = rule.removeprefix(f"{of_group}/")
    if not specs and rule in codemod_names(rules):
        out(_fix(rule, rules, format_))
        return
    if not specs:
        near = lookup.near_rules(rule, rules)
        shown = escape.terminal(rule)
        click.echo(f"neuronport: no rule '{shown}'; `neuronport rules` lists them", err=True)
        if near:
            click.echo(f"did you mean {', '.join(near)}?", err=True)
        raise SystemExit(2)
    if format_ == "json":
        rows = [pages.as_json(spec) for spec in specs]
        out([json.dumps(rows[0] if len(rows) == 1 else rows, indent=2) + "\n"])
        return
    if cause and format_ == "text":
        out(_group(rule, cause, options_for(sys.stdout).columns))
    for number, spec in enumerate(specs):
        if number:
            out(["\n"])
        if format_ == "markdown":
            out(markdown_page(spec))
        else:
            out(text_page(spec, options_for(sys.stdout)))


def _group(group: str, cause: str, columns: int) -> Iterator[str]:
    """What a group's name says, before the page of its rule."""
    from neuronport.reporting import escape
    from neuronport.reporting.screen import command as command_line
    from neuronport.reporting.screen import wrap

    said = (
        f"{escape.terminal(group)} is a group: the findings with one cause. Here is what the rules "
        "say of it; which places it has, if any, is seen in the project, PATH:"
    )
    yield from (f"{line}\n" for line in wrap(said, columns, "", ""))
    yield f"  its places: {command_line('audit', 'PATH', '--select', group, '--format', 'full')}\n"
    if "::" in cause:
        yield f"  the operator: {command_line('operators', 'show', cause)}\n"
    yield "\nIts rule:\n\n"


def _fix(name: str, rules: Rulebook, format_: str) -> Iterator[str]:
    """The page of a codemod."""
    import inspect
    import json

    from neuronport.codemods import codemods

    module = codemods()[name]
    about = inspect.getdoc(module) or ""
    written_for = sorted(s.id for s in rules.all() if s.fix is not None and s.fix.codemod == name)
    if format_ == "json":
        row = {"codemod": name, "title": module.TITLE, "about": about, "rules": written_for}
        yield json.dumps(row, indent=2) + "\n"
        return
    head = (
        f"# `{name}`\n\n{module.TITLE}.\n" if format_ == "markdown" else f"{name}  {module.TITLE}\n"
    )
    bullet = "* `{}`\n" if format_ == "markdown" else "  {}\n"
    yield head
    yield f"\n{about}\n\nIt writes what these rules find:\n\n"
    yield from (bullet.format(rule) for rule in written_for)
    yield f"\n`neuronport port --select {name} --diff PATH` shows what it would change.\n"
