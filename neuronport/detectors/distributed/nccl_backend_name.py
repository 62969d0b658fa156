"""NCCL named somewhere else than in the call that starts a process group: a variable, a default,
an option, a table, a keyword of a framework, a comparison."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import Confidence, Verdict
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("str", "ifexp")
STRINGS = r"^\s*(nccl|NCCL|cpu:gloo,\s*cuda:nccl|cuda:nccl(,\s*cpu:gloo)?)\s*$"
_NCCL = re.compile(STRINGS)
_BACKEND = re.compile(r"backend|nccl|dist|process_group|(^|_)(pg|comm)(_|$)", re.I)
_STARTERS = frozenset(("init_process_group", "new_group", "init_distributed"))
"""Rows of the API table speak about a name that stands in the call itself."""


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "ifexp":
        yield from _choice(event, view)
        return
    if not _NCCL.search(event.name):
        return
    role, listed, branched = _strings.unwrap(event.role)
    if branched:
        return
    if _strings.is_compared(role):
        other = role[2] if len(role) > 2 else None
        yield Hit(
            event.span,
            f"asks whether {view.text(other)} is NCCL: the neuron backend takes the other branch",
            Confidence.LIKELY if _BACKEND.search(view.text(other)) else Confidence.POSSIBLE,
            verdict=Verdict.LOCKS_IN,
        )
        return
    if role[0] == "value" and role[1] == "cuda":
        yield Hit(
            event.span,
            "a table of backends by device, with a row for CUDA",
            Confidence.POSSIBLE,
            verdict=Verdict.LOCKS_IN,
        )
        return
    found = _place(role, listed, view)
    if found is not None:
        confidence, where = found
        yield Hit(event.span, f"the backend is NCCL, {where}", confidence)


def _choice(event: Event, view: ModuleView) -> Iterator[Hit]:
    """``"nccl" if torch.cuda.is_available() else "gloo"``."""
    assert event.value is not None
    _, test, body, orelse = event.value
    yes, no = _text(body), _text(orelse)
    if not any(t is not None and _NCCL.search(t) for t in (yes, no)):
        return
    truth = view.truth_of(test)
    taken = {True: yes, False: no, None: None}[truth]
    condition = view.text(test)
    if taken is not None and _NCCL.search(taken):
        yield Hit(event.span, f"the backend is NCCL, as {condition} is {truth}", guarded=False)
    elif truth is not None:
        other = repr(taken) if taken is not None else "the other value"
        yield Hit(
            event.span,
            f"{condition} is {truth} on a Neuron host, so the backend is {other} there, which has "
            "no collectives for tensors on the chip",
            Confidence.LIKELY,
            verdict=Verdict.FALLS_BACK,
            guarded=False,
        )
    else:
        yield Hit(
            event.span,
            f"the backend is NCCL or another, by {condition}: never the Neuron backend",
            Confidence.LIKELY,
            verdict=Verdict.FALLS_BACK,
            guarded=False,
        )


def _text(value: Value) -> str | None:
    if value is not None and value[0] == "const" and isinstance(value[1], str):
        return value[1]
    return None


def _place(role: tuple, listed: bool, view: ModuleView) -> tuple[Confidence, str] | None:  # type: ignore[type-arg]
    kind = role[0]
    if kind in ("key", "index", "raise", "test"):
        return None
    if listed:
        if _strings.is_option(role, view):
            return Confidence.POSSIBLE, "a choice of a command line option"
        return Confidence.POSSIBLE, "one of a list"
    if kind in ("arg", "method"):
        return _passed(role, view)
    if kind in ("assign", "attr", "field"):
        name = str(role[-1])
        sure = Confidence.CERTAIN if _BACKEND.search(name) else Confidence.LIKELY
        return sure, f"assigned to {name}"
    if kind == "default":
        name = str(role[2])
        sure = Confidence.CERTAIN if _BACKEND.search(name) else Confidence.POSSIBLE
        return sure, f"default of parameter {name}"
    if kind == "value":
        key = role[1]
        if isinstance(key, str) and _BACKEND.search(key):
            return Confidence.CERTAIN, f"value of {key!r}"
        return Confidence.LIKELY, "value in a dict"
    if kind == "return":
        return Confidence.LIKELY, "returned"
    return Confidence.POSSIBLE, "in an expression"


def _passed(role: tuple, view: ModuleView) -> tuple[Confidence, str] | None:  # type: ignore[type-arg]
    func = role[1] if role[0] == "arg" else None
    last = _strings.callee_name(func, view) if role[0] == "arg" else str(role[2])
    key = role[-1]
    if last in _STARTERS:
        return None
    if _strings.is_option(role, view):
        return (
            (Confidence.CERTAIN, "default of a command line option") if key == "default" else None
        )
    if last in _strings._LOGGING or last.endswith(("Error", "Exception", "Warning")):
        return None
    if isinstance(key, str):
        if key == "ddp_backend":
            return None  # a row of the transformers table
        if _BACKEND.search(key) and last in ("Namespace", "SimpleNamespace"):
            return Confidence.POSSIBLE, f"argument {key} of {last}"
        if _BACKEND.search(key):
            return Confidence.CERTAIN, f"argument {key} of {last}"
        if key in ("help", "description", "name", "msg", "message", "reason"):
            return None
    if role[0] == "method" and last in _strings._TEXT_METHODS:
        return None
    if role[0] == "method" and last in ("get", "getenv") and key == 1:
        return Confidence.LIKELY, f"default of .{last}()"
    if _BACKEND.search(last) or last in ("spawn", "launch", "setup"):
        return Confidence.LIKELY, f"given to {last}"
    return Confidence.POSSIBLE, f"given to {last or 'a call'}"
