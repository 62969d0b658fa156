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


@pytest.mark.parametrize(("chosen", "found"), [("4", {"integer-device"}), ("other", set())])
def test_a_helper_returns_what_this_call_passes(tmp_path, chosen, found):
    helper = "def default(value, other):\n    if value is None:\n        return other\n    return value\n"
    user = (
        "import torch\nfrom helpers import default\n"
        f"def place(model: torch.nn.Module, other):\n    where = default({chosen}, {chosen})\n"
        "    return model.to(where)\n"
        "def size(x):\n    return default(8, 16) + default(2, 4)\n"
    )
    part = judge_files(tmp_path, {"helpers.py": helper, "user.py": user})
    assert {f.rule for f in part.findings} & {"integer-device"} == found
