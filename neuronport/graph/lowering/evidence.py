"""What was measured, as evidence on the table's answers about lazy tensors.

The same layer lowers operators on Neuron's path `xla`, so that what it does with a call, with these
arguments, weighs more than what is known of the operator. It does not outweigh it: torch_xla asks
in places for the kind of device, and no compiler of Neuron's has seen what was lowered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from neuronport.findings import (
    CONFIDENCE_ORDER,
    Confidence,
    Evidence,
    EvidenceKind,
    Verdict,
)
from neuronport.graph.lowering.agreement import MEASURED, STAGE, said
from neuronport.graph.lowering.measured import BACKEND, Call, GraphLowering
from neuronport.graph.verdicts import Judged, NodeVerdicts
from neuronport.targets import resolve

_SOURCE = "neuronport graph --xla-python"
_PATH = "xla"
_OPCODES = 6
_LONG = 120
_WORSE = {"falls-back": Verdict.FALLS_BACK, "breaks": Verdict.BREAKS}
_SURE = (EvidenceKind.OBSERVED, EvidenceKind.DOCUMENTED, EvidenceKind.SOURCE, EvidenceKind.MEASURED)


def weighed(
    verdicts: Sequence[NodeVerdicts], lowering: GraphLowering, versions: Mapping[str, str]
) -> tuple[NodeVerdicts, ...]:
    """The verdicts of a graph with what was measured of each node."""
    return tuple(_node(item, lowering.nodes.get(item.node.name), versions) for item in verdicts)


def was_measured(evidence: Sequence[Evidence]) -> Evidence | None:
    """What a run of this graph's own calls says among evidence."""
    return next((e for e in evidence if e.source.startswith(_SOURCE)), None)


def contradicts(evidence: Evidence) -> bool:
    """Whether it says that there is HLO."""
    return evidence.says.startswith(_LOWERED)


def less_sure(confidence: Confidence) -> Confidence:
    """One step less."""
    return _step(confidence, 1)


def _node(item: NodeVerdicts, call: Call | None, versions: Mapping[str, str]) -> NodeVerdicts:
    measured = MEASURED.get(call.status) if call is not None else None
    if call is None or measured is None:
        return item
    evidence = Evidence(
        EvidenceKind.MEASURED,
        f"{_SOURCE}: torch_xla {versions.get('torch_xla', '?')}, torch {versions.get('torch', '?')},"
        f" {BACKEND}",
        _says(call),
        path=_PATH,
    )
    return replace(
        item,
        by_target={
            target: _weighed(stages, measured, evidence)
            if resolve(target).path == _PATH
            else stages
            for target, stages in item.by_target.items()
        },
    )


def _weighed(
    stages: Mapping[str, Judged], measured: str, evidence: Evidence
) -> Mapping[str, Judged]:
    says = said(stages[STAGE])
    return {
        stage: replace(
            _changed(judged, stage, says, measured), evidence=(evidence, *judged.evidence)
        )
        for stage, judged in stages.items()
    }


def _changed(judged: Judged, stage: str, says: str, measured: str) -> Judged:
    """The answer at a stage, from what the table says of lazy tensors and what they did."""
    if says == "compiler":
        return judged  # refused behind the lowering: nothing was measured of it
    if says == measured:
        # a compiler's refusal behind what is lowered is no surer for it
        known = says != "device" and judged.verdict in (Verdict.FALLS_BACK, Verdict.BREAKS)
        return replace(judged, confidence=_step(judged.confidence, -1)) if known else judged
    if measured == "device":
        if judged.verdict is None:
            if stage != STAGE:
                return judged  # what compiles it ahead was not asked
            return replace(judged, verdict=Verdict.PORTABLE, confidence=Confidence.LIKELY)
        known = judged.verdict in (Verdict.FALLS_BACK, Verdict.BREAKS)
        return replace(judged, confidence=less_sure(judged.confidence)) if known else judged
    # what does not lower is traced into nothing: a graph that is compiled ahead breaks there
    worse = _WORSE[measured] if stage == STAGE else Verdict.BREAKS
    sure = any(e.kind in _SURE for e in judged.evidence)
    return replace(
        judged,
        verdict=worse,
        confidence=Confidence.POSSIBLE
        if sure and judged.verdict is not None
        else Confidence.LIKELY,
    )


def _step(confidence: Confidence, by: int) -> Confidence:
    words = sorted(CONFIDENCE_ORDER, key=CONFIDENCE_ORDER.__getitem__)
    return words[max(0, min(len(words) - 1, CONFIDENCE_ORDER[confidence] + by))]


_LOWERED = "this call is lowered"


def _says(call: Call) -> str:
    if call.fallback:
        said_ = f"this call runs on the CPU ({', '.join(call.fallback)})"
    elif call.error:
        error = " ".join(call.error.split())
        said_ = f"this call raises: {error[:_LONG]}"
    elif call.status == "crash":
        said_ = "this call ends the process"
    else:
        said_ = _LOWERED
        if call.status == "reads-back":
            said_ += " and reads a value back"
    if call.hlo:
        more = f" and {len(call.hlo) - _OPCODES} more" if len(call.hlo) > _OPCODES else ""
        said_ += f"; HLO {', '.join(call.hlo[:_OPCODES])}{more}"
    return said_
