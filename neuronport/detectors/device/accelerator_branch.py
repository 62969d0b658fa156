"""A project that already branches over several accelerators: a branch for Neuron belongs here."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import ASKED_TOO, Confidence, Related, Verdict
from neuronport.readers.python.facts import Event
from neuronport.source import decided
from neuronport.source.decided import Decided
from neuronport.source.unbound import unbound
from neuronport.source.view import ModuleView

EVENTS = ("use",)
_OTHERS = {
    "torch.backends.mps.is_available": "mps",
    "torch.backends.mps.is_built": "mps",
    "torch.mps.is_available": "mps",
    "torch.xpu.is_available": "xpu",
    "torch.npu.is_available": "npu",
    "torch.mlu.is_available": "mlu",
    "torch.musa.is_available": "musa",
    "torch.hpu.is_available": "hpu",
    "transformers.utils.is_torch_xpu_available": "xpu",
    "transformers.utils.is_torch_npu_available": "npu",
    "transformers.utils.is_torch_mps_available": "mps",
    "transformers.utils.is_torch_mlu_available": "mlu",
    "transformers.utils.is_torch_hpu_available": "hpu",
    "transformers.utils.is_torch_musa_available": "musa",
    "accelerate.utils.is_xpu_available": "xpu",
    "accelerate.utils.is_npu_available": "npu",
    "accelerate.utils.is_mps_available": "mps",
    "accelerate.utils.is_mlu_available": "mlu",
    "accelerate.utils.is_hpu_available": "hpu",
}
_BEFORE = ("if", "early", "next", "skip")
_TEST = 4
"""Lines of a test in which a question is looked for."""
ONLY = frozenset(name.rpartition(".")[2] for name in _OTHERS)
PATTERN = r"(^|\.)(is|has)_(\w+_)?(xpu|npu|mps|mlu|musa|hpu)(_\w+)?$"
_OF_PROJECT = re.compile(PATTERN)


def asked_by_project(name: str, written: str, view: ModuleView) -> str:
    """The device that a function of the tree asks for, which is not there on a Neuron host; empty: it
    asks for none."""
    if name[:1] != "@":
        return ""
    found = _OF_PROJECT.search(name)
    if found is None:
        return ""
    asked = view.truth_of(("call", ("ref", written), (), (), 0)) is False
    return found[4] if asked and view.index.function(name) is not None else ""


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.role != "call":
        return
    name = view.index.canonical(event.name, view.summary)
    kind = _OTHERS.get(name) or asked_by_project(name, event.name, view)
    if not kind:
        return
    scope = view.ctx(event).scope
    others = sorted(
        {
            other
            for e in view.facts.events
            if e.kind == "use" and view.ctx(e).scope == scope
            for other in (_word(e.name),)
            if other is not None
        }
        - {"neuron"}
        | {kind}
    )
    if "neuron" in {_word(e.name) for e in view.facts.events if e.kind == "use"}:
        return
    never = unbound(view).get(event.at[0])
    if never is not None:
        yield Hit(
            event.span,
            f"{never.name} is set for accelerators alone, and line {never.line} uses it all the "
            "same: without one it stops there with an error",
            Confidence.CERTAIN if "cuda" in others else Confidence.LIKELY,
            guarded=False,
            verdict=Verdict.BREAKS,
        )
        return
    decides = decided.of_question(event, view)
    if decides is Decided.STOPS:
        yield Hit(
            event.span,
            f"without {kind} this stops with an error: it is for that device alone",
            Confidence.POSSIBLE,
            guarded=False,
            verdict=Verdict.LOCKS_IN,
        )
        return
    if decides is Decided.CUDAS_OWN:
        yield Hit(
            event.span,
            f"asks for {kind}: what is done for it here is its own (a seed, its cache), and nothing "
            "has to stand for it on Neuron",
            Confidence.POSSIBLE,
            guarded=False,
            verdict=Verdict.LOCKS_IN,
            replacement="nothing: torch.manual_seed seeds Neuron too",
        )
        return
    if decides is Decided.SKIPS:
        yield Hit(
            event.span,
            f"asks for {kind}: what is meant for it here does not happen on Neuron",
            Confidence.CERTAIN if "cuda" in others else Confidence.LIKELY,
            guarded=False,
            verdict=Verdict.LOCKS_IN,
        )
        return
    pattern = ", ".join(dict.fromkeys(["cuda", *others] if "cuda" in others else others or [kind]))
    yield Hit(
        event.span,
        f"chooses among {pattern}: add a branch for neuron here, in the same pattern",
        Confidence.CERTAIN if "cuda" in others else Confidence.LIKELY,
        related=_beside(event, view) if "cuda" in others else (),
        guarded=False,
    )


def _beside(event: Event, view: ModuleView) -> tuple[Related, ...]:
    """Where CUDA is asked for in the same chain of questions, before or after."""
    scope = view.ctx(event).scope
    for other in view.facts.events:
        if other.kind != "use" or _word(other.name) != "cuda" or view.ctx(other).scope != scope:
            continue
        if _follows(event, other, view) or _follows(other, event, view):
            return (Related(view.facts.path, other.at[0], ASKED_TOO),)
    for guard in view.guards(event):  # ``if use_cuda: … elif …``
        if guard.kind in _BEFORE and _strings.finds_none(guard, view, guard.polarity):
            return (Related(view.facts.path, guard.line, ASKED_TOO),)
    return ()


def _follows(event: Event, first: Event, view: ModuleView) -> bool:
    """Whether a question is asked where another was answered with no: in an ``elif``, or behind a
    branch that returned."""
    return any(
        guard.line <= first.at[0] < min(guard.line + _TEST, event.at[0])
        for guard in view.guards(event)
        if not guard.polarity and guard.kind in _BEFORE
    )


def _word(name: str) -> str | None:
    if name in _OTHERS:
        return _OTHERS[name]
    if name in ("torch.cuda.is_available", "torch.cuda.device_count"):
        return "cuda"
    if name.startswith("torch.neuron.") or name.endswith("is_neuron_available"):
        return "neuron"
    return None
