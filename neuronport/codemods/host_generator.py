"""Generators of samplers and loaders on the CPU, where they draw.

A sampler permutes indices on the CPU and takes only a CPU generator: one on CUDA raises there, too.
Written where every use of the generator is such a call; what draws on the device keeps its own.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Edit, Left
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "A generator on the CPU for what draws on the CPU"
_DRAWS = re.compile(r"(Sampler|DataLoader|random_split)$")
_WAYS = (
    "torch.Generator().manual_seed(seed) for samplers and loaders",
    "torch.randn(shape, generator=cpu_generator).to(device) for noise",
)


def fix(finding: Finding, source: Source, project: Project) -> Any:
    if patterns.is_guarded(finding):
        return None
    start, end = source.place(finding.location)
    calls = [
        n
        for n in ast.walk(source.tree)
        if isinstance(n, ast.Call)
        and source.called(n) == "torch.Generator"
        and start <= source.span(n)[0] < max(end, start + 1)
    ]
    if len(calls) != 1:
        return Left(finding, "unclear", "the generator is made elsewhere", _WAYS)
    call = calls[0]
    given = call.args[:1] or [k.value for k in call.keywords if k.arg == "device"]
    if len(given) != 1 or len(call.args) + len(call.keywords) != 1:
        return Left(finding, "unclear", "no device is written here", _WAYS)
    top: ast.AST = call
    above = source.parent(call)
    if isinstance(above, ast.Attribute) and above.attr == "manual_seed":
        top = source.parent(above) or call
        above = source.parent(top)
    if isinstance(above, ast.keyword):
        uses = [above]
    elif isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name):
        uses = _uses(source, above, above.targets[0].id)
    else:
        uses = []
    if not uses or not all(_draws_on_the_host(source, u) for u in uses):
        return Left(finding, "needs-a-person", "what draws by it may be on the device", _WAYS)
    inner = patterns.opening(source, call)
    _, last = source.span(call)
    edit = Edit(inner, last - 1, "")
    return Change(finding, "host-generator", FixSafety.REVIEW, TITLE, (edit,))


def _uses(source: Source, made: ast.Assign, name: str) -> list[ast.keyword]:
    """The keyword arguments a local name is passed as; [] where it is used otherwise."""
    scope = source.function(made) or source.tree
    found: list[ast.keyword] = []
    for node in ast.walk(scope):
        if not isinstance(node, ast.Name) or node.id != name or node is made.targets[0]:
            continue
        parent = source.parent(node)
        if isinstance(parent, ast.keyword) and parent.arg == "generator":
            found.append(parent)
            continue
        seeds = isinstance(parent, ast.Attribute) and parent.attr in ("manual_seed", "seed")
        if not seeds or not isinstance(node.ctx, ast.Load):
            return []
    return found


def _draws_on_the_host(source: Source, word: ast.keyword) -> bool:
    call = source.parent(word)
    return isinstance(call, ast.Call) and bool(_DRAWS.search(source.called(call)))
