"""A worker beside torch_xla: the calls of a captured graph as one traced step.

The step is traced lazily and lowered to one HLO module. Where an operator runs on the host, what was
pending had to be compiled and executed before it: the graph is cut, and there is no one module.

Rows: ``{"phase": WORD}`` when one begins; ``{"failed": {"node", "operator", "error"}}``;
``{"lowered": {…}}``; with ``run``, ``{"compiled": {…}}`` and ``{"again": {…}}``.
"""

from __future__ import annotations

import resource
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from neuronport.graph.lowering import program as calls
from neuronport.xla_environment import hlo, metrics

_TOKENS = 64


class _NotLoweredError(Exception):
    """An operator that torch_xla does not take."""

    def __init__(self, node: dict[str, Any], error: BaseException) -> None:
        super().__init__(str(error))
        self.node, self.error = node, error


def main(request: dict[str, Any], write: Callable[[dict[str, Any]], None]) -> None:
    import torch_xla
    import torch_xla.debug.metrics as met

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    device = torch_xla.device()
    graph = calls.Graph(request["graph"], request["values"])
    with torch.no_grad():
        inputs = {name: value.to(device) for name, value in graph.inputs()}
        torch_xla.sync(wait=True)
        write({"phase": "lowering", "peak": _peak()})
        try:
            outputs, found = _traced(graph, inputs, torch_xla, met)
        except _NotLoweredError as error:
            write(
                {
                    "failed": {
                        "node": error.node["name"],
                        "operator": error.node["operator"],
                        "error": calls.first_line(error.error),
                    }
                }
            )
            return
        if request["hlo"] and not found["cuts"]:
            _write(outputs, torch_xla, Path(request["hlo"]))
        write({"lowered": {**found, "peak": _peak()}})
        if not request["run"]:
            return
        write({"phase": "compile"})
        write({"compiled": {**_executed(outputs, torch_xla, met), "peak": _peak()}})
        del outputs
        again, _ = _traced(graph, inputs, torch_xla, met)
        second = _executed(again, torch_xla, met)
        write({"again": {**second, "peak": _peak()}})


def _traced(
    graph: calls.Graph, inputs: dict[str, torch.Tensor], torch_xla: Any, met: Any
) -> tuple[list[torch.Tensor], dict[str, Any]]:
    """The results, pending, and what is known of their HLO."""
    torch.manual_seed(0)
    device = torch_xla.device()
    met.clear_all()
    began = time.monotonic()
    known: dict[str, Any] = {name: value.clone() for name, value in inputs.items()}
    cuts: list[dict[str, Any]] = []
    seen: Counter[str] = Counter()
    for position, node in enumerate(graph.nodes):
        try:
            args = calls.resolved(node.get("args", []), known, device, graph)
            kwargs = {
                k: calls.resolved(v, known, device, graph)
                for k, v in node.get("kwargs", {}).items()
            }
            known[node["name"]] = result = calls.function(node["operator"])(*args, **kwargs)
        except Exception as error:
            raise _NotLoweredError(node, error) from error
        graph.learn(node, result)
        now = Counter({n: int(met.counter_value(n)) for n in metrics.fallbacks(met)})
        new = sorted(n.removeprefix("aten::") for n in now - seen)
        seen = now
        if new:
            cuts.append({"node": node["name"], "operator": node["operator"], "because": new})
        for name in graph.ending.get(position, ()):
            known.pop(name, None)
    outputs = calls.results(graph, known, device)
    found: dict[str, Any] = {
        "cuts": cuts,
        "executed": int(met.counter_value("ExecuteComputation") or 0),
    }
    if outputs and not cuts:
        counted = Counter(hlo.counted(torch_xla._XLAC._get_xla_tensors_hlo(outputs)))
        found["opcodes"] = dict(counted.most_common(_TOKENS))
        found["instructions"] = sum(counted.values())
    # what was compiled on the way, for a cut, is not lowering
    on_the_way = metrics.samples(met, "CompileTime")[1]
    found["seconds"] = time.monotonic() - began - on_the_way
    return outputs, found


def _write(outputs: list[torch.Tensor], torch_xla: Any, file: Path) -> None:
    file.write_bytes(torch_xla._XLAC._get_xla_tensors_hlo_proto(outputs))


def _executed(outputs: list[torch.Tensor], torch_xla: Any, met: Any) -> dict[str, Any]:
    """Compiles what is pending, runs it and brings the results to the host."""
    began = time.monotonic()
    before = metrics.samples(met, "CompileTime")[1]
    torch_xla.sync(wait=True)
    finite = all(
        bool(torch.isfinite(value).all())
        for value in (o.cpu() for o in tree_leaves(outputs))
        if value.is_floating_point()
    )
    took = time.monotonic() - began
    compiled, seconds = metrics.samples(met, "CompileTime")
    return {
        "compiled": compiled,
        "compile": seconds,
        "run": max(took - (seconds - before), 0.0),
        "executed": int(met.counter_value("ExecuteComputation") or 0),
        "finite": finite,
    }


def _peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
