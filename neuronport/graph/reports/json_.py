"""JSON, as ``schemas/graph.json`` says."""

from __future__ import annotations

import json
from typing import Any

from neuronport import __version__
from neuronport.graph.record import Node, site_json
from neuronport.graph.result import GraphResult
from neuronport.graph.verdicts import Judged, NodeVerdicts

SCHEMA = "neuronport/graph/1"


def render(result: GraphResult) -> str:
    return json.dumps(as_json(result), indent=1, ensure_ascii=True) + "\n"


def as_json(result: GraphResult) -> dict[str, Any]:
    record = result.record
    evidence: list[dict[str, str]] = []
    numbers: dict[str, int] = {}

    def cited(judged: Judged) -> list[int]:
        found = []
        for item in judged.evidence:
            row = item.as_json()
            key = json.dumps(row, sort_keys=True)
            if key not in numbers:
                numbers[key] = len(evidence)
                evidence.append(row)
            found.append(numbers[key])
        return found

    return {
        "schema": SCHEMA,
        "tool": {"name": "neuronport", "version": __version__},
        "model": {
            "name": record.model,
            "kind": record.kind,
            "class": record.cls,
            "built_on": record.device,
            "torch": record.torch,
            "python": record.python,
            **result.model.as_json(),
        },
        "targets": [str(t) for t in result.targets],
        "graphs": [
            {
                "name": graph.name,
                "module": graph.module,
                "mode": graph.mode,
                "how": graph.how,
                "inputs": [
                    {
                        "name": i.name,
                        "kind": i.kind,
                        "target": i.target,
                        "dtype": i.tensor.dtype,
                        "shape": list(i.tensor.shape),
                    }
                    for i in graph.inputs
                ],
                "nodes": [_node(item, cited) for item in verdicts],
                "cost": cost.as_json(),
            }
            for (graph, verdicts), cost in zip(result.verdicts, result.costs, strict=True)
        ],
        "evidence": evidence,
        "summary": {str(t): dict(result.counts(t)) for t in result.targets},
        "findings": [{**f.as_json(), "fails": result.fails(f)} for f in result.findings],
        "audited": [_path(f) for f in result.audited],
        "failures": [f.as_json() for f in record.failures],
        "graph_breaks": [f.as_json() for f in record.breaks],
        "redirects": [r.as_json() for r in record.redirects],
        "reads": [r.as_json() for r in record.reads],
        "notes": list(record.notes),
        "fits": [f.as_json() for f in result.fits],
        "graph_count": result.graphs.as_json(),
        "partitions": [p.as_json() for p in result.partitions],
        "lowering": _lowering(result),
    }


def _lowering(result: GraphResult) -> dict[str, Any] | None:
    if result.lowering is None:
        return None
    agreement = result.agreement
    return {
        **result.lowering.as_json(),
        "operator_table": None
        if agreement is None
        else {
            "agrees": agreement.agree,
            "compared": agreement.compared,
            "compiler_refuses": agreement.compilers,
            "not_run": agreement.not_run,
            "disagreements": [
                {
                    "graph": row.graph,
                    "node": row.node.name,
                    "operator": row.node.operator,
                    "table": row.says,
                    "measured": row.measured,
                }
                for row in agreement.disagreements
            ],
        },
    }


def _path(file: str) -> str:
    from neuronport.graph.source import path

    return path(file)


def _node(item: NodeVerdicts, cited: Any) -> dict[str, Any]:
    node: Node = item.node
    return {
        "name": node.name,
        "operator": node.operator,
        "direction": node.direction,
        "args": list(node.args),
        "kwargs": dict(node.kwargs),
        "outputs": [
            None if t is None else {"dtype": t.dtype, "shape": list(t.shape)} for t in node.outputs
        ],
        "symbols": list(node.symbols),
        "module": node.module,
        "user": site_json(node.user),
        "library": site_json(node.library),
        "by_target": {
            target: {
                stage: {
                    "status": str(judged.status),
                    "verdict": str(judged.verdict) if judged.verdict else None,
                    "confidence": str(judged.confidence),
                    "because": list(judged.because),
                    "unless": list(judged.unless),
                    "via": list(judged.via),
                    "workarounds": list(judged.workarounds),
                    "evidence": cited(judged),
                }
                for stage, judged in stages.items()
            }
            for target, stages in item.by_target.items()
        },
    }
