"""A branch that depends, through variables or functions, on whether CUDA is there."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence, Related, Verdict
from neuronport.readers.python.facts import Event, Value
from neuronport.source import decided
from neuronport.source.decided import Decided
from neuronport.source.view import ModuleView

EVENTS = ("test",)
ONLY = ("if", "while", "ifexp")
_AVAILABLE = frozenset(
    (
        "torch.cuda.is_available",
        "torch.cuda.device_count",
        "torch.cuda.is_bf16_supported",
        "torch.version.cuda",
        "torch.backends.cuda.is_built",
    )
)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name not in ("if", "while", "ifexp"):
        return
    value = event.value
    if _named(value):
        return  # the row of the API speaks at the place itself
    found = _through(value, view, 0)
    if found is None:
        return
    name, chain = found
    truth = view.truth_of(value)
    if truth is None:
        return
    decides = decided.of_test(event, view)
    yield Hit(
        event.span,
        f"{view.text(value)} rests on {name}(), so it is {truth} on a Neuron host",
        Confidence.CERTAIN if len(chain) <= 2 else Confidence.LIKELY,
        related=chain,
        guarded=False,
        verdict=Verdict.LOCKS_IN if decides is Decided.SKIPS else None,
    )


def _named(value: Value) -> bool:
    """Whether the test itself names the availability of CUDA."""
    if value is None:
        return False
    tag = value[0]
    if tag == "ref":
        return value[1] in _AVAILABLE
    if tag == "call":
        return _named(value[1])
    if tag == "not":
        return _named(value[1])
    if tag == "bool":
        return any(_named(v) for v in value[2])
    if tag == "cmp":
        return _named(value[1]) or _named(value[3])
    return False


def _through(value: Value, view: ModuleView, depth: int) -> tuple[str, tuple[Related, ...]] | None:
    """The name reached through variables, attributes, logic and functions, and the way there."""
    if value is None or depth > 6:
        return None
    tag = value[0]
    if tag == "not":
        return _through(value[1], view, depth + 1)
    if tag == "bool":
        for part in value[2]:
            found = _through(part, view, depth + 1)
            if found is not None:
                return found
        return None
    if tag == "cmp":
        return _through(value[1], view, depth + 1) or _through(value[3], view, depth + 1)
    if tag in ("v", "attr", "ref", "call"):
        for atom in view.follow(value):
            inner = atom.value
            if inner is None or inner == value:
                continue
            func = inner[1] if inner[0] == "call" else inner
            if func is not None and func[0] == "ref" and func[1] in _AVAILABLE:
                return str(func[1]), atom.chain
            if inner[0] in ("not", "bool", "cmp") and atom.module.module == view.summary.module:
                found = _through(inner, view, depth + 1)
                if found is None and _named(inner):
                    found = ("torch.cuda.is_available", ())
                if found is not None:
                    return found[0], (*atom.chain, *found[1])
            elif inner[0] in ("not", "cmp") and _named(inner):
                return "torch.cuda.is_available", atom.chain
    return None
