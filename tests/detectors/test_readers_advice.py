"""Advice and confidence that fit the place, where a reader found that they did not."""

from __future__ import annotations

import pytest

from tests.rules.judging import judge_files


def said(tmp_path, rule: str, code: str):
    (found,) = (f for f in judge_files(tmp_path, {"user.py": code}).findings if f.rule == rule)
    return found


@pytest.mark.parametrize(("where", "left"), [("__init__", True), ("place", False)])
def test_a_list_that_guards_a_method_says_nothing_of_the_others(tmp_path, where, left):
    code = (
        f"import torch\nclass Model:\n    def {where}(self, device: str):\n"
        "        if device not in ('cuda', 'gpu'):\n            raise ValueError(device)\n"
        "        self.model = torch.nn.Linear(2, 2).to(device)\n"
        "    def tell(self):\n        if self.big:\n            torch.cuda.synchronize()\n"
    )
    advice = str(said(tmp_path, "cuda-device-list", code).by_target)
    assert ("leave it as long as" in advice) is left


def test_what_holds_nothing_is_removed(tmp_path):
    code = (
        "import torch.nn as nn\nloss = nn.CrossEntropyLoss().cuda()\nnet = nn.Linear(2, 2).cuda()\n"
    )
    found = [
        f
        for f in judge_files(tmp_path, {"user.py": code}).findings
        if f.rule == "api/torch.nn.Module.cuda"
    ]
    assert ["nothing to move" in str(f.by_target) for f in found] == [True, False]


def test_one_hot_of_a_known_width_is_no_more_than_possible(tmp_path):
    code = (
        "import torch.nn.functional as F\ndef encode(x, n):\n    return F.one_hot(x.to('xla'), n)\n"
    )
    assert said(tmp_path, "one-hot-on-xla", code).confidence.name == "POSSIBLE"
