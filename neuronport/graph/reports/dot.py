"""Graphviz: the module tree, coloured by the worst verdict below each module."""

from __future__ import annotations

from neuronport.graph.reports._tree import Branch, color, tree
from neuronport.graph.result import GraphResult
from neuronport.reporting.escape import lines as visible


def render(result: GraphResult) -> str:
    target = result.targets[0]
    lines = [
        "digraph modules {",
        "  rankdir=LR;",
        f"  label={_quoted(f'{result.record.model} on {target}')};",
        '  node [shape=box, style="filled,rounded", fontname="sans-serif"];',
    ]
    _branch(tree(result, target), lines)
    lines.append("}")
    return visible("\n".join(lines)) + "\n"


def _branch(branch: Branch, lines: list[str]) -> None:
    verdict = str(branch.verdict) if branch.verdict else "no node seen"
    label = f"{branch.title}\n{branch.cls}\n{verdict}"
    name = _quoted(branch.path or "(model)")
    lines.append(f'  {name} [label={_quoted(label)}, fillcolor="{color(branch.verdict)}"];')
    for child in branch.children:
        _branch(child, lines)
        lines.append(f"  {name} -> {_quoted(child.path)};")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
