"""Without what export does for those who run its graphs: Python source for each of them.

A graph module writes source for its graph, and compiles it, whenever the graph has changed: for a
graph of thousands of nodes, six times. Here it is only read; one that is called after all is
compiled then.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

from torch.fx import GraphModule


@contextlib.contextmanager
def uncompiled() -> Iterator[None]:
    """Graph modules that change within are compiled when they are called."""
    compile_ = GraphModule.recompile

    def recompile(module: GraphModule) -> None:
        codegen: Any = module.graph._codegen
        info = getattr(codegen, "pytree_info", None)
        if info is not None:
            module._in_spec, module._out_spec = info.in_spec, info.out_spec

        def forward(self: GraphModule, *args: Any, **kwargs: Any) -> Any:
            compile_(self)
            return type(self).forward(self, *args, **kwargs)

        type(module).forward = forward

    with mock.patch.object(GraphModule, "recompile", recompile):
        yield
