"""SVG: the module tree as an indented list, coloured by the worst verdict below each module."""

from __future__ import annotations

from html import escape

from neuronport.graph.reports._tree import Branch, color, tree
from neuronport.graph.result import GraphResult
from neuronport.reporting.escape import lines as visible

_ROW, _INDENT, _WIDTH = 24, 22, 900


def render(result: GraphResult) -> str:
    target = result.targets[0]
    rows: list[str] = []
    _branch(tree(result, target), 0, rows)
    height = _ROW * (len(rows) + 1) + 12
    title = escape(f"{result.record.model} on {target}")
    return visible(
        "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"'
                f' width="{_WIDTH}" height="{height}" role="img" font-family="sans-serif"'
                ' font-size="13">',
                f"<title>{title}</title>",
                f'<text x="8" y="17" font-weight="bold">{title}</text>',
                *(row.replace("{y}", str(_ROW * (i + 1) + 4)) for i, row in enumerate(rows)),
                "</svg>",
                "",
            ]
        )
    )


def _branch(branch: Branch, depth: int, rows: list[str]) -> None:
    verdict = str(branch.verdict) if branch.verdict else "no node seen"
    text = escape(f"{branch.title}  {branch.cls}").replace("{", "&#123;")
    x = 8 + depth * _INDENT
    rows.append(
        f'<g transform="translate({x},{{y}})"><title>{escape(branch.path or "model")}: {verdict}'
        f'</title><rect width="14" height="14" y="3" rx="3" fill="{color(branch.verdict)}"/>'
        f'<text x="20" y="15">{text}</text>'
        f'<text x="{_WIDTH - x - 130}" y="15">{verdict}</text></g>'
    )
    for child in branch.children:
        _branch(child, depth + 1, rows)
