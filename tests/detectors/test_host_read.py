"""How sure it is that a value is waited for."""

from __future__ import annotations

import pytest

from neuronport.findings import Confidence
from tests.rules.judging import judge_files

CODE = """
import torch

def train(model, opt, loader, aux):
    for x in loader:
        loss = model(x).sum()
        extra = {start}
        if aux > 0:
            extra = model(x).mean()
        loss.backward()
        opt.step()
        print(extra.item())
"""


@pytest.mark.parametrize(
    ("start", "sure"),
    [
        # Where nothing else comes to it, nothing waits.
        ("torch.tensor(0.0)", Confidence.LIKELY),
        ("torch.zeros(3, device=x.device).sum()", Confidence.CERTAIN),
    ],
)
def test_what_may_still_lie_on_the_host_is_not_certain(tmp_path, start, sure):
    part = judge_files(tmp_path, {"case.py": CODE.format(start=start)}, ("native",))
    found = [f for f in part.findings if f.rule == "host-read"]
    assert [f.confidence for f in found] == [sure]
