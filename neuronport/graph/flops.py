"""Operations of one node: multiply-adds of matrix products count as two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from neuronport.graph.record import Node, Tensor

Shape = tuple[int, ...]
Tensors = Mapping[tuple[str, int], Tensor]


class Unknown(Exception):  # noqa: N818 - a way out, not a fault
    """A size is symbolic or missing."""


def matrix_flops(node: Node, tensors: Tensors) -> int | None:
    """Operations that matrix engines do for a node; ``None``: its sizes are not known."""
    base = node.operator.partition(".")[0].removeprefix("aten::")
    count = _COUNTS.get(base)
    if count is None:
        return 0
    try:
        return count(node, tensors)
    except Unknown:
        return None


def other_operations(node: Node) -> int | None:
    """One for each element of the result: what everything that is no matrix product costs at
    least."""
    total = 0
    for tensor in node.outputs:
        if tensor is None:
            continue
        count = tensor.numel
        if count is None:
            return None
        total += count
    return total


def _shape(node: Node, position: int, tensors: Tensors) -> Shape:
    if position >= len(node.args):
        raise Unknown
    return _of(node.args[position], tensors)


def _of(value: Any, tensors: Tensors) -> Shape:
    if not isinstance(value, dict) or "ref" not in value:
        raise Unknown
    tensor = tensors.get((value["ref"], int(value.get("index", 0))))
    if tensor is None:
        raise Unknown
    sizes = tuple(s for s in tensor.shape if isinstance(s, int))
    if len(sizes) != len(tensor.shape):
        raise Unknown
    return sizes


def _out(node: Node, index: int = 0) -> Shape:
    if index >= len(node.outputs):
        raise Unknown
    tensor = node.outputs[index]
    if tensor is None or tensor.numel is None:
        raise Unknown
    return tuple(int(s) for s in tensor.shape)


def _product(first: int) -> Callable[[Node, Tensors], int]:
    """``result = left @ right``; ``left`` is argument number ``first``."""

    def count(node: Node, tensors: Tensors) -> int:
        left = _shape(node, first, tensors)
        return 2 * prod(_out(node)) * (left[-1] if left else 1)

    return count


def _batched_add(node: Node, tensors: Tensors) -> int:
    left = _shape(node, 1, tensors)
    return 2 * prod(_out(node)) * left[-1]


def _convolution(node: Node, tensors: Tensors) -> int:
    """Every output element sums over a kernel and the input channels of its group."""
    data, weight = _shape(node, 0, tensors), _shape(node, 1, tensors)
    transposed = "transpose" in node.operator or (len(node.args) > 6 and node.args[6] is True)
    if transposed:  # every input element is spread over a kernel and the output channels
        return 2 * prod(data) * prod(weight[1:])
    return 2 * prod(_out(node)) * prod(weight[1:])


def _convolution_backward(node: Node, tensors: Tensors) -> int:
    gradient = _shape(node, 0, tensors)
    data, weight = _shape(node, 1, tensors), _shape(node, 2, tensors)
    transposed = len(node.args) > 7 and node.args[7] is True
    one = 2 * prod(data if transposed else gradient) * prod(weight[1:])
    wanted = sum(1 for t in node.outputs[:2] if t is not None)
    return one * wanted


def _attention(node: Node, tensors: Tensors) -> int:
    query, key = _shape(node, 0, tensors), _shape(node, 1, tensors)
    value = _shape(node, 2, tensors)
    rows = prod(query[:-1])
    return 2 * rows * key[-2] * (query[-1] + value[-1])


def _attention_backward(node: Node, tensors: Tensors) -> int:
    query, key = _shape(node, 1, tensors), _shape(node, 2, tensors)
    value = _shape(node, 3, tensors)
    rows = prod(query[:-1])
    # scores again, and the gradients of query, key, value and scores
    return 2 * rows * key[-2] * (3 * query[-1] + 2 * value[-1])


def _einsum(node: Node, tensors: Tensors) -> int:
    equation = node.args[0]
    if not isinstance(equation, str) or "." in equation:
        raise Unknown
    terms = equation.replace(" ", "").partition("->")[0].split(",")
    sizes: dict[str, int] = {}
    for term, value in zip(terms, node.args[1], strict=False):
        sizes.update(zip(term, _of(value, tensors), strict=False))
    return 2 * prod(sizes.values()) if len(terms) > 1 else 0


_COUNTS: Mapping[str, Callable[[Node, Tensors], int]] = {
    "mm": _product(0),
    "bmm": _product(0),
    "matmul": _product(0),
    "linear": _product(0),
    "mv": _product(0),
    "addmm": _product(1),
    "addmv": _product(1),
    "_grouped_mm": _product(0),
    "baddbmm": _batched_add,
    "addbmm": _batched_add,
    "einsum": _einsum,
    "convolution": _convolution,
    "conv1d": _convolution,
    "conv2d": _convolution,
    "conv3d": _convolution,
    "conv_transpose1d": _convolution,
    "conv_transpose2d": _convolution,
    "conv_transpose3d": _convolution,
    "convolution_backward": _convolution_backward,
    "scaled_dot_product_attention": _attention,
    "_scaled_dot_product_flash_attention": _attention,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    "_scaled_dot_product_efficient_attention": _attention,
    "_scaled_dot_product_fused_attention_overrideable": _attention,
    "_scaled_dot_product_flash_attention_backward": _attention_backward,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _attention_backward,
    "_scaled_dot_product_efficient_attention_backward": _attention_backward,
}
