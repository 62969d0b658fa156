"""Runs the calls of a graph on torch_xla. A worker: see ``neuronport/xla_environment``.

Rows: ``{"begin": CALL}`` before a call that was not run yet, ``{"call": CALL, "status": …}`` after
it, ``{"node": NAME, "call": CALL}`` for every node; then ``{"begin": "whole"}`` and of two runs of
the whole graph ``{"first": …}`` and ``{"second": …}``.
Calls that look alike (operator, dtypes, shapes, other arguments) are run on torch_xla once; on the
CPU each is run, for what follows needs its values.
"""

from __future__ import annotations

import builtins
import hashlib
import json
import math
import operator
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from neuronport.xla_environment import hlo, metrics

_LONGEST = 200
_PLAIN = (bool, int, float, str)
_TOKENS = 64
LAZY = ("lowered", "reads-back", "falls-back")
"""What torch_xla runs, if partly on the CPU."""
WHOLE = "whole"
"""What is begun when the calls are done."""


class UnknownValueError(Exception):
    """An argument that the record does not hold."""


class MissingError(Exception):
    """This torch has no such operator."""


def main(request: dict[str, Any], write: Callable[[dict[str, Any]], None]) -> None:
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    graph = _Graph(request["graph"], request["values"])
    with torch.no_grad():
        _Calls(graph, write, request["calls"]).run()
        write({"begin": WHOLE})
        _whole(graph, write)


# -- the graph --------------------------------------------------------------------------------------


