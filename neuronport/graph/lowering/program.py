"""A captured graph as calls that any torch can make: for workers that run it elsewhere.

Operators have names, arguments are numbers, names and references, and what inputs hold is in a file
of raw bytes. Nothing here needs torch_xla.
"""

from __future__ import annotations

import builtins
import math
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

_LONGEST = 200


class UnknownValueError(Exception):
    """An argument that the record does not hold."""


class MissingError(Exception):
    """This torch has no such operator."""


class Graph:
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


def resolved(value: Any, known: dict[str, Any], device: torch.device, graph: Graph) -> Any:
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


def first_line(error: BaseException) -> str:
    text = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
    text = re.sub(r"(/[\w.+-]+){3,}", "<path>", text)
    return re.sub(r"\s+", " ", re.sub(r"0x[0-9a-f]+", "<address>", text))[:_LONGEST]


def results(graph: Graph, known: dict[str, Any], device: torch.device) -> list[torch.Tensor]:
    """What the graph returns, as far as it is on ``device``."""
    found: list[torch.Tensor] = []
    for output in graph.data["outputs"]:
        try:
            value = resolved(output, known, device, graph)
        except (UnknownValueError, IndexError, TypeError):
            continue
        found += [
            t
            for t in tree_leaves(value)
            if isinstance(t, torch.Tensor) and t.device.type == device.type
        ]
    return found
