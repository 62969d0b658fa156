"""Values that come from another file are read with that file's numbering."""

from __future__ import annotations

import pytest

from tests.rules.judging import judge_files

HELPERS = """
import json

def make(path):
    one = 1
    two = 2
    reader = json.loads(path)
    opened = reader.open(path)
    return opened.part(path)
"""
USER = """
import torch
from helpers import make
w = make("a").weights
found = w.large.nonzero()
"""


def test_attribute_of_what_another_file_returns(tmp_path):
    part = judge_files(tmp_path, {"helpers.py": HELPERS, "user.py": USER})
    assert not part.not_looked_at
    assert {f.rule for f in part.findings} == {"data-dependent-selection"}


@pytest.mark.parametrize(
    ("decorator", "first", "call"),
    [
        ("@staticmethod", "", "self.scaled(x, 2)"),
        ("@staticmethod", "", "Net.scaled(x, 2)"),
        ("", "self, ", "self.scaled(x, 2)"),
        ("@classmethod", "cls, ", "self.scaled(x, 2)"),
    ],
)
def test_a_static_method_is_given_no_object(tmp_path, decorator, first, call):
    code = (
        "import torch\nfrom torch import nn\n\nclass Net(nn.Module):\n"
        f"    {decorator or '# a method'}\n    def scaled({first}x, by):\n        return x * float(by)\n\n"
        f"    def forward(self, x: torch.Tensor):\n        return {call}\n"
    )
    part = judge_files(tmp_path, {"net.py": code})
    assert not [f for f in part.findings if f.rule == "host-read"]
    part = judge_files(tmp_path, {"net.py": code.replace("x, 2)", "x, x)")})
    assert [f.location.line for f in part.findings if f.rule == "host-read"] == [7]
