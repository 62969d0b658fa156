"""An attribute that is turned off where there is no CUDA keeps a Neuron host from what it guards."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.judging import judge_files

OBSERVER = """\
import torch
class Observer:
    def __init__(self):
        self.enabled = {start}
    def {method}(self, state):
        if not self.enabled:
            return
        device = next(state.model.parameters()).device
        if {test}:
            self.enabled = {off}
    def run(self):
        if not self.enabled:
            return
        torch.cuda.synchronize()
"""
PLAIN = {
    "start": "True",
    "method": "init",
    "test": "device.type not in ('cuda', 'meta')",
    "off": "False",
}


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        ({}, "locks-in"),
        ({"test": "not torch.cuda.is_available()"}, "locks-in"),
        ({"test": "state.done"}, "breaks"),
        ({"test": "torch.cuda.is_available()"}, "breaks"),
        ({"test": "device.type not in ('cuda', 'cpu', 'neuron')"}, "breaks"),
        ({"method": "after_step"}, "breaks"),
        ({"off": "state.flag"}, "breaks"),
        ({"start": "state"}, "breaks"),
    ],
)
def test_what_is_turned_off_without_cuda(
    tmp_path: Path, other: dict[str, str], verdict: str
) -> None:
    code = OBSERVER.format(**{**PLAIN, **other})
    part = judge_files(tmp_path, {"case.py": code}, ("native",))
    (found,) = (f for f in part.findings if f.rule == "api/torch.cuda.synchronize")
    assert str(found.verdict) == verdict


def test_it_is_still_on_where_it_is_turned_off(tmp_path: Path) -> None:
    code = OBSERVER.format(**PLAIN).replace(
        "        device =", "        torch.cuda.empty_cache()\n        device ="
    )
    part = judge_files(tmp_path, {"case.py": code}, ("native",))
    (found,) = (f for f in part.findings if f.rule == "api/torch.cuda.empty_cache")
    assert found.context.guarded_by == ""


def test_an_answer_is_one_where_it_is_kept(tmp_path: Path) -> None:
    code = (
        "import torch\nclass Run:\n    def __init__(self):\n"
        "        self.on = torch.cuda.is_available()\n        if self.on:\n"
        "            torch.cuda.empty_cache()\n"
    )
    part = judge_files(tmp_path, {"case.py": code}, ("native",))
    (found,) = (f for f in part.findings if f.rule == "api/torch.cuda.empty_cache")
    assert found.context.guarded_by == "self.on"
