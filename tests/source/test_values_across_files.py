"""Values that come from another file are read with that file's numbering."""

from __future__ import annotations

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
