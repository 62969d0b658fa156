"""What a guarded import brought is used where its name is; the stand-in for it is another thing."""

from __future__ import annotations

from tests.rules.judging import judge_files

HEAD = """
import torch
try:
    from flash_attn import flash_attn_func
except ImportError:
    flash_attn_func = None
try:
    import bitsandbytes as bnb
    HAS_BNB = True
except ImportError:
    bnb, HAS_BNB = None, False
try:
    from apex.optimizers import FusedAdam
except ImportError:
    from torch.optim import Adam as FusedAdam
"""


def said(tmp_path, code):
    part = judge_files(tmp_path, {"case.py": HEAD + code})
    return [(f.rule, str(f.verdict)) for f in part.findings if f.location.line > HEAD.count("\n")]


def test_a_use_nothing_guards(tmp_path):
    code = "def attend(q, k, v):\n    return flash_attn_func(q, k, v)\n"
    assert said(tmp_path, code) == [("api/flash_attn.flash_attn_func", "breaks")]


def test_a_use_behind_a_test_for_none(tmp_path):
    code = "def f(q):\n    return q if flash_attn_func is None else flash_attn_func(q, q, q)\n"
    assert said(tmp_path, code) == [("api/flash_attn.flash_attn_func", "locks-in")]


def test_an_attribute_of_a_module(tmp_path):
    code = "def f(p):\n    return bnb.optim.Adam8bit(p)\n"
    assert [rule for rule, _ in said(tmp_path, code)] == ["api/bitsandbytes.optim.Adam8bit"]


def test_a_stand_in_is_what_runs(tmp_path):
    assert said(tmp_path, "def f(p):\n    return FusedAdam(p)\n") == []


def test_the_argument_a_row_speaks_of_is_named(tmp_path):
    code = 'from transformers import TrainingArguments\na = TrainingArguments("out", fp16=True)\n'
    (found,) = judge_files(tmp_path, {"case.py": code}).findings
    assert found.message.startswith("transformers.TrainingArguments(fp16=True)")
