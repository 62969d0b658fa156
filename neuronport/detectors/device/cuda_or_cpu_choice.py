"""``"cuda" if torch.cuda.is_available() else "cpu"``: starts without an error, leaves the chip idle."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import Confidence, Verdict
from neuronport.readers.python.facts import Event, Value
from neuronport.source.decided import is_read_there
from neuronport.source.view import ModuleView

EVENTS = ("ifexp",)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    value = event.value
    assert value is not None
    _, test, body, orelse = value
    yes, no = _device(body, view), _device(orelse, view)
    if "cuda" not in (yes, no):
        return
    role, _, _ = _strings.unwrap(event.role)
    if role and role[0] in ("raise", "key"):
        return
    truth = view.truth_of(test)
    other = no if yes == "cuda" else yes
    if other is None and truth is None:
        return
    taken = {True: yes, False: no, None: None}[truth]
    condition = view.text(test)
    given = view.unless_given(test) if truth is None else None
    if given is not None and (yes if given else no) == "cuda":
        yield Hit(
            event.span,
            f"by itself this is 'cuda', which is not there on a Neuron host, and else "
            f"{other or 'something else'}, by {condition}: Neuron is never chosen",
            Confidence.LIKELY,
            Verdict.BREAKS,
            guarded=False,
        )
    elif truth is None or taken == "cuda":
        yield Hit(
            event.span,
            f"CUDA or {other or 'something else'}, by {condition}: Neuron is never chosen",
            Confidence.LIKELY,
            guarded=False,
        )
    elif taken == "cpu" and is_read_there(event.role):
        yield Hit(
            event.span,
            f"{condition} is {truth} on a Neuron host, so this is 'cpu': the checkpoint is read "
            "there, which holds on Neuron; where the model goes is said elsewhere",
            Confidence.LIKELY,
            Verdict.LOCKS_IN,
            guarded=False,
        )
    else:
        yield Hit(
            event.span,
            f"{condition} is {truth} on a Neuron host, so this is {taken or 'the other value'!r}: "
            "the program runs there without an error and leaves the chip idle",
            Confidence.CERTAIN if taken == "cpu" else Confidence.LIKELY,
            guarded=False,
        )


def _device(value: Value, view: ModuleView) -> str | None:
    """The device type a branch names."""
    if value is None:
        return None
    if value[0] == "call" and value[1] == ("ref", "torch.device") and value[2]:
        value = value[2][0]
    if value is None:
        return None
    if value[0] == "const" and isinstance(value[1], str):
        text = value[1].strip()
    elif value[0] == "fstr" and value[1] and value[1][0] is not None and value[1][0][0] == "const":
        text = value[1][0][1].strip()
    elif value[0] == "if":
        inner = (_device(value[2], view), _device(value[3], view))
        return "cuda" if "cuda" in inner else inner[0] or inner[1]
    elif value[0] in ("v", "ref"):
        texts = [t for t, _ in view.strings(value)]
        if not texts:
            return None
        text = texts[0]
    else:
        return None
    head = text.partition(":")[0]
    if head == "cuda" or head in _strings.OTHER_DEVICES:
        return head
    return None
