"""Which stretches of a graph run on the device and which on the host, and what crosses.

Nodes that fall back or break under a path belong to the host; views and constants follow what they
are made from. The order of the graph is kept: a region ends where the next node runs elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuronport.findings import Verdict
from neuronport.graph.costs import is_view
from neuronport.graph.findings import replacement_for
from neuronport.graph.record import Graph, Node
from neuronport.graph.verdicts import NodeVerdicts
from neuronport.operators import workarounds_for
from neuronport.targets import Target

_HOST = (Verdict.FALLS_BACK, Verdict.BREAKS)
_BEST = 3


@dataclass(frozen=True, slots=True)
class Replacement:
    """An operator that would be worth replacing."""

    operator: str
    nodes: int
    crossings_removed: int
    bytes_removed: int
    workaround: str
    """Its id; empty: none is known."""
    title: str
    old: str
    new: str

    def as_json(self) -> dict[str, Any]:
        return {
            "operator": self.operator,
            "nodes": self.nodes,
            "crossings_removed": self.crossings_removed,
            "bytes_removed": self.bytes_removed,
            "workaround": self.workaround or None,
            "title": self.title,
            "old": self.old,
            "new": self.new,
        }


@dataclass(frozen=True, slots=True)
class Partition:
    graph: str
    target: str
    device_regions: int
    host_regions: int
    crossings: int
    """Tensors that go from one side to the other in one run of the graph."""
    bytes: int
    unknown: int
    """Crossing tensors whose size depends on values: not in ``bytes``."""
    host_nodes: Mapping[str, int]
    """Operators on the host → nodes."""
    replacements: tuple[Replacement, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "graph": self.graph,
            "target": self.target,
            "device_regions": self.device_regions,
            "host_regions": self.host_regions,
            "crossings": self.crossings,
            "bytes_per_run": self.bytes,
            "crossings_of_unknown_size": self.unknown,
            "host_operators": dict(self.host_nodes),
            "replacements": [r.as_json() for r in self.replacements],
        }


def partition(graph: Graph, verdicts: Sequence[NodeVerdicts], target: Target) -> Partition:
    """The regions of a graph on a target, at the stage in which the path runs by default."""
    away = [
        judged is not None and judged.verdict in _HOST
        for judged in (v.at(target) for v in verdicts)
    ]
    crossings, moved, unknown, devices, hosts = _crossings(graph, away)
    counts = Counter(n.operator for n, host in zip(graph.nodes, away, strict=True) if host)
    replacements = []
    for operator, nodes in counts.items():
        without = [
            host and node.operator != operator for node, host in zip(graph.nodes, away, strict=True)
        ]
        fewer, less, *_ = _crossings(graph, without)
        # a rule about what is written in the code comes before one way to write an operator
        ruled = replacement_for(operator, target.path)
        known = () if ruled else workarounds_for(operator, target.path)
        first = known[0] if known else None
        replacements.append(
            Replacement(
                operator,
                nodes,
                crossings - fewer,
                moved - less,
                first.id if first else "",
                first.title if first else ruled,
                first.old if first else "",
                first.new if first else "",
            )
        )
    replacements.sort(key=lambda r: (-r.crossings_removed, -r.bytes_removed, r.operator))
    return Partition(
        graph.title,
        str(target),
        devices,
        hosts,
        crossings,
        moved,
        unknown,
        dict(counts.most_common()),
        tuple(replacements[:_BEST]),
    )


def _crossings(graph: Graph, away: Sequence[bool]) -> tuple[int, int, int, int, int]:
    """Crossings, bytes, crossings of unknown size, regions on the device, regions on the host."""
    tensors = graph.tensors()
    side: dict[str, bool] = {i.name: False for i in graph.inputs}
    copied: set[tuple[str, int]] = set()
    crossings = moved = unknown = devices = hosts = 0
    last: bool | None = None
    for node, host in zip(graph.nodes, away, strict=True):
        references = [key for key in node.references() if key in tensors]
        if not host and is_view(node) and references:
            # a view of what is on the host is taken there
            side[node.name] = side.get(references[0][0], False)
            continue
        if node.symbolic:
            continue
        side[node.name] = host
        if host is not last:
            hosts, devices = hosts + host, devices + (not host)
            last = host
        for key in dict.fromkeys(references):
            if side.get(key[0], False) is not host and (key not in copied):
                copied.add(key)
                crossings += 1
                moved += tensors[key].bytes or 0
                unknown += tensors[key].bytes is None
    for output in graph.outputs:  # results are wanted on the device
        if isinstance(output, dict) and side.get(output.get("ref", ""), False):
            key = (output["ref"], int(output.get("index", 0)))
            if key in tensors and key not in copied:
                copied.add(key)
                crossings += 1
                moved += tensors[key].bytes or 0
                unknown += tensors[key].bytes is None
    return crossings, moved, unknown, devices, hosts


def regions(graph: Graph, verdicts: Sequence[NodeVerdicts], target: Target) -> list[list[Node]]:
    """The nodes of each region, in order."""
    found: list[list[Node]] = []
    last: bool | None = None
    for item in verdicts:
        judged = item.at(target)
        host = judged is not None and judged.verdict in _HOST
        if host is not last:
            found.append([])
            last = host
        found[-1].append(item.node)
    return found
