"""A CUDA device string where a device is meant."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import Confidence, Verdict
from neuronport.readers.python.facts import Event
from neuronport.source.decided import is_read_there
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
    guard = view.skipping_guard(event)
    verdict = None
    if guard is not None:
        confidence = Confidence.POSSIBLE  # the test that leads here is what has to change
        if _strings.asks_given(guard.test, view) or is_read_there(event.role):
            # Another device goes the other way, and stays what it is; a checkpoint is read there.
            verdict = Verdict.LOCKS_IN
    yield Hit(event.span, f"the device is {event.name.strip()!r}, {where}", confidence, verdict)
