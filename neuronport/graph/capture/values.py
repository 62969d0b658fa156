"""What tensors hold, written to a file: for those who run the graph's calls again.

A model that was traced without storage is built once more on the CPU for this.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree

from neuronport.graph.capture import ladder

_ALIGNED = 64
LARGEST = 4 << 30
"""Bytes of parameters and buffers beyond which nothing is written."""


class Store:
    """Tensors one after the other in a file; each once."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._size = 0
        self._kept: dict[int, tuple[int, torch.Tensor]] = {}
        with open(file, "wb"):
            pass

    def add(self, value: torch.Tensor) -> int | None:
        """Where it begins; ``None``: it has no values that could be written."""
        if value.device.type != "cpu" or value.layout is not torch.strided or value.is_quantized:
            return None
        if isinstance(value, torch._subclasses.FakeTensor):
            return None
        known = self._kept.get(id(value))
        if known is not None:
            return known[0]
        plain = value.detach().resolve_conj().resolve_neg().contiguous()
        begin = -(-self._size // _ALIGNED) * _ALIGNED
        count = plain.numel() * plain.element_size()
        with open(self._file, "r+b") as stream:
            stream.seek(begin)
            stream.write(ctypes.string_at(plain.data_ptr(), count) if count else b"")
        self._size = begin + count
        self._kept[id(value)] = (begin, value)
        return begin


def keep(
    store: Store,
    builder: ladder.Builder,
    graph: ladder.Captured,
    program: torch.export.ExportedProgram,
    training: bool,
) -> str:
    """Writes the inputs of a captured graph, and on the graph's record where they are.

    Returns why nothing is written; empty: it is.
    """
    size = sum(
        v.numel() * v.element_size()
        for v in (*builder.module().parameters(), *builder.module().buffers())
    )
    if size > LARGEST:
        return (
            f"the model's parameters and buffers take {size / 1e9:.3g} GB: its operators are run"
            f" with values up to {LARGEST / 1e9:.3g} GB; a configuration with fewer layers has the"
            " same operators (--set)"
        )
    try:
        held = dict(_held(builder, graph, program, training))
    except Exception as error:  # the model's own code, with values this time
        return f"the model does not run with values: {ladder.reason(error)}"
    for row in graph.record.inputs:
        value = held.get(row["name"])
        if isinstance(value, torch.Tensor) and list(value.shape) == row["shape"]:
            row["offset"] = store.add(value)
    return ""


def given(store: Store, graph: ladder.Captured, program: torch.export.ExportedProgram) -> None:
    """The same of a program that came exported."""
    args, kwargs = program.example_inputs or ((), {})
    leaves = pytree.tree_leaves((args, dict(kwargs)))
    held = dict(_placed(program, {**program.state_dict, **program.constants}, leaves))
    for row in graph.record.inputs:
        value = held.get(row["name"])
        if isinstance(value, torch.Tensor) and list(value.shape) == row["shape"]:
            row["offset"] = store.add(value)


def hold(store: Store, graph: ladder.Captured) -> None:
    """The same of a run: what is written is what its inputs hold after it."""
    for row in graph.record.inputs:
        value = graph.held.get(row["name"])
        if value is not None:
            row["offset"] = store.add(value)


def _held(
    builder: ladder.Builder,
    graph: ladder.Captured,
    program: torch.export.ExportedProgram,
    training: bool,
) -> Iterator[tuple[str, Any]]:
    torch.manual_seed(0)
    module, call = ladder.again(builder, graph.name, training)
    args, kwargs = call.args, dict(call.kwargs)
    if graph.module:
        args, kwargs = graph.arguments
        module = module.get_submodule(graph.module)
    state: dict[str, Any] = dict(program.constants)
    state.update(module.named_parameters(remove_duplicate=False))
    state.update(module.named_buffers(remove_duplicate=False))
    yield from _placed(program, state, pytree.tree_leaves((args, kwargs)))


def _placed(
    program: torch.export.ExportedProgram, state: Mapping[str, Any], leaves: list[Any]
) -> Iterator[tuple[str, Any]]:
    """Placeholder → value."""
    inputs = iter(leaves)
    for spec in program.graph_signature.input_specs:
        if spec.kind.name == "USER_INPUT":
            value = next(inputs, None)
        else:
            value = state.get(spec.target or "")
        name = getattr(spec.arg, "name", None)
        if name is not None:
            yield name, value
    for node in program.graph.nodes:
        if node.op == "get_attr":
            yield node.name, getattr(program.graph_module, str(node.target), None)
