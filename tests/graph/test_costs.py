"""Costs against what can be counted by hand, on records that no torch is needed for."""

from __future__ import annotations

import pytest

from neuronport.graph.chips import chips
from neuronport.graph.costs import of_graph, peak
from neuronport.graph.flops import matrix_flops
from neuronport.graph.partitions import partition
from neuronport.graph.record import Graph, Input, Node, Tensor, item_size
from neuronport.graph.shapes import Range, RangeError, parse
from neuronport.graph.verdicts import Judge
from neuronport.targets import paths, resolve


def tensor(*shape: int, dtype: str = "float32") -> Tensor:
    return Tensor(dtype, shape, True)


def ref(name: str, index: int = 0) -> dict[str, object]:
    return {"ref": name, "index": index}


def node(name: str, operator: str, args: tuple[object, ...], *outputs: Tensor) -> Node:
    return Node(name, operator, args, {}, outputs)


def graph(inputs: dict[str, Tensor], *nodes: Node, out: str = "") -> Graph:
    return Graph(
        "forward",
        "inference",
        "export",
        "",
        tuple(Input(n, "input", "", t) for n, t in inputs.items()),
        nodes,
        (ref(out or nodes[-1].name),),
    )


@pytest.mark.parametrize(
    ("operator", "args", "inputs", "output", "flops"),
    [
        ("aten::mm", ("a", "b"), [(3, 4), (4, 5)], (3, 5), 2 * 3 * 4 * 5),
        ("aten::addmm", ("a", "b", "c"), [(5,), (3, 4), (4, 5)], (3, 5), 2 * 3 * 4 * 5),
        ("aten::bmm", ("a", "b"), [(2, 3, 4), (2, 4, 5)], (2, 3, 5), 2 * 2 * 3 * 4 * 5),
        ("aten::linear", ("a", "b"), [(7, 4), (6, 4)], (7, 6), 2 * 7 * 4 * 6),
        ("aten::relu", ("a",), [(3, 4)], (3, 4), 0),
        (
            "aten::conv2d",
            ("a", "b"),
            [(1, 3, 8, 8), (6, 3, 3, 3)],
            (1, 6, 6, 6),
            2 * 6 * 6 * 6 * 3 * 9,
        ),
        (
            "aten::scaled_dot_product_attention",
            ("a", "b", "c"),
            [(1, 2, 5, 8), (1, 2, 7, 8), (1, 2, 7, 8)],
            (1, 2, 5, 8),
            2 * (2 * 5 * 7 * 8) * 2,
        ),
    ],
)
def test_matrix_flops(
    operator: str,
    args: tuple[str, ...],
    inputs: list[tuple[int, ...]],
    output: tuple[int, ...],
    flops: int,
) -> None:
    tensors = {(name, 0): tensor(*shape) for name, shape in zip(args, inputs, strict=True)}
    one = node("x", operator, tuple(ref(a) for a in args), tensor(*output))
    assert matrix_flops(one, tensors) == flops


def test_symbolic_sizes_are_not_guessed() -> None:
    one = Node("x", "aten::mm", (ref("a"), ref("b")), {}, (Tensor("float32", ("u0", 4)),))
    tensors = {("a", 0): Tensor("float32", ("u0", 3)), ("b", 0): tensor(3, 4)}
    assert matrix_flops(one, tensors) is None


def test_peak_frees_what_nothing_needs() -> None:
    kilo = tensor(256)  # 1024 bytes
    chain = graph(
        {"a": kilo},
        node("b", "aten::relu", (ref("a"),), kilo),
        node("c", "aten::view", (ref("b"), [256]), kilo),
        node("d", "aten::relu", (ref("c"),), kilo),
        node("e", "aten::relu", (ref("d"),), kilo),
    )
    assert peak(chain) == 2 * 1024
    kept = graph(
        {"a": kilo},
        node("b", "aten::relu", (ref("a"),), kilo),
        node("c", "aten::relu", (ref("b"),), kilo),
        node("d", "aten::relu", (ref("c"),), kilo),
        node("e", "aten::add.Tensor", (ref("b"), ref("d")), kilo),
    )
    assert peak(kept) == 3 * 1024


def test_bytes_and_dtypes() -> None:
    cost = of_graph(
        graph(
            {"a": tensor(2, 3), "b": tensor(3, 4)},
            node("c", "aten::mm", (ref("a"), ref("b")), tensor(2, 4)),
            node("d", "aten::_to_copy", (ref("c"),), Tensor("float64", (2, 4), True)),
        )
    )
    assert cost.matrix_flops == 2 * 2 * 3 * 4
    assert cost.read_once == 4 * (6 + 12) + 8 * 8
    assert cost.risks == {"float64": 1}


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("bool", 1),
        ("bfloat16", 2),
        ("float8_e4m3fn", 1),
        ("int64", 8),
        ("complex64", 8),
        ("uint8", 1),
    ],
)
def test_item_size(dtype: str, size: int) -> None:
    assert item_size(dtype) == size


def test_crossings_and_regions() -> None:
    t = tensor(4, 4)
    one = graph(
        {"a": t},
        node("b", "aten::relu", (ref("a"),), t),
        node("s", "aten::sort.stable", (ref("b"),), t, tensor(4, 4, dtype="int64")),
        node("c", "aten::relu", (ref("s"),), t),
        node("d", "aten::add.Tensor", (ref("c"), ref("s", 1)), t),
    )
    native = resolve("native")
    found = partition(one, Judge([native]).graph(one), native)
    assert (found.device_regions, found.host_regions) == (2, 1)
    assert found.crossings == 3
    assert found.bytes == 64 + 64 + 128
    assert found.replacements[0].crossings_removed == 3


def test_buckets_are_fewer_and_hold_every_size() -> None:
    given = parse("sequence=1..2048")
    assert given.sizes == 2048
    assert given.buckets() == [2**n for n in range(12)]
    for size in (1, 2, 3, 1000, 1025, 2048):
        assert min(b for b in given.buckets() if b >= size) < 2 * size
    assert 0 < given.padding < 0.5
    assert parse("batch=3..3").buckets() == [3]
    assert parse("x=1..32/4").sizes == 8
    assert Range("x", 5, 100).buckets() == [8, 16, 32, 64, 100]


@pytest.mark.parametrize("text", ["sequence", "s=0..4", "s=5..2", "s=1-4", "1..4"])
def test_ranges_that_are_none(text: str) -> None:
    with pytest.raises(RangeError):
        parse(text)


def test_every_chip_of_a_path_has_its_limits() -> None:
    known = chips()
    for path in paths().values():
        for chip in path.chips:
            assert chip in known
    assert known["trn2"].memory_per_core == 24 << 30
    assert known["inf2"].memory_per_core == 16 << 30
    assert all(chip.evidence and chip.flops["bfloat16"] > 0 for chip in known.values())
