"""The graph of a training step: forward, loss, backward.

The exported forward is run once more on fake tensors that need gradients, under a mode that sees
what the dispatcher sees; backward operators are traced to the line of the forward operator whose
gradient they are by the sequence number that autograd gives both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Interpreter, Node
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from neuronport.graph.capture import encode, nodes

_SKIPPED = ("aten::_assert", "aten::sym_", "aten::detach", "prim::")


class NoLossError(Exception):
    """Nothing in the output can be trained on."""


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Writes down every operator that reaches a backend."""

    def __init__(self, record: nodes.GraphRecord) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.record = record
        self.names: dict[int, dict[str, Any]] = {}
        self.kept: list[Any] = []
        """Keeps tensors alive, so that an ``id`` stays that of one tensor."""
        self.current: dict[str, Any] = {}
        self.backward = False
        self.by_sequence: dict[int, dict[str, Any]] = {}
        self.counts: dict[str, int] = {}

    def name_of(self, value: Any) -> Any:
        return self.names.get(id(value)) if isinstance(value, torch.Tensor) else None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        operator = encode.operator(func)
        result = func(*args, **kwargs)
        if operator.startswith(_SKIPPED):
            if operator.startswith("aten::detach"):
                self._alias(args[0], result)
            return result
        base = operator.partition("::")[2].replace(".", "_")
        number = self.counts.get(base, 0)
        self.counts[base] = number + 1
        name = f"{base}_{number}" if number else base
        self.record.add(
            name=name,
            operator=operator,
            args=[encode.argument(a, self.name_of) for a in args],
            kwargs={k: encode.argument(v, self.name_of) for k, v in kwargs.items()},
            outputs=self._outputs(func, args, result),
            direction="backward" if self.backward else None,
            **self._context(),
        )
        self._name(result, name)
        return result

    def _outputs(self, func: Any, args: Any, result: Any) -> list[Any]:
        return encode.outputs(result)

    def _context(self) -> dict[str, Any]:
        if not self.backward:
            # autograd has made the node of this operator just before, if it needs a gradient;
            # one that needs none must not take the number of the one before
            number = torch._C._autograd._get_sequence_nr() - 1
            self.by_sequence.setdefault(number, self.current)
            return self.current
        node = torch._C._current_autograd_node()
        if node is None:
            return {}
        return self.by_sequence.get(node._sequence_nr(), {})

    def _alias(self, source: Any, result: Any) -> None:
        found = self.name_of(source)
        if found is not None and isinstance(result, torch.Tensor):
            self.names[id(result)] = found
            self.kept.append(result)

    def _name(self, result: Any, name: str) -> None:
        if isinstance(result, torch.Tensor):
            self.names[id(result)] = {"ref": name}
            self.kept.append(result)
        elif isinstance(result, (list, tuple)):
            for index, item in enumerate(result):
                if isinstance(item, torch.Tensor):
                    self.names[id(item)] = {"ref": name, "index": index}
                    self.kept.append(item)


class _Replay(Interpreter):
    """Runs an exported graph and tells the recorder which node runs."""

    def __init__(self, module: torch.fx.GraphModule, recorder: Recorder) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.recorder = recorder

    def run_node(self, n: Node) -> Any:
        self.recorder.current = nodes.context(n.meta, self.recorder.record)
        return super().run_node(n)


def joint(
    program: torch.export.ExportedProgram,
    record: nodes.GraphRecord,
    loss: Callable[..., Any] | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    trainable: set[str],
) -> str:
    """Records forward and backward; returns where the loss came from.

    Raises NoLossError, and what the model's own operators raise in their backward.
    """
    specs = {s.arg.name: s for s in program.graph_signature.input_specs if hasattr(s.arg, "name")}
    mode = _fake_mode(program)
    recorder = Recorder(record)
    values: list[Any] = []
    leaves: list[torch.Tensor] = []
    # a CPU has kernels of its own for attention that no other device is asked for
    with mode, torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
        for node in program.graph.nodes:
            if node.op != "placeholder":
                continue
            value = node.meta.get("val")
            spec = specs.get(node.name)
            kind = spec.kind.name if spec is not None else "USER_INPUT"
            if isinstance(value, torch.Tensor):
                value = torch.empty_strided(
                    value.shape, value.stride(), dtype=value.dtype, device=value.device
                )
                if kind == "PARAMETER" and spec is not None and spec.target in trainable:
                    value.requires_grad_(value.is_floating_point() or value.is_complex())
                    leaves.append(value)
                recorder.names[id(value)] = {"ref": node.name}
                recorder.kept.append(value)
                record.inputs.append(
                    {
                        "name": node.name,
                        "kind": {"USER_INPUT": "input", "CONSTANT_TENSOR": "constant"}.get(
                            kind, kind.lower()
                        ),
                        "target": (spec.target or "") if spec is not None else "",
                        **encode.tensor(value),
                    }
                )
            values.append(value)
        replay = _Replay(program.graph_module, recorder)
        with recorder:
            flat = replay.run(*values)
            output = _unflattened(program, flat)
            recorder.current = {}
            total, how = loss_of(output, loss, args, kwargs)
            recorder.backward = True
            gradients = torch.autograd.grad(total, leaves, allow_unused=True)
    record.outputs = [encode.argument(total, recorder.name_of)]
    named = [recorder.name_of(g) for g in gradients]
    record.gradients = [name for name in named if name is not None]
    return how


def _fake_mode(program: torch.export.ExportedProgram) -> Any:
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch._subclasses.FakeTensor):
            return value.fake_mode
    raise NoLossError("the graph has no tensors")


def _unflattened(program: torch.export.ExportedProgram, flat: Any) -> Any:
    """The output as the model returns it."""
    specs = program.graph_signature.output_specs
    values = [
        value for value, spec in zip(flat, specs, strict=False) if spec.kind.name == "USER_OUTPUT"
    ]
    try:
        return pytree.tree_unflatten(values, program.call_spec.out_spec)
    except Exception:
        return tuple(values)


def loss_of(
    output: Any, loss: Callable[..., Any] | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[torch.Tensor, str]:
    if loss is not None:
        return loss(output, *args, **kwargs), "loss() of the user"
    named = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
    if isinstance(named, torch.Tensor):
        return named, "the output's loss"
    tensors = [
        t for t in pytree.tree_leaves(output) if isinstance(t, torch.Tensor) and t.requires_grad
    ]
    scalars = [t for t in tensors if t.dim() == 0]
    if len(scalars) == 1:
        return scalars[0], "the only number in the output"
    if not tensors:
        raise NoLossError("no output depends on a parameter that is trained")
    total = tensors[0].float().mean()
    for tensor in tensors[1:]:
        total = total + tensor.float().mean()
    return total, "the mean of the outputs: no loss is known"
