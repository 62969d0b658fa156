"""A CUDA device string where a device is meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import Confidence, Verdict, weakest
from neuronport.readers.python.facts import Event
from neuronport.source.decided import is_read_there
from neuronport.source.places import holds_nothing
from neuronport.source.truth import conditions
from neuronport.source.view import ModuleView

EVENTS = ("str",)
STRINGS = _strings.STRINGS
_SWITCHED_OFF = frozenset(
    f"torch.{name}"
    for name in (
        "autocast",
        "GradScaler",
        "amp.autocast",
        "amp.autocast_mode.autocast",
        "amp.GradScaler",
        "amp.grad_scaler.GradScaler",
        "amp.custom_fwd",
        "amp.custom_bwd",
        "amp.autocast_mode.custom_fwd",
        "amp.autocast_mode.custom_bwd",
    )
)
"""Nothing is placed and nothing raises: without CUDA they do nothing, as their own rows say."""


_LIGHTNING = re.compile(r"(pytorch_)?lightning(_fabric)?\.")
_MOVES = frozenset(("to", "cuda"))
_HELD = frozenset(("arg", "value", "attr"))


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if not _strings.DEVICE.search(event.name):
        return
    role, listed, branched = _strings.unwrap(event.role)
    if _strings.is_compared(role) or _strings.is_option(role, view):
        return
    if role[0] in ("default", "field") or (role[0] == "method" and role[2] == "startswith"):
        return
    if listed or branched:
        return
    if role[0] == "arg" and view.name(role[1]) in _SWITCHED_OFF:
        return
    found = _strings.place(event, view)
    if found is None:
        return
    confidence, where = found
    if role[0] == "arg" and role[2] == "accelerator" and _LIGHTNING.match(view.name(role[1])):
        confidence = Confidence.POSSIBLE  # an Accelerator's name: the row of what is called says so
    if role[0] == "value":
        # Who reads the table is not seen; in a test it may be skipped there, or ask first.
        asks = view.is_test and _asks(view)
        confidence = weakest(confidence, Confidence.POSSIBLE if asks else Confidence.LIKELY)
    if confidence is not Confidence.POSSIBLE and role[0] in _HELD and _is_held(role, event, view):
        confidence = Confidence.POSSIBLE
    guard = view.skipping_guard(event)
    verdict = None
    if role[0] == "arg" and _is_marked(role, event, view):
        verdict = Verdict.LOCKS_IN
    moved = holds_nothing(role[1], view) if role[:1] == ("method",) and role[2] == "to" else ""
    if moved:
        yield Hit(
            event.span,
            f"the device is {event.name.strip()!r}, {where}; {moved} holds nothing to be moved",
            confidence,
            Verdict.LOCKS_IN,
        )
        return
    if guard is not None:
        confidence = Confidence.POSSIBLE  # the test that leads here is what has to change
        if _strings.asks_given(guard.test, view) or is_read_there(event.role):
            # Another device goes the other way, and stays what it is; a checkpoint is read there.
            verdict = Verdict.LOCKS_IN
    yield Hit(event.span, f"the device is {event.name.strip()!r}, {where}", confidence, verdict)


def _is_marked(role: Any, event: Event, view: ModuleView) -> bool:
    """Whether a test's parameter is skipped without CUDA: ``pytest.param("cuda", marks=skipif(…))``."""
    if view.name(role[1]) != "pytest.param":
        return False
    return any(
        view.truth.skips(view.summary, mark)
        for call in view.calls_at.get(event.at[0], ())
        if call.name == "pytest.param"
        for key, mark in call.kwargs
        if key == "marks"
    )


def _is_held(role: Any, event: Event, view: ModuleView) -> bool:
    """Whether a test only keeps a device as what an option or a configuration says: nothing of
    PyTorch is made where it does."""
    if not view.is_test or (role[0] == "arg" and view.name(role[1]).startswith("torch.")):
        return False
    scope = view.ctx(event).scope
    if view.facts.scopes[scope].kind != "function":
        return False  # every test of the file may read it
    return not any(
        (other.kind == "use" and other.role == "call" and other.name.startswith("torch."))
        or (other.kind == "method" and other.name in _MOVES)
        for other in view.facts.events
        if view.ctx(other).scope == scope
    )


def _asks(view: ModuleView) -> bool:
    """Whether a module asks for CUDA anywhere, or skips its tests without it."""
    return view.once("asks for CUDA", lambda: _finds_question(view))


def _finds_question(view: ModuleView) -> bool:
    known = conditions()
    return any(
        event.kind in ("use", "import")
        and (event.name in known["false"] or event.name.rpartition(".")[2] in known["skips"])
        for event in view.facts.events
    )
