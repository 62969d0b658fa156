"""What an audit holds on to: with the collector off, a cycle would keep every file it is part of."""

from __future__ import annotations

import gc

import pytest

from neuronport.audit import audit_serially
from neuronport.audit_cache.store import Store
from neuronport.readers.python.facts import ModuleFacts
from neuronport.targets import resolve
from neuronport.workspace import open_workspace

CODE = """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x, mask):
        if x.sum() > 0:
            x = torch.relu(x)[mask, None]
        return x.cuda()

def train(net, loader, scale):
    for batch in loader:
        loss = net(batch.cuda(), batch > 0).mean() * scale[0]
        loss.backward()
        print(loss.item())
"""


@pytest.mark.parametrize("cached", [False, True])
def test_nothing_of_a_file_outlives_its_judging(tmp_path, cached):
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in "abc":
        (tree / f"{name}.py").write_text(CODE)
    python = [f for f in open_workspace([str(tree)]).files if f.kind == "python"]
    store = Store(tmp_path / "cache.sqlite") if cached else None
    gc.collect()
    before = sum(isinstance(o, ModuleFacts) for o in gc.get_objects())
    enabled = gc.isenabled()
    try:
        part = audit_serially(python, [resolve("native")], lambda phase: None, store)
        left = sum(isinstance(o, ModuleFacts) for o in gc.get_objects())
    finally:
        gc.enable() if enabled else gc.disable()
    assert part.findings
    assert left == before
