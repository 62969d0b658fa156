"""``neuronport api``: what is known of an API."""

from __future__ import annotations

import click

_CARDS = 5
"""More rows than this are listed, one a line."""
_LISTED = 30
"""More rows than this are counted by what follows the name that was asked for."""


@click.command("api")
@click.argument("name")
@click.option(
    "-t",
    "--target",
    multiple=True,
    metavar="PATH[@SDK][:CHIP]",
    help="Where the code is to run (default: every path); repeatable.",
)
@click.option("--all", "whole", is_flag=True, help="List every row below a module, not groups.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True
)
def command(name: str, target: tuple[str, ...], whole: bool, format_: str) -> None:
    """Say what NAME does on Neuron and what to write instead.

    NAME is an API in any spelling: `torch.cuda.Event`, `Event`, `cuda.amp.autocast`,
    `F.scaled_dot_product_attention`; of a module, its names are listed, many of them by the part
    that follows (`--all` lists each). The exit status is 2 when nothing is known of it.
    """
    import json
    import sys

    from neuronport.cli._rules import book, out, targets
    from neuronport.reporting import escape
    from neuronport.reporting.output import options_for
    from neuronport.reporting.pages import text_card, text_groups, text_table
    from neuronport.reporting.screen import Painter, wrap
    from neuronport.reporting.summary import plural
    from neuronport.rulebook import lookup, pages

    rules = book()
    where = targets(target)
    answer = lookup.look_up(name, rules)
    known = bool(answer.exact or answer.below)
    code = 0 if known or answer.catch_all else 2
    if format_ == "json":
        document = {
            "asked": name,
            "understood": answer.spelled,
            "known": known,
            "targets": [str(t) for t in where],
            "exact": [pages.brief_json(s, where) for s in answer.exact],
            "below": [pages.brief_json(s, where) for s in answer.below],
            "catch_all": [pages.brief_json(s, where) for s in answer.catch_all],
            "near": list(answer.near),
        }
        out([json.dumps(document, indent=2) + "\n"])
        raise SystemExit(code)
    options = options_for(sys.stdout)
    paint = Painter(options.color)
    if len(answer.exact) > _CARDS:
        title = f"{plural(len(answer.exact), 'row')} of names that end in it"
        out([f"{paint(f'{escape.terminal(answer.spelled)}: {title}', 'bold')}\n"])
        out(text_table(answer.exact, where, options))
    else:
        for number, spec in enumerate(answer.exact):
            if number:
                out(["\n"])
            out(text_card(spec, where, options, paint))
    if answer.below:
        gap = "\n" if answer.exact else ""
        title = f"{escape.terminal(answer.spelled)}: {plural(len(answer.below), 'row')} below it"
        out([f"{gap}{paint(title, 'bold')}\n"])
        if whole or len(answer.below) <= _LISTED:
            out(text_table(answer.below, where, options))
        else:
            out(text_groups(answer.below, answer.spelled, where))
            out([f"\n`neuronport api {escape.terminal(name)} --all` lists each\n"])
    if known:
        return
    out([f"{escape.terminal(answer.spelled or name)}: not known by this name\n"])
    if answer.catch_all:
        out(["\nWhat stands for names that are not listed:\n\n"])
        for spec in answer.catch_all:
            out(text_card(spec, where, options, paint))
    else:
        for line in wrap(
            "No row speaks of it: the audit says nothing where it is used, which does not mean "
            "that it works.",
            options.columns,
            "",
            "",
        ):
            out([line + "\n"])
    if answer.near:
        out([f"\nNames like it: {', '.join(answer.near)}\n"])
    raise SystemExit(code)
