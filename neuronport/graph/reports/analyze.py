"""The shape of ``torch_neuronx.analyze``: share of supported operators, and what is not supported.

Scripts that read its result read this one. Nothing was compiled: the versions are of neuronport and
say so, and ``failureAt`` is what the operator table says.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from neuronport import __version__
from neuronport.graph import source
from neuronport.graph.record import Node
from neuronport.graph.result import GraphResult
from neuronport.operators.tables import Status

_SUPPORTED = (Status.DEVICE, Status.DECOMPOSES, Status.SLOW)


def render(result: GraphResult) -> str:
    return json.dumps(as_json(result), indent=1, ensure_ascii=True) + "\n"


def as_json(result: GraphResult) -> dict[str, Any]:
    """Of the first target, the stage in which its path runs."""
    target = result.targets[0]
    supported: Counter[str] = Counter()
    unsupported: list[dict[str, Any]] = []
    for _, verdicts in result.verdicts:
        for item in verdicts:
            judged = item.at(target)
            if judged is None:
                continue
            kind = item.node.operator.partition(".")[0]
            if judged.status in _SUPPORTED:
                supported[kind] += 1
            else:
                unsupported.append(
                    {
                        "kind": kind,
                        "failureAt": str(judged.status),
                        "call": _call(item.node),
                        "opGraph": _graph(item.node),
                    }
                )
    total = sum(supported.values()) + len(unsupported)
    share = 100 * sum(supported.values()) / total if total else 100.0
    return {
        "torch_neuronx_version": f"none: neuronport {__version__}, operator table for {target}",
        "neuronx_cc_version": "none: nothing was compiled",
        "support_percentage": f"{share:.2f}%",
        "supported_operators": dict(supported.most_common()),
        "unsupported_operators": unsupported,
    }


def _call(node: Node) -> str:
    rows = [
        f"{source.path(site.file)}({site.line}): {site.function}"
        for site in (node.library, node.user)
        if site is not None
    ]
    return "\n".join(rows)


def _graph(node: Node) -> str:
    inputs = ", ".join(f"%{name}" for name, _ in node.references())
    shapes = ", ".join(
        f"{t.dtype}{list(t.shape)}".replace("'", "") for t in node.outputs if t is not None
    )
    return f"graph(%{node.name} : {shapes} = {node.operator}({inputs}))"
