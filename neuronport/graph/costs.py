"""What a graph costs: bytes, operations, what fits where, bounds on time.

Every figure says what it is: counted on the graph, or a bound computed from the chip's data sheet.
None is a prediction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuronport.graph.chips import Chip, chips
from neuronport.graph.flops import matrix_flops, other_operations
from neuronport.graph.record import Graph, Node, Record, item_size
from neuronport.targets import Target

_VIEWS = frozenset(
    [
        "view",
        "_unsafe_view",
        "reshape",
        "expand",
        "expand_as",
        "permute",
        "transpose",
        "t",
        "squeeze",
        "unsqueeze",
        "slice",
        "select",
        "split",
        "split_with_sizes",
        "chunk",
        "unbind",
        "narrow",
        "as_strided",
        "alias",
        "detach",
        "diagonal",
        "unfold",
        "view_as",
        "flatten",
        "unflatten",
        "movedim",
        "swapaxes",
        "numpy_T",
        "mT",
        "lift_fresh",
        "contiguous_view",
        "real",
        "imag",
        "view_as_real",
        "view_as_complex",
    ]
)
_RISKS = ("float64", "complex128", "complex64", "complex32", "int64", "uint64")
_PER_PARAMETER = 8
"""Bytes of AdamW's two moments in float32."""


@dataclass(frozen=True, slots=True)
class GraphCost:
    graph: str
    mode: str
    nodes: int
    operators: int
    """Different ones."""
    matrix_flops: int
    other_operations: int
    not_counted: int
    """Nodes whose sizes are symbolic."""
    read_once: int
    """Bytes of everything that must be read or written at least once: inputs, parameters, outputs."""
    moved: int
    """Bytes when every operator reads its inputs and writes its outputs: nothing fused."""
    peak: int
    """The most bytes of intermediate tensors alive at once, freed when nothing needs them."""
    cache: int
    """Bytes of the KV cache among the inputs or, after a prefill, the outputs."""
    constants: int
    constant_bytes: int
    dtypes: Mapping[str, int]
    """Dtype → tensors that operators make."""
    symbols: tuple[str, ...]
    by_dtype: Mapping[str, int]
    """Matrix operations by the dtype of their result."""

    @property
    def intensity(self) -> float:
        """Operations for each byte that must be moved at least."""
        return (self.matrix_flops + self.other_operations) / max(self.read_once, 1)

    @property
    def risks(self) -> dict[str, int]:
        return {d: self.dtypes[d] for d in _RISKS if d in self.dtypes}

    def as_json(self) -> dict[str, Any]:
        return {
            "graph": self.graph,
            "mode": self.mode,
            "nodes": self.nodes,
            "operators": self.operators,
            "matrix_flops": self.matrix_flops,
            "other_operations": self.other_operations,
            "nodes_not_counted": self.not_counted,
            "bytes_at_least": self.read_once,
            "bytes_unfused": self.moved,
            "peak_intermediate_bytes": self.peak,
            "cache_bytes": self.cache,
            "constants": self.constants,
            "constant_bytes": self.constant_bytes,
            "dtypes": dict(self.dtypes),
            "dtype_risks": self.risks,
            "symbols": list(self.symbols),
            "arithmetic_intensity": round(self.intensity, 3),
        }


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a model fits on a chip's cores, and in how many parts at least."""

    chip: Chip
    graph: str
    mode: str
    """``inference`` or ``training``."""
    degree: int | None
    """The smallest allowed number of parts whose share fits a core; ``None``: none does."""
    stated: bool
    """Whether the chip's degrees are stated anywhere; if not, any power of two is tried."""
    need: int
    """Bytes in all: parameters, cache, gradients and optimizer when training, peak."""
    bound: float
    """Seconds at least, on one chip, by operations and bytes."""
    bound_by: str
    """``compute`` or ``memory``."""

    def as_json(self) -> dict[str, Any]:
        return {
            "chip": self.chip.name,
            "graph": self.graph,
            "memory_per_core": self.chip.memory_per_core,
            "need_bytes": self.need,
            "least_degree": self.degree,
            "degrees": list(self.chip.tensor_parallel),
            "degrees_stated": self.stated,
            "roofline_bound_seconds": self.bound,
            "bound_by": self.bound_by,
            "is": "a lower bound computed from the data sheet, not a prediction",
        }


def of_graph(graph: Graph) -> GraphCost:
    tensors = graph.tensors()
    matrix = other = unknown = moved = 0
    dtypes: Counter[str] = Counter()
    by_dtype: Counter[str] = Counter()
    symbols: dict[str, None] = {}
    for node in graph.nodes:
        symbols.update(dict.fromkeys(node.symbols))
        if node.symbolic:
            continue
        for tensor in node.outputs:
            if tensor is not None:
                dtypes[tensor.dtype] += 1
        if is_view(node):
            continue
        count = matrix_flops(node, tensors)
        if count is None:
            unknown += 1
        elif count:
            matrix += count
            first = next((t for t in node.outputs if t is not None), None)
            by_dtype[first.dtype if first else "float32"] += count
        else:
            elements = other_operations(node)
            if elements is None:
                unknown += 1
            else:
                other += elements
        read = {key for key in node.references() if key in tensors}
        moved += sum(tensors[key].bytes or 0 for key in read)
        moved += sum(t.bytes or 0 for t in node.outputs if t is not None)
    inputs = sum(i.tensor.bytes or 0 for i in graph.inputs)
    outputs = sum(
        tensors[key].bytes or 0
        for key in _output_references(graph)
        if key in tensors and key[0] not in {i.name for i in graph.inputs}
    )
    constants = [i for i in graph.inputs if i.kind == "constant" and i.tensor.numel != 0]
    cache = sum(i.tensor.bytes or 0 for i in graph.inputs if i.kind == "cache")
    if not cache and graph.name == "prefill":
        cache = sum(
            tensors[key].bytes or 0
            for key in _output_references(graph)
            if key in tensors and len(tensors[key].shape) == 4
        )
    return GraphCost(
        graph.title,
        graph.mode,
        sum(1 for n in graph.nodes if not n.symbolic),
        len({n.operator for n in graph.nodes if not n.symbolic}),
        matrix,
        other,
        unknown,
        inputs + outputs,
        moved,
        peak(graph),
        cache,
        len(constants),
        sum(i.tensor.bytes or 0 for i in constants),
        dict(sorted(dtypes.items())),
        tuple(symbols),
        dict(by_dtype),
    )


