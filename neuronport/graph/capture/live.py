"""One run written down as it happens, where nothing exports the program.

It runs on the CPU with real values, so that it goes the way the example goes; the rest of the
program was not looked at. What backends would be asked for is all there, with lines and modules.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.modules import module as modules
from torch.utils import _pytree as pytree

from neuronport.graph.capture import encode, nodes, sites, training


class Live(training.Recorder):  # type: ignore[no-untyped-call]
    """Operators with the line that runs and the module that is called."""

    def __init__(self, record: nodes.GraphRecord, paths: dict[int, str]) -> None:
        super().__init__(record)
        self.paths = paths
        self.stack: list[torch.nn.Module] = []
        self.held: dict[str, torch.Tensor] = {}
        """What the inputs of the record hold."""
        self._sizes = 0

    def name_of(self, value: Any) -> Any:
        found = super().name_of(value)
        if found is None and isinstance(value, torch.Tensor):  # made where no operator is seen
            return self.input(value, "constant", "")
        return found

    def input(self, value: torch.Tensor, kind: str, target: str) -> dict[str, Any]:
        """A name for a tensor that the program does not compute."""
        name = f"{kind}_{len(self.record.inputs)}"
        self.names[id(value)] = {"ref": name}
        self.kept.append(value)
        self.held[name] = value
        row = {"name": name, "kind": kind, "target": target, **encode.tensor(value)}
        self.record.inputs.append(row)
        return self.names[id(value)]

    def _outputs(self, func: Any, args: Any, result: Any) -> list[Any]:
        rows = encode.outputs(result)
        place = _place(func, args)
        for row in rows if place is not None else ():
            if row and len(row.get("shape", ())) > place:  # type: ignore[operator]
                row["shape"][place] = f"u{self._sizes}"
                self._sizes += 1
        return rows

    def _context(self) -> dict[str, Any]:
        if not self.backward:
            self.current = self.record.sites.of(sites.here(sys._getframe(2)))
            if self.stack:
                owner = self.stack[-1]
                path = self.paths.get(id(owner), "")
                if path:
                    self.current["module"] = path
                    self.record.classes[path] = (
                        f"{type(owner).__module__}.{type(owner).__qualname__}"
                    )
        return super()._context()

    @contextlib.contextmanager
    def calls(self) -> Iterator[None]:
        """Knows which module is called."""

        def enter(module: torch.nn.Module, _: Any) -> None:
            self.stack.append(module)

        def leave(module: torch.nn.Module, *_: Any) -> None:
            while self.stack and self.stack.pop() is not module:
                pass  # one that raised did not say that it ended

        entered = modules.register_module_forward_pre_hook(enter)
        left = modules.register_module_forward_hook(leave)
        try:
            yield
        finally:
            entered.remove()
            left.remove()


def _place(func: Any, args: Any) -> int | None:
    """The dimension of the results whose size depends on values; ``None``: of none."""
    if torch.Tag.dynamic_output_shape not in getattr(func, "tags", ()):
        return None
    if str(func._schema.name) != "aten::index":
        return 0
    places = [i for i, index in enumerate(args[1]) if index is not None]
    masks = any(args[1][i].dtype in (torch.bool, torch.uint8) for i in places)
    return places[0] if masks else None


def run(
    module: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    record: nodes.GraphRecord,
    train: bool,
    loss: Callable[..., Any] | None,
) -> tuple[str, dict[str, torch.Tensor]]:
    """Records a call, of a training step its backward too; returns where the loss came from and
    what the inputs held.

    Raises what the model raises, and NoLossError.
    """
    live = Live(record, {id(part): path for path, part in module.named_modules()})
    leaves = []
    for name, parameter in module.named_parameters():
        live.input(parameter, "parameter", name)
        if train and parameter.requires_grad:
            leaves.append(parameter)
    for name, buffer in module.named_buffers():
        live.input(buffer, "buffer", name)
    for value in pytree.tree_leaves((args, kwargs)):
        if isinstance(value, torch.Tensor):
            live.input(value, "input", "")
    how = ""
    # a CPU has kernels of its own for attention that no other device is asked for
    with torch.set_grad_enabled(train), sdpa_kernel(SDPBackend.MATH), live, live.calls():
        output = module(*args, **kwargs)
        live.stack.clear()
        result: Any = [v for v in pytree.tree_leaves(output) if isinstance(v, torch.Tensor)]
        if train:
            result, how = training.loss_of(output, loss, args, kwargs)
            live.current, live.backward = {}, True
            gradients = torch.autograd.grad(result, leaves, allow_unused=True)
            named = [live.name_of(g) for g in gradients if g is not None]
            record.gradients = [name for name in named if name is not None]
            result = [result]
    record.outputs = [encode.argument(v, live.name_of) for v in result]
    return how, live.held
