"""Lowering a captured graph in the environment with torch_xla: for drivers that start from HLO."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neuronport.compile.job import Job
from neuronport.compile.result import Input, Place
from neuronport.graph import source
from neuronport.graph.lowering.calls import neutral
from neuronport.graph.record import Graph, Record
from neuronport.xla_environment import Done, XlaPython, run

WORKER = "neuronport.compile.workers.lowered"
_GIVEN = ("input", "cache")


@dataclass(frozen=True)
class Lowered:
    """What is known once a graph was given to torch_xla."""

    graph: Graph
    inputs: tuple[Input, ...]
    done: Done
    lowered: Mapping[str, Any] = field(default_factory=dict)
    compiled: Mapping[str, Any] = field(default_factory=dict)
    again: Mapping[str, Any] = field(default_factory=dict)
    failed: Mapping[str, Any] = field(default_factory=dict)
    phase: str = "lowering"
    peak: int = 0
    cuts: tuple[Place, ...] = ()

    @property
    def refused(self) -> str:
        """Why an operator is not lowered, in one line."""
        if not self.failed:
            return ""
        place = place_of(self.graph, self.failed)
        return f"{self.failed['operator']}{at(place)}: {self.failed['error']}"


def graphs(job: Job) -> Iterator[tuple[int, Graph, Mapping[str, Any], Path, Record]]:
    """Raises RecordError: there is no record."""
    record, values = job.captured()
    for number, (graph, data) in enumerate(zip(record.graphs, record.raw["graphs"], strict=True)):
        yield number, graph, data, values, record


def inputs_of(graph: Graph) -> tuple[Input, ...]:
    return tuple(
        Input(i.name, i.tensor.dtype, i.tensor.shape) for i in graph.inputs if i.kind in _GIVEN
    )


def lower(
    job: Job,
    python: XlaPython,
    graph: Graph,
    data: Mapping[str, Any],
    values: Path,
    hlo: Path | None = None,
    and_run: bool = False,
) -> Lowered:
    """Raises XlaEnvironmentError: the interpreter cannot be started."""
    request = {
        "graph": neutral(data),
        "values": str(values.absolute()),
        "hlo": str(hlo.absolute()) if hlo else "",
        "run": and_run,
    }
    done = run(
        python, WORKER, request, seconds=job.request.seconds, megabytes=job.request.megabytes
    )
    found: dict[str, Any] = {}
    peak = 0
    for row in done.rows:
        found.update(row)
        for value in (row, *(v for v in row.values() if isinstance(v, dict))):
            peak = max(peak, int(value.get("peak", 0)))
    lowered = found.get("lowered", {})
    return Lowered(
        graph,
        inputs_of(graph),
        done,
        lowered,
        found.get("compiled", {}),
        found.get("again", {}),
        found.get("failed", {}),
        str(found.get("phase", "lowering")),
        peak,
        tuple(place_of(graph, row) for row in lowered.get("cuts", ())),
    )


def place_of(graph: Graph, row: Mapping[str, Any]) -> Place:
    """A row about a node, with the line it comes from."""
    site = next((n.site for n in graph.nodes if n.name == row["node"]), None)
    return Place(
        row["node"],
        row["operator"],
        tuple(row.get("because", ())),
        source.path(site.file) if site else "",
        site.line if site else 0,
    )


def at(place: Place) -> str:
    return f" ({place.file}:{place.line})" if place.file else ""
