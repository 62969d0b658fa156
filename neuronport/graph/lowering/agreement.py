"""What the operator table says for lazy tensors, against what was measured.

Compared at the eager stage of the `xla` path: that a traced graph breaks where something falls back
follows from the path, and is not what lowering shows. Nor does lowering show what the compiler
behind it refuses: a node that the table calls unsupported for that reason is not compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuronport.findings import Verdict
from neuronport.graph.lowering.measured import Call, GraphLowering
from neuronport.graph.record import Node
from neuronport.graph.verdicts import Judged, NodeVerdicts
from neuronport.targets import Target

STAGE = "eager"
_LOWERING = ("torch_xla", "pytorch/xla")
"""What evidence about torch_xla itself names as its source."""
MEASURED = {
    "lowered": "device",
    "reads-back": "device",
    "falls-back": "falls-back",
    "raises": "breaks",
    "crash": "breaks",
}


@dataclass(frozen=True, slots=True)
class Disagreement:
    graph: str
    node: Node
    says: str
    """``device``, ``falls-back``, ``breaks`` or ``unknown``."""
    measured: str
    call: Call
    unless: tuple[str, ...]
    """What the table would need to know to say something else."""


@dataclass(frozen=True, slots=True)
class Comparison:
    agree: int
    disagreements: tuple[Disagreement, ...]
    compilers: int
    """Nodes that the table says neuronx-cc refuses: lowering does not show it."""
    not_run: int
    """Nodes that torch_xla could not be shown: an operator that its torch does not have …"""

    @property
    def compared(self) -> int:
        return self.agree + len(self.disagreements)

    @property
    def share(self) -> float | None:
        return self.agree / self.compared if self.compared else None


def compare(
    graphs: Sequence[tuple[GraphLowering, Sequence[NodeVerdicts]]], target: Target
) -> Comparison:
    """Node by node; those that only handle sizes are left out."""
    agree = compilers = not_run = 0
    found: list[Disagreement] = []
    for lowering, verdicts in graphs:
        for item in verdicts:
            judged = item.by_target.get(str(target), {}).get(STAGE)
            call = lowering.nodes.get(item.node.name)
            if judged is None or call is None:
                continue
            measured = MEASURED.get(call.status)
            if measured is None:
                not_run += 1
                continue
            says = said(judged)
            if says == "compiler":
                compilers += 1
            elif says == measured:
                agree += 1
            else:
                found.append(
                    Disagreement(lowering.graph, item.node, says, measured, call, judged.unless)
                )
    return Comparison(agree, tuple(found), compilers, not_run)


def said(judged: Judged) -> str:
    """``device``, ``falls-back``, ``breaks``; ``compiler``: breaks, but behind the lowering."""
    if judged.verdict is None:
        return "unknown"
    if judged.verdict is Verdict.FALLS_BACK:
        return "falls-back"
    if judged.verdict is not Verdict.BREAKS:
        return "device"
    ours = any(name in e.source for e in judged.evidence for name in _LOWERING)
    return "breaks" if ours else "compiler"


def by_operator(found: Sequence[Disagreement]) -> Mapping[tuple[str, str, str], int]:
    """Operator, what the table says, what was measured → nodes."""
    counts: dict[tuple[str, str, str], int] = {}
    for row in found:
        key = (row.node.operator, row.says, row.measured)
        counts[key] = counts.get(key, 0) + 1
    return counts
