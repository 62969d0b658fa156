"""``"neuron"`` or ``"xla"`` written where a device is meant, outside the place that chooses it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.detectors.lock_in._seams import behind_seam, how_sure
from neuronport.findings import Confidence, Verdict, weakest
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("str",)
STRINGS = r"^\s*(neuron|xla|privateuseone)(:(\d+|\{\})?)?\s*$"
_WORD = re.compile(STRINGS)
_GROUPS = frozenset(("init_process_group", "new_group"))
"""What takes the name of a backend."""
_BACKEND = (
    "the backend of the device, from one place: torch.distributed.get_default_backend_for_device"
)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if not _WORD.search(event.name):
        return
    role, listed, branched = _strings.unwrap(event.role)
    if _strings.is_compared(role) or listed:
        return
    last = _strings.callee_name(role[1], view) if role[0] == "arg" else ""
    what = "backend" if last in _GROUPS else "device"
    found: tuple[Confidence, str] | None = (Confidence.CERTAIN, f"given to {last}")
    if what == "device":
        found = _strings.place(event, view)
    if found is None or found[0] is Confidence.POSSIBLE:
        return
    confidence, where = found
    text = event.name.strip()
    instead = _BACKEND if what == "backend" else ""
    if branched or behind_seam(event, view):
        yield Hit(
            event.span, f"the {what} {text!r} is chosen here, {where}", verdict=Verdict.BENIGN
        )
        return
    native_only = view.paths == frozenset(("native",))
    sure = how_sure(view)
    if text.startswith("xla"):
        # There is no such device on the native path, and no torch_xla that would bring it.
        yield Hit(
            event.span,
            f"the {what} is {text!r}, {where}: there on PyTorch/XLA only",
            weakest(confidence, Confidence.LIKELY if native_only else sure),
            replacement=instead,
        )
        return
    yield Hit(
        event.span,
        f"the {what} is {text!r}, {where}: there on Neuron only",
        weakest(confidence, sure),
        verdict=Verdict.LOCKS_IN,
        replacement=instead,
    )
