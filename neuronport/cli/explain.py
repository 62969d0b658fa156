"""``neuronport explain``: the page of a rule."""

from __future__ import annotations

import click


@click.command("explain", short_help="Say everything about a rule, with the evidence.")
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

    RULE is what stands in brackets in a report: `hardcoded-cuda-device`, `api/torch.cuda.Event`;
    the name of an API alone does, too.
    """
    import json
    import sys

    from neuronport.cli._rules import book, out
    from neuronport.reporting.output import options_for
    from neuronport.reporting.pages import markdown_page, text_page
    from neuronport.rulebook import lookup, pages

    rules = book()
    specs = lookup.find_rule(rule, rules)
    if not specs:
        near = lookup.near_rules(rule, rules)
        click.echo(f"neuronport: no rule {rule!r}; `neuronport rules` lists them", err=True)
        if near:
            click.echo(f"did you mean {', '.join(near)}?", err=True)
        raise SystemExit(2)
    if format_ == "json":
        rows = [pages.as_json(spec) for spec in specs]
        out([json.dumps(rows[0] if len(rows) == 1 else rows, indent=2) + "\n"])
        return
    for number, spec in enumerate(specs):
        if number:
            out(["\n"])
        if format_ == "markdown":
            out(markdown_page(spec))
        else:
            out(text_page(spec, options_for(sys.stdout)))
