"""Calls that are made only where a parameter is turned on that is off by default:
``def forward(self, x, reverse=False): if reverse: return self.reverse(x)``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from neuronport.readers.python.facts import Function, Guard, Value

_ON_IN_TRAINING = re.compile(r"train|loss|grad|sampl|generat|infer|cache|target|label", re.I)
"""What switches are called that are on for all of a training or a generation, whatever the default."""


def may_switch(guard: Guard) -> bool:
    """Whether a condition asks that a parameter is on."""
    return bool(_asked(guard)) and guard.kind in ("if", "ifexp", "bool")


def _asked(guard: Guard) -> Value:
    """The parameter that has to be on."""
    test, on = guard.test, guard.polarity
    if test is not None and test[0] == "not":
        test, on = test[1], not on
    return test if test is not None and on and test[0] == "param" else None


def switches(
    caller: str, function: Function | None, guards: Iterable[Guard]
) -> tuple[tuple[str, int], ...]:
    """The parameters of ``caller`` that have to be on by conditions that may switch, and where a
    call has each among its arguments."""
    if function is None:
        return ()
    names = [param[0] for param in function.params]
    found: list[tuple[str, int]] = []
    for guard in guards:
        asked = _asked(guard)
        if asked is None or asked[1] != caller or asked[2] not in names:
            continue
        at = names.index(asked[2])
        if function.params[at][1] == ("const", False) and not _ON_IN_TRAINING.search(asked[2]):
            found.append((asked[2], at - (names[0] in ("self", "cls"))))
    return tuple(found)