def is_view(node: Node) -> bool:
    """Whether a node only looks at its input in another way: nothing is computed or moved."""
    return node.operator.partition(".")[0].removeprefix("aten::") in _VIEWS


def _output_references(graph: Graph) -> set[tuple[str, int]]:
    found: set[tuple[str, int]] = set()
    for output in graph.outputs:
        if isinstance(output, dict) and "ref" in output:
            found.add((output["ref"], int(output.get("index", 0))))
    return found


def peak(graph: Graph) -> int:
    """The most bytes of intermediates alive at once, in the order of the graph.

    A view, and what an operator changes in place, keeps the storage of what it comes from.
    """
    owner: dict[tuple[str, int], tuple[str, int]] = {}
    size: dict[tuple[str, int], int] = {}
    last: dict[tuple[str, int], int] = {}

    def root(key: tuple[str, int]) -> tuple[str, int]:
        while key in owner:
            key = owner[key]
        return key

    for position, node in enumerate(graph.nodes):
        references = list(node.references())
        for key in references:
            last[root(key)] = position
        shares = references and (is_view(node) or _in_place(node))
        for index, tensor in enumerate(node.outputs):
            if tensor is None:
                continue
            key = (node.name, index)
            if shares:
                owner[key] = root(references[0])
            else:
                size[key] = tensor.bytes or 0
                last.setdefault(key, position)
    for key in _output_references(graph):
        last[root(key)] = len(graph.nodes)
    ends: dict[int, list[tuple[str, int]]] = {}
    for key, position in last.items():
        ends.setdefault(position, []).append(key)
    alive = most = 0
    for position, node in enumerate(graph.nodes):
        alive += sum(size.get((node.name, i), 0) for i in range(len(node.outputs)))
        most = max(most, alive)
        alive -= sum(size.get(key, 0) for key in ends.get(position, ()))
    return most


def _in_place(node: Node) -> bool:
    base = node.operator.partition(".")[0]
    return base.endswith("_") and not base.endswith("__")


# -- the model --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelCost:
    parameters: int
    trainable: int
    parameter_bytes: Mapping[str, int]
    """Dtype → bytes as they are; ``bfloat16`` … as they would be under ``as_if``."""
    buffer_bytes: int
    as_if: Mapping[str, int]
    """Bytes of all floating-point parameters if they were of that dtype."""

    @property
    def bytes(self) -> int:
        return sum(self.parameter_bytes.values())

    def as_json(self) -> dict[str, Any]:
        return {
            "parameters": self.parameters,
            "trainable": self.trainable,
            "parameter_bytes": dict(self.parameter_bytes),
            "buffer_bytes": self.buffer_bytes,
            "bytes_if": dict(self.as_if),
        }


def of_model(record: Record) -> ModelCost:
    by_dtype: Counter[str] = Counter()
    count = trainable = floating = other = 0
    for parameter in record.parameters:
        numel = parameter.tensor.numel or 0
        count += numel
        trainable += numel if parameter.trainable else 0
        by_dtype[parameter.tensor.dtype] += parameter.tensor.bytes or 0
        if parameter.tensor.dtype.startswith(("float", "bfloat")):
            floating += numel
        else:
            other += parameter.tensor.bytes or 0
    return ModelCost(
        count,
        trainable,
        dict(by_dtype),
        sum(b.tensor.bytes or 0 for b in record.buffers),
        {d: floating * item_size(d) + other for d in ("float32", "bfloat16", "float8_e4m3")},
    )


def fits(model: ModelCost, costs: Sequence[GraphCost], targets: Sequence[Target]) -> list[Fit]:
    """What each graph needs on each chip of the targets."""
    known = chips()
    names = list(dict.fromkeys(c for t in targets for c in t.chips))
    return [
        _fit(known[name], model, cost)
        for cost in costs
        if " of " not in cost.graph  # of a part nothing follows for the whole
        for name in names
        if name in known
    ]


def _fit(chip: Chip, model: ModelCost, cost: GraphCost) -> Fit:
    need = model.bytes + model.buffer_bytes + cost.cache + cost.peak
    if cost.mode == "training":
        need += model.bytes + model.trainable * _PER_PARAMETER
    degrees = chip.tensor_parallel or tuple(2**n for n in range(8))
    degree = next((d for d in degrees if need / d <= chip.memory_per_core), None)
    compute = sum(
        flops / chip.flops.get(dtype, chip.flops["float32"])
        for dtype, flops in cost.by_dtype.items()
    )
    memory = cost.read_once / chip.bandwidth
    return Fit(
        chip,
        cost.graph,
        cost.mode,
        degree,
        bool(chip.tensor_parallel),
        need,
        max(compute, memory),
        "compute" if compute >= memory else "memory",
    )
