"""The operator table: is this operator supported, where, since when, and who says so?

::

    from neuronport.operators import CallFacts, Argument, lookup
    answer = lookup("torch.addmm", "xla", call=CallFacts({"beta": Argument(value=0.5)}))
    answer.status, answer.verdict, answer.confidence, answer.evidence

**Names** may be written as the dispatcher does (``aten::sort.stable``, ``aten.sort.stable``), as
source does (``torch.sort``, ``F.grid_sample``, ``Tensor.masked_fill_``, ``nn.Conv2d``) or as HLO
(``hlo::cholesky``).

**For rules over source.** ``spellings()`` maps full Python names to what they reach. A rule
resolves a call to a full name (``torch.nn.functional.interpolate``, ``torch.Tensor.scatter_add_``,
``torch.nn.Conv2d``), fills a ``CallFacts`` with what it knows of the arguments by the names of the
call (``dim``, ``mode``; positional ones through ``parameters()``), says ``complete=True`` if there
is no ``*args`` or ``**kwargs`` (for a module: the arguments of its constructor), and asks ``lookup(name, target, call=…)``. It finds something only
when ``answer.verdict`` is an error or a warning; ``answer.conditions_unknown`` says what else might
be. ``target_verdict(name, target, call)`` is the same as a finding holds it, both stages told. Names that are not in ``spellings()`` are no operators: they cost one dictionary look-up.

**For rules over graphs.** Nodes carry overloads already: ``lookup("aten::sort.stable", …)`` with
dtypes and shapes in ``CallFacts`` decides every condition.

**Stages** are ``eager`` and ``compiled``, directions ``forward`` and ``backward``; the default
stage of a path is how it runs unless told otherwise.

Tables are text under ``rules/operators/``; the resolved index is kept in the user's cache folder
under the digest of the tables. Nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping

from neuronport.operators.answer import (
    DEFAULT_STAGE,
    Answer,
    Contradiction,
    Possibility,
    bind,
    lookup,
    stages,
    target_verdict,
)
from neuronport.operators.conditions import (
    NOTHING_KNOWN,
    UNKNOWN,
    Argument,
    CallFacts,
    Condition,
    ConditionError,
    parse,
)
from neuronport.operators.index import Index, open_index, shared
from neuronport.operators.names import (
    Reached,
    UnknownOperatorError,
    canonical,
    find,
    parse_reached,
)
from neuronport.operators.tables import DIRECTIONS, STAGES, Status, TableError
from neuronport.operators.workarounds import Workaround, workarounds, workarounds_for

__all__ = [
    "DEFAULT_STAGE",
    "DIRECTIONS",
    "NOTHING_KNOWN",
    "STAGES",
    "UNKNOWN",
    "Answer",
    "Argument",
    "CallFacts",
    "Condition",
    "ConditionError",
    "Contradiction",
    "Index",
    "Possibility",
    "Reached",
    "Status",
    "TableError",
    "UnknownOperatorError",
    "Workaround",
    "bind",
    "find",
    "lookup",
    "open_index",
    "parameters",
    "parse",
    "shared",
    "spellings",
    "stages",
    "target_verdict",
    "workarounds",
    "workarounds_for",
]


def spellings() -> Mapping[str, tuple[Reached, ...]]:
    """Every full Python name that reaches operators: functions, methods, in-place methods, modules."""
    return {
        name: tuple(parse_reached(text) for text in operators)
        for name, operators in shared().spellings().items()
    }


def parameters(name: str) -> tuple[str, ...]:
    """The names of the arguments of a spelling or an overload, in order, keyword-only ones last.

    Functions and modules written in Python have their own; builtins and methods those of the
    operator (of its plain overload, if there are several). Methods: without ``self``. Empty: not
    known.
    """
    index = shared()
    full = canonical(name)
    own = index.signature(full)
    if own:
        return tuple(row[0] for row in own)
    try:
        reached = find(index, name)
    except UnknownOperatorError:
        return ()
    operator = reached[0].operator
    body = index.body(operator)
    if body is None:
        body = next((index.body(n) for n in index.family(operator)), None)
    names = tuple(p[0] for p in (body or {}).get("parameters", ()))
    method = full.startswith("torch.Tensor.")
    return names[1:] if method and names[:1] == ("self",) else names
