"""How many graphs given inputs make, and the buckets that make fewer.

A compiled graph has fixed shapes: every combination of sizes that occurs is a graph of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log2, prod
from typing import Any

from neuronport.graph.record import Graph, Record

_RANGE = re.compile(r"^(?P<name>[A-Za-z_]\w*)=(?P<low>\d+)\.\.(?P<high>\d+)(?:/(?P<step>\d+))?$")


class RangeError(ValueError):
    """A range that is not written ``NAME=LOW..HIGH`` or ``NAME=LOW..HIGH/STEP``."""


@dataclass(frozen=True, slots=True)
class Range:
    """Sizes that a dimension takes: a batch, a length of sequence."""

    name: str
    low: int
    high: int
    step: int = 1

    @property
    def sizes(self) -> int:
        return (self.high - self.low) // self.step + 1

    def buckets(self) -> list[int]:
        """Powers of two, and the largest size itself: at most half of a bucket is padding."""
        first = max(self.low, 1)
        powers = [2**n for n in range(ceil(log2(first)), ceil(log2(self.high)))]
        return sorted({*(p for p in powers if self.low <= p < self.high), self.high})

    @property
    def padding(self) -> float:
        """The share of work that is padding, were every size as frequent as any other."""
        sizes = range(self.low, self.high + 1, self.step)
        buckets = self.buckets()
        used = padded = 0
        position = 0
        for size in sizes:
            while buckets[position] < size:
                position += 1
            used += size
            padded += buckets[position]
        return 1 - used / padded if padded else 0.0


def parse(text: str) -> Range:
    """``sequence=1..2048`` or ``batch=1..32/4``.

    Raises RangeError.
    """
    match = _RANGE.match(text.replace(" ", ""))
    if match is None:
        raise RangeError(f"{text!r}: write NAME=LOW..HIGH or NAME=LOW..HIGH/STEP")
    low, high = int(match["low"]), int(match["high"])
    step = int(match["step"] or 1)
    if low < 1 or high < low or step < 1:
        raise RangeError(f"{text!r}: from at least 1 upwards")
    return Range(match["name"], low, high, step)


@dataclass(frozen=True, slots=True)
class GraphCount:
    """Distinct graphs, as captured and as ranges would make."""

    captured: int
    """Different combinations of input shapes and dtypes among the captured graphs."""
    unbounded: int
    """Sizes that depend on values: each may make any number of graphs."""
    growing: tuple[str, ...] = ()
    """Graphs whose cache leaves larger than it came in: each step is a new graph."""
    ranges: tuple[Range, ...] = ()

    @property
    def without_buckets(self) -> int:
        return prod((r.sizes for r in self.ranges), start=1)

    @property
    def with_buckets(self) -> int:
        return prod((len(r.buckets()) for r in self.ranges), start=1)

    def as_json(self) -> dict[str, Any]:
        return {
            "captured": self.captured,
            "sizes_that_depend_on_values": self.unbounded,
            "cache_grows_in": list(self.growing),
            "ranges": [
                {
                    "name": r.name,
                    "low": r.low,
                    "high": r.high,
                    "step": r.step,
                    "sizes": r.sizes,
                    "buckets": r.buckets(),
                    "padding": round(r.padding, 4),
                    "padding_is": "computed, every size as frequent as any other",
                }
                for r in self.ranges
            ],
            "graphs_without_buckets": self.without_buckets if self.ranges else None,
            "graphs_with_buckets": self.with_buckets if self.ranges else None,
        }


def count(record: Record, ranges: Sequence[Range]) -> GraphCount:
    signatures = {
        (
            graph.mode,
            graph.module,
            tuple(
                (i.tensor.dtype, i.tensor.shape)
                for i in graph.inputs
                if i.kind in ("input", "cache")
            ),
        )
        for graph in record.graphs
    }
    symbols = {
        (graph.title, symbol)
        for graph in record.graphs
        for node in graph.nodes
        for tensor in node.outputs
        if tensor is not None
        for size in tensor.shape
        if isinstance(size, str)
        for symbol in re.findall(r"\bu\d+\b", size)
    }
    growing = tuple(graph.title for graph in record.graphs if _grows(graph))
    return GraphCount(len(signatures), len(symbols), growing, tuple(ranges))


def _grows(graph: Graph) -> bool:
    """Whether what goes in as a cache comes out with one size larger."""
    tensors = graph.tensors()
    caches = {i.tensor.shape for i in graph.inputs if i.kind == "cache"}
    for output in graph.outputs:
        if not isinstance(output, dict) or "ref" not in output:
            continue
        tensor = tensors.get((output["ref"], int(output.get("index", 0))))
        if tensor is None:
            continue
        for shape in caches:
            pairs = list(zip(shape, tensor.shape, strict=False))
            larger = [
                (a, b) for a, b in pairs if isinstance(a, int) and isinstance(b, int) and a < b
            ]
            same = [p for p in pairs if p[0] == p[1]]
            if len(shape) == len(tensor.shape) == len(larger) + len(same) and len(larger) == 1:
                return True
    return False
