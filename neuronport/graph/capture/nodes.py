"""A graph of ``torch.export`` in the words of the record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.fx import GraphModule, Node

from neuronport.graph.capture import encode, sites

_INLINED = ("wrap_with_set_grad_enabled", "wrap_with_autocast", "hints_wrapper")
"""Higher-order operators that only set a mode around a subgraph: its nodes are the program's."""
_GUARDS = ("aten::_assert", "aten::sym_constrain_range")
"""What export adds to check its own assumptions; nothing of it runs on a device."""


class GraphRecord:
    """Collects the nodes of one graph."""

    def __init__(self, name: str, numbers: sites.Sites) -> None:
        self.name = name
        self.sites = numbers
        self.nodes: list[dict[str, Any]] = []
        self.inputs: list[dict[str, Any]] = []
        self.outputs: list[Any] = []
        self.gradients: list[Any] = []
        """What the backward leaves, of a training graph."""
        self.classes: dict[str, str] = {}
        """Module path → class, of modules that nodes name."""

    def add(self, **row: Any) -> None:
        self.nodes.append({k: v for k, v in row.items() if v not in (None, {}, [])})

    def as_json(self) -> dict[str, Any]:
        return {
            "inputs": self.inputs,
            "nodes": self.nodes,
            "outputs": self.outputs,
            "gradients": self.gradients,
        }


def of_exported(
    program: torch.export.ExportedProgram, record: GraphRecord, cache: bool = False
) -> None:
    """The nodes of an exported program."""
    specs = {s.arg.name: s for s in program.graph_signature.input_specs if hasattr(s.arg, "name")}
    names: dict[Node, Any] = {}
    for node in program.graph.nodes:
        if node.op != "placeholder":
            continue
        value = node.meta.get("val")
        spec = specs.get(node.name)
        kind = spec.kind.name.lower() if spec is not None else "user_input"
        kind = {"user_input": "input", "constant_tensor": "constant"}.get(kind, kind)
        names[node] = {"ref": node.name}
        if isinstance(value, torch.Tensor):
            if kind == "input" and cache and value.dim() >= 3 and value.is_floating_point():
                kind = "cache"
            record.inputs.append(
                {
                    "name": node.name,
                    "kind": kind,
                    "target": (spec.target or "") if spec is not None else "",
                    **encode.tensor(value),
                }
            )
    _walk(program.graph_module, program.graph_module.graph, names, record, "")


def _walk(
    owner: GraphModule,
    graph: torch.fx.Graph,
    names: dict[Node, Any],
    record: GraphRecord,
    prefix: str,
) -> Any:
    """Records the nodes of a graph and returns what it returns, in names of the record."""

    def operand(value: Any) -> Any:
        return names.get(value) if isinstance(value, Node) else None

    for node in graph.nodes:
        if node.op == "placeholder":
            continue
        if node.op == "get_attr":
            value = node.meta.get("val")
            if value is None:
                value = _attribute(owner, str(node.target))
            if isinstance(value, torch.Tensor):
                name = prefix + node.name
                names[node] = {"ref": name}
                record.inputs.append(
                    {
                        "name": name,
                        "kind": "constant",
                        "target": str(node.target),
                        **encode.tensor(value),
                    }
                )
            continue
        if node.op == "output":
            result = encode.argument(node.args[0], operand)
            if not prefix:
                record.outputs = result if isinstance(result, list) else [result]
            return result
        if node.op != "call_function":
            continue
        _node(owner, node, names, record, prefix, operand)
    return None


def _node(
    owner: GraphModule,
    node: Node,
    names: dict[Node, Any],
    record: GraphRecord,
    prefix: str,
    operand: Any,
) -> None:
    target = node.target
    name = prefix + node.name
    if getattr(target, "__name__", "") == "getitem" and isinstance(node.args[0], Node):
        of = names.get(node.args[0])
        if isinstance(of, list):
            names[node] = of[int(node.args[1])]  # type: ignore[arg-type]
            return
        if of is not None:
            names[node] = {**of, "index": node.args[1]}
        return
    if isinstance(target, torch._ops.HigherOrderOperator):
        graphs = [a for a in node.args if _subgraph(owner, a) is not None]
        if str(target._name) in _INLINED and len(graphs) == 1:
            sub = _subgraph(owner, graphs[0])
            assert sub is not None
            rest = node.args[list(node.args).index(graphs[0]) + 1 :]
            inner = dict(
                zip(
                    (n for n in sub.graph.nodes if n.op == "placeholder"),
                    (encode.argument(a, operand) for a in rest),
                    strict=False,
                )
            )
            names[node] = _walk(sub, sub.graph, inner, record, f"{name}.")
            return
        _higher_order(owner, node, names, record, name, operand, graphs)
        return
    operator = encode.operator(target)
    value = node.meta.get("val")
    outputs = encode.outputs(value)
    names[node] = {"ref": name}
    if operator.startswith(_GUARDS):
        return
    symbol = operator.startswith(("python::", "aten::sym_"))
    record.add(
        name=name,
        operator=operator,
        args=[encode.argument(a, operand) for a in node.args],
        kwargs={k: encode.argument(v, operand) for k, v in node.kwargs.items()},
        outputs=outputs,
        symbolic=symbol or None,
        **context(node.meta, record),
    )


def _higher_order(
    owner: GraphModule,
    node: Node,
    names: dict[Node, Any],
    record: GraphRecord,
    name: str,
    operand: Any,
    graphs: list[Any],
) -> None:
    """An operator over graphs: itself, and what its graphs hold (each may run, or may not)."""
    names[node] = {"ref": name}
    tensors = [names[n] for n in node.all_input_nodes if n in names]
    record.add(
        name=name,
        operator=encode.operator(node.target),
        args=tensors,
        outputs=encode.outputs(node.meta.get("val")),
        **context(node.meta, record),
    )
    operands = node.args[-1] if isinstance(node.args[-1], (list, tuple)) else ()
    for graph in graphs:
        sub = _subgraph(owner, graph)
        assert sub is not None
        places = [n for n in sub.graph.nodes if n.op == "placeholder"]
        inner = {
            place: (operand(value) if value is not None else None)
            or {"ref": f"{name}.{place.name}"}
            for place, value in zip(
                places, [*operands, *[None] * (len(places) - len(operands))], strict=False
            )
        }
        _walk(sub, sub.graph, inner, record, f"{name}.{graph.name}.")


def _subgraph(owner: GraphModule, value: Any) -> GraphModule | None:
    if not isinstance(value, Node) or value.op != "get_attr":
        return None
    found = _attribute(owner, str(value.target))
    return found if isinstance(found, GraphModule) else None


def _attribute(owner: torch.nn.Module, target: str) -> Any:
    found: Any = owner
    for part in target.split("."):
        found = getattr(found, part, None)
    return found


def context(meta: Mapping[str, Any], record: GraphRecord) -> dict[str, Any]:
    """Module path and sites of a node, from what torch keeps about it."""
    found: dict[str, Any] = record.sites.of(sites.of_text(meta.get("stack_trace")))
    stack = meta.get("nn_module_stack") or meta.get("fwd_nn_module_stack")
    if stack:
        path, kind = list(stack.values())[-1]
        path = str(path)
        cls = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
        found["module"] = path
        record.classes[path] = cls
    return found
