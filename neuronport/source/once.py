"""What happens the first time only: ``if self.ready: return`` before something that sets
``self.ready``, ``if self.table is None: self.table = …``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from neuronport.readers.python.facts import Definition, Guard, Known, Value

_MAX_DEPTH = 5
_DONE = re.compile(r"(^|_)(is_)?init(ted|ed|iali[sz]ed|_done)$", re.I)
"""What is called so is true from the first time on; often a buffer, set in ways that are not seen."""
_KINDS = frozenset(("if", "early", "next", "skip"))
_TRUE, _FALSE, _NONE, _GIVEN = "true", "false", "none", "given"
_OPPOSITE = {_TRUE: _FALSE, _FALSE: _TRUE, _NONE: _GIVEN, _GIVEN: _NONE}


Kept = Mapping[str, Sequence[Definition]]
"""What is kept in each attribute of ``self``."""


def kept(facts: Known) -> Kept:
    found: dict[str, list[Definition]] = {}
    for definition in facts.definitions:
        # The reader leaves them as plain tuples.
        if definition[2][:5] == "self.":
            found.setdefault(definition[2][5:], []).append(Definition(*definition))
    return found


def first_time(number: int, guard: Guard, attributes: Kept) -> bool:
    """Whether a place under a guard runs once for each object, not in every step."""
    return guard.kind in _KINDS and any(
        _is_done(name, is_) or (name in attributes and _settles(number, is_, attributes[name]))
        for name, is_ in _asked(guard.test, guard.polarity, 0)
    )


def _is_done(name: str, is_: str) -> bool:
    """Whether an attribute is true from the first time on by its name, and has to be false."""
    return is_ == _FALSE and bool(_DONE.search(name))


def _asked(test: Value, wanted: bool, depth: int) -> Iterator[tuple[str, str]]:
    """The attributes of ``self`` by which a test is what is wanted, and what each has to be."""
    if test is None or depth > _MAX_DEPTH:
        return
    tag = test[0]
    if tag == "attr" and test[1] is not None and test[1][0] == "self":
        yield test[2], _TRUE if wanted else _FALSE
    elif tag == "not":
        yield from _asked(test[1], not wanted, depth + 1)
    elif tag == "bool" and wanted is (test[1] == "and"):
        for part in test[2]:
            yield from _asked(part, wanted, depth + 1)
    elif tag == "cmp" and test[3] is not None and test[3][0] == "const":
        if test[2] in ("==", "is", "!=", "is not"):
            wanted = wanted is (test[2] in ("==", "is"))
            if test[3][1] is None:
                for name, _ in _asked(test[1], True, depth + 1):
                    yield name, _NONE if wanted else _GIVEN
            else:
                yield from _asked(test[1], wanted is bool(test[3][1]), depth + 1)
    elif tag == "call" and test[1] is not None:
        if test[1] == ("ref", "builtins.hasattr") and len(test[2]) == 2:
            owner, written = test[2]
            if owner is not None and owner[0] == "self" and written is not None:
                yield str(written[-1]), _GIVEN if wanted else _NONE
        elif test[1] == ("ref", "builtins.bool") and test[2]:
            yield from _asked(test[2][0], wanted, depth + 1)
        elif test[1][0] == "attr" and test[1][2] in ("item", "all", "any"):
            yield from _asked(test[1][1], wanted, depth + 1)


def _settles(number: int, is_: str, held: Sequence[Definition]) -> bool:
    """Whether what runs under a guard makes an attribute what it may not be there, and nothing of
    the same function makes it so again."""
    settled: set[int] = set()
    again: set[int] = set()
    for definition in held:
        if definition.guards[-1:] == (number,) and _can_be(definition.value, _OPPOSITE[is_]):
            settled.add(definition.scope)
        elif number not in definition.guards and _can_be(definition.value, is_):
            again.add(definition.scope)
    return bool(settled) and settled.isdisjoint(again)


def _can_be(value: Value, what: str) -> bool:
    """Whether a value that is set is None, or true; what is computed is neither None nor false."""
    if value is None or value[0] != "const":
        return what in (_TRUE, _GIVEN)
    if what == _NONE:
        return value[1] is None
    if what == _GIVEN:
        return value[1] is not None
    return bool(value[1]) is (what == _TRUE)
