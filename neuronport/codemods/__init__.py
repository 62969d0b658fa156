"""Codemods: one file per kind of rewrite, found by being there.

A codemod is a module of this package (its name with ``-`` for ``_`` is what a rule's ``[fix]``
names) with

``TITLE``
    what it does, in a few words;
``fix(finding, source, project)``
    a :class:`~neuronport.codemods.engine.model.Change`, or a
    :class:`~neuronport.codemods.engine.model.Left` that says why nothing can be written and what
    can be done instead, or ``None``: another codemod deals with the place.

It may have ``ALSO``, a set of rules that name another codemod: it is asked for their findings, too,
where the other has no change. It is called for the findings whose rule names it, looks at the syntax tree of ``ast`` (positions
and meaning come from the same tree, so that nothing has to be matched) and answers with edits of
the text. What is not edited stays byte for byte.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Any


@cache
def codemods() -> Mapping[str, Any]:
    """The codemods by name."""
    found: dict[str, Any] = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda i: i.name):
        if info.ispkg:
            continue
        module = importlib.import_module(f"{__name__}.{info.name}")
        if hasattr(module, "fix"):
            found[info.name.replace("_", "-")] = module
    return found


@cache
def codemods_for(rule: str, named: str) -> tuple[Any, ...]:
    """The codemods that a finding is given to: the one its rule names, then those that ask for it."""
    first = codemods().get(named)
    also = [m for m in codemods().values() if rule in getattr(m, "ALSO", ()) and m is not first]
    return (*((first,) if first is not None else ()), *also)
