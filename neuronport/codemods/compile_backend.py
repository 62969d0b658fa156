"""``torch.compile`` with the backend of the device that is there.

The seam answers PyTorch's own default where the device is not Neuron's, so CUDA and the CPU see no
change; on Neuron the backend is ``"neuron"``. Inductor's ``mode`` and ``options`` say nothing to
another backend: on Neuron they are left out.
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Edit, Left, seam
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "Compile with the backend of the device that is there"


def fix(finding: Finding, source: Source, project: Project) -> Any:
    backend = f"{seam('compile_backend')}()"
    call = source.at(finding, ast.Call)
    if patterns.is_guarded(finding):
        return None
    if call is None:
        node = source.at(finding, ast.Attribute) or source.at(finding, ast.Name)
        if node is not None and _decorates(source, node):
            return _change(finding, (patterns.after(source, node, f"(backend={backend})"),))
        return Left(finding, "unclear", "handed on, not called", ("backend= where it is called",))
    if patterns.has_star(call):
        return Left(finding, "unclear", "its arguments are not written out", ("backend=…",))
    edits: list[Edit] = []
    given = patterns.keyword(call, "backend")
    if given is None:
        edits.append(patterns.last_argument(source, call, f"backend={backend}"))
    elif isinstance(given.value, ast.Constant) and given.value.value == "inductor":
        neuron = f'{patterns.device_name()} != "neuron" else "neuron"'
        edits.append(patterns.after(source, given.value, f" if {neuron}"))
    else:
        return Left(
            finding,
            "needs-a-person",
            "a backend that Neuron has not",
            ('backend="neuron" where the device is Neuron, this one elsewhere',),
        )
    for name in ("mode", "options"):
        word = patterns.keyword(call, name)
        if word is None or (isinstance(word.value, ast.Constant) and word.value.value is None):
            continue
        a, b = ("(", ")") if isinstance(word.value, ast.IfExp | ast.Lambda) else ("", "")
        if a:
            edits.append(patterns.before(source, word.value, a))
        edits.append(
            patterns.after(
                source, word.value, f'{b} if {patterns.device_name()} != "neuron" else None'
            )
        )
    return Change(
        finding,
        "compile-backend",
        FixSafety.SAFE,
        TITLE,
        _merged(edits),
        covers=(source.span(call),),
    )


def _merged(edits: list[Edit]) -> tuple[Edit, ...]:
    """Insertions at one place as one, in their order for reading."""
    by_place: dict[tuple[int, int], str] = {}
    for edit in sorted(edits, key=lambda e: "backend=" in e.text):
        key = (edit.start, edit.end)
        by_place[key] = by_place.get(key, "") + edit.text
    return tuple(Edit(a, b, text) for (a, b), text in by_place.items())


def _decorates(source: Source, node: ast.AST) -> bool:
    parent = source.parent(node)
    return node in getattr(parent, "decorator_list", ())


def _change(finding: Finding, edits: tuple[Edit, ...]) -> Change:
    return Change(finding, "compile-backend", FixSafety.SAFE, TITLE, edits)
