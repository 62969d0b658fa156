"""A project that already branches over several accelerators: a branch for Neuron belongs here."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence, Verdict
from neuronport.readers.python.facts import Event
from neuronport.source import decided
from neuronport.source.decided import Decided
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
ONLY = frozenset(name.rpartition(".")[2] for name in _OTHERS)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.role != "call":
        return
    kind = _OTHERS.get(view.index.canonical(event.name, view.summary))
    if kind is None:
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
    )
    if "neuron" in {_word(e.name) for e in view.facts.events if e.kind == "use"}:
        return
    if decided.of_question(event, view) is Decided.SKIPS:
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
        guarded=False,
    )


def _word(name: str) -> str | None:
    if name in _OTHERS:
        return _OTHERS[name]
    if name in ("torch.cuda.is_available", "torch.cuda.device_count"):
        return "cuda"
    if name.startswith("torch.neuron.") or name.endswith("is_neuron_available"):
        return "neuron"
    return None
