"""Runs the calls of a graph on torch_xla. A worker: see ``neuronport/xla_environment``.

Rows: ``{"begin": CALL}`` before a call that was not run yet, ``{"call": CALL, "status": …}`` after
it, ``{"node": NAME, "call": CALL}`` for every node; then ``{"begin": "whole"}`` and of two runs of
the whole graph ``{"first": …}`` and ``{"second": …}``.
Calls that look alike (operator, dtypes, shapes, other arguments) are run on torch_xla once; on the
CPU each is run, for what follows needs its values.
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from neuronport.graph.lowering.program import (
    Graph,
    MissingError,
    UnknownValueError,
    first_line,
    function,
    made,
    on_host,
    resolved,
    results,
)
from neuronport.xla_environment import hlo, metrics

_PLAIN = (bool, int, float, str)
_TOKENS = 64
LAZY = ("lowered", "reads-back", "falls-back")
"""What torch_xla runs, if partly on the CPU."""
WHOLE = "whole"
"""What is begun when the calls are done."""


def main(request: dict[str, Any], write: Callable[[dict[str, Any]], None]) -> None:
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    graph = Graph(request["graph"], request["values"])
    with torch.no_grad():
        _Calls(graph, write, request["calls"]).run()
        write({"begin": WHOLE})
        if request["whole"]:
            _whole(graph, write)


# -- call by call -----------------------------------------------------------------------------------


class _Calls:
    def __init__(
        self, graph: Graph, write: Callable[[dict[str, Any]], None], known: dict[str, str]
    ) -> None:
        import torch_xla
        import torch_xla.debug.metrics as met

        self.graph, self.write, self.met = graph, write, met
        self.xla: Any = torch_xla
        self.device: torch.device = torch_xla.device()
        self.done = dict(known)

    def run(self) -> None:
        torch.manual_seed(0)
        cpu = torch.device("cpu")
        known: dict[str, Any] = dict(self.graph.inputs())
        for position, node in enumerate(self.graph.nodes):
            self._node(node, known, cpu)
            for name in self.graph.ending.get(position, ()):
                known.pop(name, None)

    def _node(self, node: dict[str, Any], known: dict[str, Any], cpu: torch.device) -> None:
        name = node["name"]
        try:
            args = resolved(node.get("args", []), known, cpu, self.graph)
            kwargs = {
                k: resolved(v, known, cpu, self.graph) for k, v in node.get("kwargs", {}).items()
            }
            called = function(node["operator"])
        except (UnknownValueError, MissingError, IndexError, TypeError, AttributeError) as error:
            status = "missing" if isinstance(error, MissingError) else "skipped"
            self.write({"node": name, "status": status, "error": first_line(error)})
            self.graph.on_the_host.add(name)
            known[name] = _like(node, self.graph)
            return
        if not on_host(node):
            call = _key(node["operator"], args, kwargs)
            self.write({"node": name, "call": call})
            if call not in self.done:
                self.write({"begin": call})
                row = self._measured(called, args, kwargs)
                self.done[call] = row["status"]
                self.write({"call": call, "operator": node["operator"], **row})
            if self.done[call] not in LAZY:
                self.graph.on_the_host.add(name)
        try:
            known[name] = called(*args, **kwargs)
            self.graph.learn(node, known[name])
        except Exception as error:
            self.write({"node": name, "status": "refused", "error": first_line(error)})
            self.graph.on_the_host.add(name)
            known[name] = _like(node, self.graph)

    def _measured(self, called: Any, args: Any, kwargs: Any) -> dict[str, Any]:
        args, kwargs = self._moved((args, kwargs))
        self.met.clear_counters()
        try:
            result = called(*args, **kwargs)
            names = metrics.fallbacks(self.met)
            lazy = [
                t
                for t in tree_leaves(result)
                if isinstance(t, torch.Tensor) and t.device.type == "xla"
            ]
            text = self.xla._XLAC._get_xla_tensors_hlo(lazy) if lazy else ""
        except Exception as error:
            names = metrics.fallbacks(self.met)
            return {"status": "raises", "error": first_line(error), "fallback": _short(names)}
        return {
            "status": metrics.status_of(names),
            "fallback": _short(names),
            "hlo": hlo.tokens(text),
        }

    def _moved(self, value: Any) -> Any:
        def one(item: Any) -> Any:
            if isinstance(item, torch.device):
                return self.device
            if not isinstance(item, torch.Tensor):
                return item
            return item.detach().clone(memory_format=torch.preserve_format).to(self.device)

        return tree_map(one, value)


def _like(node: dict[str, Any], graph: Graph) -> Any:
    """What stands for the result of a node that could not be run."""
    outputs = [
        made(o, 0, graph.size) if isinstance(o, dict) and "shape" in o else None
        for o in node.get("outputs", ())
    ]
    return outputs[0] if len(outputs) == 1 else outputs


def _key(name: str, args: Any, kwargs: Any) -> str:
    text = json.dumps([name, _described(args), _described(kwargs)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _described(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return ["tensor", str(value.dtype), list(value.shape), list(value.stride())]
    if isinstance(value, (list, tuple)):
        return [_described(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _described(v) for k, v in value.items()}
    return value if value is None or isinstance(value, _PLAIN) else str(value)


def _short(names: list[str]) -> list[str]:
    return [n.removeprefix("aten::") for n in names]


# -- all together -----------------------------------------------------------------------------------


def _whole(graph: Graph, write: Callable[[dict[str, Any]], None]) -> None:
    """The graph as lazy tensors run it, twice: where it is cut, what is compiled, what differs."""
    import torch_xla
    import torch_xla.debug.metrics as met

    device = torch_xla.device()
    inputs = {name: value.to(device) for name, value in graph.inputs()}
    torch_xla.sync(wait=True)
    first = _pass(graph, inputs, torch_xla, met, text=True)
    write({"first": first})
    second = _pass(graph, inputs, torch_xla, met)
    write({"second": second})


def _pass(
    graph: Graph,
    inputs: dict[str, torch.Tensor],
    torch_xla: Any,
    met: Any,
    text: bool = False,
) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch_xla.device()
    met.clear_all()
    began = time.monotonic()
    known: dict[str, Any] = {k: v.clone() for k, v in inputs.items()}
    cuts: list[dict[str, Any]] = []
    executed = 0
    for position, node in enumerate(graph.nodes):
        before = dict.fromkeys(metrics.fallbacks(met), 0)
        for name in before:
            before[name] = met.counter_value(name)
        _lazily(graph, node, known, device)
        count = met.counter_value("ExecuteComputation") or 0
        if count > executed:
            cuts.append(
                {
                    "node": node["name"],
                    "operator": node["operator"],
                    "because": _short(
                        [
                            n
                            for n in metrics.fallbacks(met)
                            if met.counter_value(n) > before.get(n, 0)
                        ]
                    ),
                }
            )
            executed = count
        for name in graph.ending.get(position, ()):
            known.pop(name, None)
    outputs = results(graph, known, device)
    found: dict[str, Any] = {"cuts": cuts}
    if text and outputs:
        counted = Counter(hlo.counted(torch_xla._XLAC._get_xla_tensors_hlo(outputs)))
        found["hlo"] = dict(counted.most_common(_TOKENS))
        found["instructions"] = sum(counted.values())
    known.clear()
    torch_xla.sync(wait=True)
    found["seconds"] = round(time.monotonic() - began, 4)
    found["compiled"], found["compile_seconds"] = metrics.samples(met, "CompileTime")
    found["executed"] = met.counter_value("ExecuteComputation") or 0
    found["execute_seconds"] = metrics.samples(met, "ExecuteTime")[1]
    found["fallbacks"] = {
        n.removeprefix("aten::"): int(met.counter_value(n)) for n in metrics.fallbacks(met)
    }
    found["finite"] = all(
        bool(torch.isfinite(o.cpu()).all()) for o in outputs if o.is_floating_point()
    )
    return found


def _lazily(
    graph: Graph,
    node: dict[str, Any],
    known: dict[str, Any],
    device: torch.device,
) -> None:
    name = node["name"]
    cpu = torch.device("cpu")
    host = name in graph.on_the_host and not on_host(node)
    try:
        where = cpu if host else device
        args = resolved(node.get("args", []), known, where, graph)
        kwargs = {k: resolved(v, known, where, graph) for k, v in node.get("kwargs", {}).items()}
        called = function(node["operator"])
        if host:
            args, kwargs = tree_map(
                lambda v: v.cpu() if isinstance(v, torch.Tensor) else v, (args, kwargs)
            )
        result = called(*args, **kwargs)
        if host:
            result = tree_map(lambda v: v.to(device) if isinstance(v, torch.Tensor) else v, result)
    except Exception:  # what the calls have shown already; its result is made up
        result = tree_map(
            lambda v: v.to(device) if isinstance(v, torch.Tensor) else v, _like(node, graph)
        )
    known[name] = result
    graph.learn(node, result)
