"""Handing a graph's calls to torch_xla, and what comes back.

The record is neutral already: operators by name, arguments as numbers, names and references. What
inputs hold is in a file of raw bytes; what that has not is made from seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from neuronport.graph.lowering.measured import Call, Cut, GraphLowering, Lowering, Whole
from neuronport.graph.record import Record
from neuronport.xla_environment import Done, XlaPython, run

WORKER = "neuronport.graph.lowering.worker"
WHOLE = "whole"
_IDLE = 120
"""Seconds that one call may take."""
_CRASHES = 20


def lower(
    record: Record,
    python: XlaPython,
    values: Path,
    seconds: float,
    megabytes: int,
    whole: bool = True,
) -> Lowering:
    """Runs every graph of a record; ``whole``: all together, too, which compiles.

    Raises XlaEnvironmentError: torch_xla cannot be used.
    """
    versions = python.versions()
    graphs = []
    for data, graph in zip(record.raw["graphs"], record.graphs, strict=True):
        if data.get("unvalued"):
            graphs.append(GraphLowering(graph.title, graph.mode, {}, why=data["unvalued"]))
            continue
        request = {
            "graph": neutral(data),
            "values": str(values.absolute()),
            "whole": whole,
        }
        graphs.append(_graph(graph.title, graph.mode, request, python, seconds, megabytes))
    return Lowering(versions, tuple(graphs))


def neutral(data: Mapping[str, Any]) -> dict[str, Any]:
    """What a worker needs of a graph of a record; gradients are outputs too."""
    return {
        "inputs": data["inputs"],
        "nodes": data["nodes"],
        "outputs": [*data["outputs"], *data.get("gradients", ())],
    }


def _graph(
    title: str,
    mode: str,
    request: Mapping[str, Any],
    python: XlaPython,
    seconds: float,
    megabytes: int,
) -> GraphLowering:
    rows, calls, whole, why = _run(request, python, seconds, megabytes)
    found = {
        name: calls.get(str(row["call"]), Call("skipped", error=why))
        if "call" in row
        else Call(row["status"], error=row.get("error", ""))
        for name, row in rows.items()
    }
    operators = {n["name"]: n["operator"] for n in request["graph"]["nodes"]}
    return GraphLowering(title, mode, found, operators, len(calls), whole, why)


def _run(
    request: Mapping[str, Any], python: XlaPython, seconds: float, megabytes: int
) -> tuple[dict[str, dict[str, Any]], dict[str, Call], Whole | None, str]:
    """Rows of nodes, calls, the graph as a whole, and why something is missing.

    A call that ends its process costs only itself: it is known from then on.
    """
    nodes: dict[str, dict[str, Any]] = {}
    calls: dict[str, Call] = {}
    for _ in range(_CRASHES):
        done = run(
            python,
            WORKER,
            {**request, "calls": {key: call.status for key, call in calls.items()}},
            seconds=max(seconds, 1),
            megabytes=megabytes,
            idle=_IDLE,
        )
        seconds -= done.seconds
        begun = ""
        for row in done.rows:
            if "node" in row:
                # what the CPU refuses says nothing of XLA: the later row counts
                nodes[row["node"]] = row
            elif "begin" in row:
                begun = row["begin"]
            elif "call" in row:
                begun = ""
                calls[row["call"]] = _call(row)
        if begun == WHOLE and not request.get("whole", True):
            return nodes, calls, None, ""
        if begun == WHOLE:
            whole = _whole(done.rows)
            return nodes, calls, whole, "" if whole else f"all together: {_why(done)}"
        if not begun or done.why.startswith("not finished"):
            return nodes, calls, None, _why(done)
        slow = done.why == "idle"
        calls[begun] = Call(
            "timeout" if slow else "crash", error=f"more than {_IDLE} s" if slow else done.why
        )
    return nodes, calls, None, f"{_CRASHES} calls ended their process"


def _call(row: Mapping[str, Any]) -> Call:
    return Call(
        row["status"],
        tuple(row.get("fallback", ())),
        tuple(row.get("hlo", ())),
        row.get("error", ""),
    )


def _why(done: Done) -> str:
    last = f": {done.tail[-1]}" if done.tail else ""
    return f"{done.why or 'nothing was measured'}{last}"


def _whole(rows: Sequence[Mapping[str, Any]]) -> Whole | None:
    found = {key: value for row in rows for key, value in row.items()}
    first, second = found.get("first"), found.get("second")
    if first is None or second is None:
        return None
    return Whole(
        tuple(_cuts(first["cuts"])),
        second["executed"],
        first["compiled"],
        second["compiled"],
        first["fallbacks"],
        first.get("hlo", {}),
        first.get("instructions", 0),
        round(first["compile_seconds"], 4),
        first["seconds"],
        second["seconds"],
        first["finite"],
    )


def _cuts(rows: Sequence[Mapping[str, Any]]) -> Iterator[Cut]:
    for row in rows:
        yield Cut(row["node"], row["operator"], tuple(row["because"]))
