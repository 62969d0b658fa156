"""What these rules share: whether a value is surely a tensor, and how often a place is reached."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import partial

from neuronport.detectors._tensors import for_data, on_host, prepares, prepares_data, uses_torch
from neuronport.detectors._uses import ASSERT, BRANCH, LOOP, SIZE
from neuronport.findings import CONFIDENCE_ORDER, Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source import places
from neuronport.source.given import comers
from neuronport.source.hot import SELDOM
from neuronport.source.kinds import keeps_place, key_of
from neuronport.source.view import ModuleView

CERTAIN, LIKELY, POSSIBLE = Confidence.CERTAIN, Confidence.LIKELY, Confidence.POSSIBLE
_MAX_DEPTH = 5
REDUCING = frozenset(
    ["any", "all", "max", "min", "sum", "mean", "norm", "abs", "isnan", "isinf", "isfinite", "amax"]
)


def tensor(view: ModuleView, value: Value, depth: int = 0) -> Confidence | None:
    """How surely a value is a tensor on the device. Unlike ``view.kind``, what is only a parameter
    of ``forward`` does not count: flags and sizes are passed there too."""
    if value is None or depth > _MAX_DEPTH:
        return None
    tag = value[0]
    if tag in ("v", "unpack") and _is_key(view, value):
        return None
    if tag == "cmp":
        if value[2] in ("is", "is not", "in", "not in"):
            return None
        if any(view.kind(side).kind in ("string", "dtype", "device") for side in value[1::2]):
            return None
        return _surest(tensor(view, side, depth + 1) for side in value[1::2])
    if tag == "bin":
        return _surest(tensor(view, side, depth + 1) for side in value[2:])
    if tag == "v":
        held = view.summary.definitions[value[1]].value
        if held is not None and held[0] == "bool":
            return tensor(view, held[2][-1], depth + 1)  # the others were tested there
    if tag == "item" and key_of(value[2]):
        if keeps_place(value[2]):
            return None
        sure = tensor(view, value[1], depth + 1)
        return POSSIBLE if sure is not None and _is_passed(view, value) else sure
    if tag in ("neg", "invert", "item"):
        if tag == "item" and _is_several(view, value[1]):
            return LIKELY
        return tensor(view, value[1], depth + 1)
    known = view.kind(value)
    if known.kind != "tensor" or on_host(view, value):
        return None
    if known.derived:
        # Only what comes from a model, or was moved to a device, surely lies there.
        return CERTAIN if on_host(view, value) is False else LIKELY
    if tag == "call" and value[1] is not None and value[1][0] == "attr":
        base = tensor(view, value[1][1], depth + 1)
        if base is not None:
            return base
        if value[1][2] not in REDUCING or not _plain(value[1][1]):
            return None
        return POSSIBLE if _is_passed(view, value[1][1]) else LIKELY
    if tag == "attr":
        return POSSIBLE
    for atom in view.follow(value):
        inner = atom.value
        if inner is not None and inner[0] == "param":
            if (inner[1], inner[2]) not in view.kinds.tensor_params:
                return None
        elif inner is not None and (inner[0] == "attr" or _is_passed(view, inner)):
            return POSSIBLE
    return LIKELY


def _is_passed(view: ModuleView, value: Value) -> bool:
    """Whether it is looked up in a mapping that a function is given: in what is no tensor itself, so
    that nothing says that what it holds are tensors."""
    if value is None or value[0] != "item" or not key_of(value[2]):
        return False
    base = value[1]
    return base is not None and base[0] == "param" and view.kind(base).kind != "batch"


def _is_key(view: ModuleView, value: Value) -> bool:
    """Whether a value is a key of a dictionary, or a counter: ``for k, v in outputs.items()``."""
    if value is not None and value[0] == "v":
        value = view.summary.definitions[value[1]].value
    if value is None or value[0] != "unpack" or value[2] != 0:
        return False
    over = value[1]
    if over is None or over[0] != "elem" or over[1] is None or over[1][0] != "call":
        return False
    func = over[1][1]
    return func is not None and func[-1] in ("items", "named_parameters", "builtins.enumerate")


def _plain(value: Value) -> bool:
    return value is not None and value[0] in ("param", "v", "item")


def _is_several(view: ModuleView, value: Value) -> bool:
    """Whether a parameter holds several tensors of a device: ``*args``, a batch."""
    return (
        value is not None
        and value[0] == "param"
        and view.kind(value).kind == "batch"
        and not on_host(view, value)
    )


def _surest(found: Iterator[Confidence | None]) -> Confidence | None:
    sure = [c for c in found if c is not None]
    return min(sure, key=CONFIDENCE_ORDER.__getitem__) if sure else None


def reached(
    event: Event, view: ModuleView, sure: Confidence, *, entries: bool = False
) -> tuple[Confidence, str] | None:
    """A confidence with the place taken into account, and why the place matters; None: it does not
    run every step, so that waiting there costs nothing. ``entries``: functions that somebody
    outside the tree calls count as well."""
    hot = view.hot(event)
    if not hot:
        if not entries or not uses_torch(view) or prepares(event, view):
            return None
        hot = places.entry(event, view)
        if not hot:
            return None
        sure = POSSIBLE
    if not view.runs(event):
        return None
    if prepares_data(event, view) or for_data(event, view):
        return POSSIBLE, hot  # a transform is a module too, and runs on the host
    if hot.endswith(SELDOM):
        return POSSIBLE, hot
    if not places.seldom(event, view):
        calls = comers(event, view)
        if calls is None or (calls and not hot.startswith("called ")):
            return (POSSIBLE if _may_be_number(event, view) else sure), hot
        often = next((r for r in map(view.hot_by, calls) if r and not r.endswith(SELDOM)), "")
        if often:
            return sure, often
    every = hot.endswith("runs every step")
    return POSSIBLE, f"{hot}, but this does not" if every else f"{hot}{SELDOM}"


_NUMBERS = frozenset((("ref", "builtins.int"), ("ref", "builtins.float"), ("ref", "builtins.bool")))


def _may_be_number(event: Event, view: ModuleView) -> bool:
    """Whether a place is for what is no number alone: ``if isinstance(offset, int): … else: …``, so
    that mostly it may be one."""
    for guard in view.guards(event):
        test = guard.test
        if guard.polarity or test is None or test[0] != "call" or len(test[2]) != 2:
            continue
        if test[1] == ("ref", "builtins.isinstance") and test[2][0] is not None:
            classes = test[2][1]
            named = classes[1] if classes is not None and classes[0] == "tuple" else (classes,)
            if test[2][0][0] == "param" and not _NUMBERS.isdisjoint(named):
                return True
    return False


_CHECKED = (
    "check where the data still lies on the host, behind a debug switch, or when the loss is read for "
    "the log anyway"
)
_DECIDED = (
    "it decides the way of this very step: decide by what the host knows already (the batch before it "
    "is moved, the step, the configuration), or compute both ways and choose by torch.where or a mask"
)
SIZED = (
    "a size has to be known to the host: take it from the batch before it is moved, or work on a fixed "
    "size with a mask"
)


def by_use(becomes: Collection[str]) -> str:
    """What to write in place of a read, by what becomes of it: what this step waits for cannot be
    read every N steps. Empty: nothing that says so."""
    if BRANCH in becomes:
        return _DECIDED
    if SIZE in becomes or LOOP in becomes:
        return SIZED
    return _CHECKED if ASSERT in becomes else ""


def by_test(event: Event, view: ModuleView) -> str:
    """What to write in place of a test of a tensor, by what the test decides."""
    if _BROKEN.search(view.text(event.value)):
        return f"{_CHECKED}; what only replaces NaN (torch.nan_to_num) needs no test"
    kind = view.once("tests by what they decide", lambda: _Tests(view)).kind(event, view)
    if kind == "check":
        return _CHECKED
    if kind == "ends":
        return (
            "a fixed number of rounds, with a mask for what has come to its end; or ask only every N "
            "rounds, and cut what ran too long"
        )
    return (
        "torch.where or a mask that is always applied, where both ways give the same shapes; else "
        "decide by what the host knows already: the batch before it is moved, the configuration"
    )


_BROKEN = re.compile(r"isnan|isinf|isfinite")


class _Tests:
    """What the tests of a module decide: that the program ends, that a loop does, or anything."""

    def __init__(self, view: ModuleView) -> None:
        facts = view.facts
        self._asserts = [e.at for e in facts.events if e.kind == "test" and e.name == "assert"]
        self._raising = {g.line for g in facts.guards if g.kind == "raise"}
        self._leaving = {g.line for g in facts.guards if g.kind in ("early", "skip")}
        self._whiles = [e.at for e in facts.events if e.kind == "test" and e.name == "while"]

    def kind(self, event: Event, view: ModuleView) -> str:
        line = event.at[0]
        if line in self._raising or any(map(partial(_within, event.at), self._asserts)):
            return "check"
        if any(map(partial(_within, event.at), self._whiles)):
            return "ends"
        if line in self._leaving and view.ctx(event).loops and event.name != "ifexp":
            return "ends"
        return "branch"


def _within(inner: tuple[int, ...], outer: tuple[int, ...]) -> bool:
    return outer[:2] <= inner[:2] and inner[2:] <= outer[2:]
