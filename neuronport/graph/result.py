"""Everything that is known of a model once its record has been read and judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuronport.findings import (
    CONFIDENCE_ORDER,
    LEVEL_ORDER,
    Confidence,
    Finding,
    Level,
    Verdict,
)
from neuronport.graph import findings, partitions, shapes
from neuronport.graph.costs import Fit, GraphCost, ModelCost, fits, of_graph, of_model
from neuronport.graph.lowering.agreement import Comparison, compare
from neuronport.graph.lowering.evidence import weighed
from neuronport.graph.lowering.measured import Lowering
from neuronport.graph.record import Graph, Record
from neuronport.graph.verdicts import Judge, NodeVerdicts
from neuronport.targets import Target, resolve


@dataclass(frozen=True, eq=False)
class GraphResult:
    """One model, on some targets."""

    record: Record
    targets: tuple[Target, ...]
    verdicts: tuple[tuple[Graph, tuple[NodeVerdicts, ...]], ...]
    findings: tuple[Finding, ...]
    model: ModelCost
    costs: tuple[GraphCost, ...]
    fits: tuple[Fit, ...]
    graphs: shapes.GraphCount
    partitions: tuple[partitions.Partition, ...]
    audited: tuple[str, ...] = ()
    """Files of the user's whose audit is part of the findings."""
    fail_on: Level = Level.ERROR
    lowering: Lowering | None = None
    """What torch_xla did with the graphs' calls, where it was asked."""
    agreement: Comparison | None = None

    def counts(self, target: Target) -> Mapping[str, int]:
        """Nodes by verdict at the stage in which the path runs; ``unknown``: no table says."""
        found: Counter[str] = Counter()
        for _, verdicts in self.verdicts:
            for item in verdicts:
                judged = item.at(target)
                if judged is not None:
                    found[str(judged.verdict) if judged.verdict else "unknown"] += 1
        return found

    def fails(self, finding: Finding) -> bool:
        """Whether a finding is at or above the level, with confidence ``likely`` or more."""
        return (
            self.fail_on is not Level.NONE
            and LEVEL_ORDER[finding.level] <= LEVEL_ORDER[self.fail_on]
            and CONFIDENCE_ORDER[finding.confidence] <= CONFIDENCE_ORDER[Confidence.LIKELY]
        )


def judge(
    record: Record,
    targets: Sequence[Target],
    ranges: Sequence[shapes.Range] = (),
    with_audit: bool = True,
    fail_on: Level = Level.ERROR,
    lowering: Lowering | None = None,
) -> GraphResult:
    """Judges a record."""
    asked = Judge(targets)
    verdicts = tuple((graph, tuple(asked.graph(graph))) for graph in record.graphs)
    if lowering is not None:
        verdicts = tuple(
            (graph, weighed(judged, measured, lowering.versions))
            for (graph, judged), measured in zip(verdicts, lowering.graphs, strict=True)
        )
    found = findings.find(record, verdicts, targets)
    files = findings.user_files(record) if with_audit else []
    if files:
        found = findings.merged(found, findings.audited(files, targets))
    model = of_model(record)
    by_graph = tuple(of_graph(graph) for graph in record.graphs)
    return GraphResult(
        record,
        tuple(targets),
        verdicts,
        tuple(found),
        model,
        by_graph,
        tuple(fits(model, by_graph, targets)),
        shapes.count(record, ranges),
        tuple(
            partitions.partition(graph, judged, target)
            for graph, judged in verdicts
            for target in targets
        ),
        tuple(files),
        fail_on,
        lowering,
        None if lowering is None else _agreement(record, lowering),
    )


def _agreement(record: Record, lowering: Lowering) -> Comparison:
    target = resolve("xla")
    asked = Judge([target])
    return compare(
        [
            (measured, asked.graph(graph))
            for measured, graph in zip(lowering.graphs, record.graphs, strict=True)
        ],
        target,
    )


def module_verdicts(result: GraphResult, target: Target) -> dict[str, Verdict | None]:
    """The worst verdict of the nodes of each module, itself and what is below it."""
    from neuronport.findings import VERDICT_ORDER

    found: dict[str, Verdict | None] = {m.path: None for m in result.record.modules}
    for graph, verdicts in result.verdicts:
        for item in verdicts:
            judged = item.at(target)
            if judged is None or judged.verdict is None:
                continue
            path = ".".join(p for p in (graph.module, item.node.module) if p)
            while True:
                known = found.get(path)
                if path in found and (
                    known is None or VERDICT_ORDER[judged.verdict] < VERDICT_ORDER[known]
                ):
                    found[path] = judged.verdict
                if not path:
                    break
                path = path.rpartition(".")[0]
    return found
