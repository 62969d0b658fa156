"""Python branches on a tensor: ``if``, ``while``, ``assert``, ``and``, ``or``, ``not``, ternaries."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import on_host, same_scope, uses_arrays, uses_torch
from neuronport.detectors.control._waits import LIKELY, POSSIBLE, by_test, reached, tensor
from neuronport.findings import Confidence, weakest
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("test",)
ROOTS = ("torch",)
_WORDS = {
    "if": "an if",
    "while": "a while",
    "assert": "an assertion",
    "not": "a not",
    "bool": "an and/or",
    "ifexp": "a conditional expression",
}
_MAX_NESTED = 4
_SWITCHES = ("v", "ref", "param", "attr")
_NEVER = ("is", "is not", "in", "not in")
"""Comparisons that give a Python bool without reading a tensor's values, or read them elsewhere."""
_HOST_CALLS = frozenset(
    ("ref", f"builtins.{n}")
    for n in ("isinstance", "issubclass", "hasattr", "len", "callable", "getattr")
)


def _plain(value: Value) -> bool:
    """A string or None: never compared with the values of a tensor."""
    return value is not None and value[0] == "const" and isinstance(value[1], str | type(None))


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    value = event.value
    if value is None or value[0] in ("bool", "not", "const", "self", "ref", "lambda", "comp"):
        return  # operands of and, or and not are events of their own
    if not uses_torch(view):
        return
    if value[0] == "cmp" and (value[2] in _NEVER or _plain(value[1]) or _plain(value[3])):
        return
    if value[0] == "call" and value[1] in _HOST_CALLS:
        return
    # Where it stands is told sooner than what is tested.
    place = reached(event, view, Confidence.CERTAIN, entries=True)
    if place is None:
        return
    sure = _tested(view, value)
    if sure is None or (event.name == "bool" and _only_bound(event, view)):
        return
    confidence, why = weakest(sure, place[0]), place[1]
    yield Hit(
        event.span,
        f"{_WORDS.get(event.name, 'a test')} reads the tensor {_named(view, value)} on the host, {why}",
        confidence,
        replacement=_flag_first(event, view) or by_test(event, view),
    )


def _only_bound(event: Event, view: ModuleView) -> bool:
    """Whether a test is the last operand of what a name is bound to, or is returned: that is the
    tensor itself, which nothing asks here."""
    scope = view.facts.scopes[view.ctx(event).scope]
    function = view.facts.functions.get(f"{view.facts.module}.{scope.qualname}")
    bound = [d.value for _, d in same_scope(view, event)]
    if function is not None:
        bound += function.returns
    return any(_is_last(value, event.value) for value in bound)


def _is_last(value: Value, operand: Value) -> bool:
    for _ in range(_MAX_NESTED):
        if value is None or value[0] != "bool":
            return False
        value = value[2][-1]
        if value == operand:
            return True
    return False


def _flag_first(event: Event, view: ModuleView) -> str:
    """What to write where a plain switch is asked only after the tensor: ``if bad.any() and DEBUG:``."""
    for i in view.guards_at.get(event.at[0], ()):
        test = view.facts.guards[i].test
        if test is None or test[0] != "bool" or test[1] != "and":
            continue
        parts = test[2]
        at = next((n for n, part in enumerate(parts) if _within(part, event.value)), len(parts))
        for part in parts[at + 1 :]:
            if part is not None and part[0] in _SWITCHES and tensor(view, part) is None:
                flag = view.text(part)
                return f"ask {flag} first ({flag} and …): where it is off, the tensor is not read"
    return ""


def _within(value: Value, part: Value) -> bool:
    """Whether a test is one of those that another is made of."""
    if value == part:
        return True
    if value is None or value[0] not in ("bool", "not"):
        return False
    return any(_within(inner, part) for inner in (value[2] if value[0] == "bool" else value[1:]))


def _tested(view: ModuleView, value: Value) -> Confidence | None:
    sure = tensor(view, value)
    if sure is not None or value is None:
        return sure
    # ``mask.any()``: of what is not known to be an array or a tensor.
    if value[0] == "call" and value[1] is not None and value[1][0] == "attr":
        _, base, name = value[1]
        if name in ("any", "all") and view.kind(base).kind == "unknown" and uses_torch(view):
            if on_host(view, base):
                return None
            return POSSIBLE if uses_arrays(view) else LIKELY
    return None


def _named(view: ModuleView, value: Value) -> str:
    text = view.text(value)
    if value is not None and value[0] == "cmp":
        text = f"{view.text(value[1])} {value[2]} {view.text(value[3])}"
    return text if text.strip("… ") else "computed here"