class _Graph:
    """Nodes, and what its inputs hold."""

    def __init__(self, data: dict[str, Any], values: str) -> None:
        self.data = data
        self.nodes: list[dict[str, Any]] = data["nodes"]
        self.values = values
        last: dict[str, int] = {}
        for position, node in enumerate(self.nodes):
            for name in _names((node.get("args", ()), node.get("kwargs", {}))):
                last[name] = position
        for name in _names(data["outputs"]):
            last[name] = len(self.nodes)
        self.symbols: dict[str, int] = {}
        """Sizes that depend on values, as far as calls have shown them."""
        self.on_the_host: set[str] = set()
        """Nodes that torch_xla cannot run: the CPU does, or their results are made up."""
        self.ending: dict[int, list[str]] = {}
        """Position → values that nothing needs after it."""
        for name, position in last.items():
            self.ending.setdefault(position, []).append(name)
        for position, node in enumerate(self.nodes):
            if node["name"] not in last:
                self.ending.setdefault(position, []).append(node["name"])

    def learn(self, node: dict[str, Any], result: Any) -> None:
        """The sizes that a result shows."""
        results = result if isinstance(result, (list, tuple)) else [result]
        for row, value in zip(node.get("outputs", ()), results, strict=False):
            if not isinstance(row, dict):
                continue
            if isinstance(value, torch.Tensor):
                for name, size in zip(row.get("shape", ()), value.shape, strict=False):
                    if isinstance(name, str) and name.isidentifier():
                        self.symbols[name] = int(size)
            elif isinstance(value, int) and str(row.get("symbol", "")).isidentifier():
                self.symbols[row["symbol"]] = int(value)

    def size(self, expression: str) -> Any:
        """What an expression of such sizes is here."""
        import sympy

        value = sympy.sympify(expression).subs(self.symbols)
        if value.free_symbols:
            raise UnknownValueError(f"{expression} is not known")
        return int(value) if value.is_integer else float(value)

    def inputs(self) -> Iterator[tuple[str, torch.Tensor]]:
        for number, row in enumerate(self.data["inputs"]):
            offset = row.get("offset")
            if offset is None:
                yield row["name"], made(row, number)
            else:
                yield row["name"], self._read(row, offset)

    def _read(self, row: dict[str, Any], offset: int) -> torch.Tensor:
        dtype = getattr(torch, row["dtype"])
        count = math.prod(row["shape"])
        if not count:
            return torch.empty(row["shape"], dtype=dtype)
        size = dtype.itemsize * count
        storage = torch.UntypedStorage.from_file(self.values, False, offset + size)
        whole = torch.empty(0, dtype=dtype)
        whole.set_(storage, offset // dtype.itemsize, tuple(row["shape"]))  # type: ignore[call-overload]
        return whole.clone()  # an operator that writes to it does not write to the file


def made(row: dict[str, Any], seed: int, sizes: Callable[[str], Any] | None = None) -> torch.Tensor:
    """A tensor like one of the record, with values from a seed."""
    dtype = getattr(torch, row["dtype"])
    size = [s if isinstance(s, int) else _size(s, sizes) for s in row["shape"]]
    generator = torch.Generator().manual_seed(seed)
    if dtype is torch.bool:
        return torch.rand(size, generator=generator) > 0.5
    if dtype.is_floating_point or dtype.is_complex:
        kind = torch.float32 if dtype.is_floating_point else dtype
        return (torch.randn(size, generator=generator, dtype=kind) * 0.02).to(dtype)
    return torch.zeros(size, dtype=dtype)  # a place in a table: there is always a first


def _size(name: str, sizes: Callable[[str], Any] | None) -> int:
    try:
        return int(sizes(name)) if sizes is not None else 2
    except UnknownValueError:
        return 2


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "ref" in value:
            yield str(value["ref"])
        else:
            for item in value.values():
                yield from _names(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _names(item)


def resolved(value: Any, known: dict[str, Any], device: torch.device, graph: _Graph) -> Any:
    """An argument of the record as a value."""
    if isinstance(value, list):
        return [resolved(item, known, device, graph) for item in value]
    if not isinstance(value, dict):
        return value
    if "ref" in value:
        if value["ref"] not in known:
            raise UnknownValueError(f"{value['ref']} is not known")
        found = known[value["ref"]]
        return found[value["index"]] if "index" in value else found
    if "dtype" in value:
        return getattr(torch, value["dtype"])
    if "device" in value:
        return device
    if "float" in value:
        return float(value["float"])
    if "complex" in value:
        return complex(*value["complex"])
    if "word" in value:
        return getattr(torch, value["word"])
    if "dict" in value:
        return {k: resolved(v, known, device, graph) for k, v in value["dict"].items()}
    if "symbol" in value:
        return graph.size(value["symbol"])
    raise UnknownValueError(f"an argument is a {value.get('other', 'thing')}")


def function(name: str) -> Any:
    """The operator of a node."""
    namespace, _, rest = name.partition("::")
    if namespace == "python":
        for module in (operator, math, builtins, torch):
            if hasattr(module, rest):
                return getattr(module, rest)
        raise MissingError(name)
    if namespace == "higher_order":
        raise UnknownValueError("an operator over graphs")
    base, _, overload = rest.partition(".")
    try:
        return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")
    except (AttributeError, RuntimeError):
        raise MissingError(name) from None


def on_host(node: dict[str, Any]) -> bool:
    """Arithmetic on sizes."""
    return bool(node.get("symbolic")) or node["operator"].startswith("python::")


# -- call by call -----------------------------------------------------------------------------------


class _Calls:
    def __init__(
        self, graph: _Graph, write: Callable[[dict[str, Any]], None], known: dict[str, str]
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


def _like(node: dict[str, Any], graph: _Graph) -> Any:
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


def first_line(error: BaseException) -> str:
    text = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
    text = re.sub(r"(/[\w.+-]+){3,}", "<path>", text)
    return re.sub(r"\s+", " ", re.sub(r"0x[0-9a-f]+", "<address>", text))[:_LONGEST]


# -- all together -----------------------------------------------------------------------------------


def _whole(graph: _Graph, write: Callable[[dict[str, Any]], None]) -> None:
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
    graph: _Graph,
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
    outputs = _results(graph, known, device)
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


def _results(graph: _Graph, known: dict[str, Any], device: torch.device) -> list[torch.Tensor]:
    """What the graph returns, as far as it is on the device."""
    found: list[torch.Tensor] = []
    for output in graph.data["outputs"]:
        try:
            value = resolved(output, known, device, graph)
        except (UnknownValueError, IndexError, TypeError):
            continue
        found += [
            t for t in tree_leaves(value) if isinstance(t, torch.Tensor) and t.device.type == "xla"
        ]
    return found


def _lazily(
    graph: _Graph,
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
