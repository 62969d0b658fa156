"""The view of one small module in memory, as detectors get it."""

from __future__ import annotations

import ast
from pathlib import Path

from neuronport.readers.python.evaluate import read_module
from neuronport.readers.python.facts import ModuleFacts, module_id
from neuronport.rulebook.interest import interest
from neuronport.rulebook.load import rulebook
from neuronport.source.hot import hot_loops
from neuronport.source.index import TreeIndex, import_heads
from neuronport.source.summary import Summary
from neuronport.source.view import ModuleView
from neuronport.spool import Spool, Summaries
from neuronport.workspace import modules, open_workspace


def view_of(folder: Path, code: str) -> ModuleView:
    (folder / "case.py").write_text(code, encoding="utf-8")
    files = modules(open_workspace([str(folder)]).files)
    path = "case.py"
    facts = read_module(
        ast.parse(code),
        path=path,
        module=module_id(path),
        is_package=False,
        lines=code.count("\n"),
        interest=interest(rulebook()),
        tree_roots=import_heads(files),
    )
    summary = Summary(facts)
    frozen = {facts.module: (summary.freeze(), summary.freeze_calls(facts.calls, hot_loops(facts)))}
    # As a worker gets them back: the reader leaves events and definitions as plain tuples.
    summary = Summary.thaw(summary.freeze())
    facts = ModuleFacts.thaw(facts.freeze(), summary)
    return ModuleView(
        facts, summary, TreeIndex(Summaries(Spool(), frozen), files), lambda dotted: False
    )
