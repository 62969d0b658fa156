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


NMS = """\
import torch
try:
    from torchvision.ops import nms
except ImportError:
    def nms(boxes, scores, limit):
        order = scores.argsort(descending=True)
        while order.numel() > 0:
            rest = order[1:]
            order = rest[boxes[rest, 0] <= limit]
        return order
def best(boxes: torch.Tensor, scores: torch.Tensor):
    return nms(boxes, scores, 0.5)
"""
CLASS = """\
import torch
try:
    from torch.cuda.amp import autocast
except ImportError:
    class autocast:
        def __enter__(self):
            return self
        def __exit__(self, *exc):
            return None
def step(model, x):
    with autocast():
        return model(x)
@autocast()
def other(model, x):
    return model(x)
"""
MODULE = """\
import torch
try:
    from torch.cuda import amp
except ImportError:
    class amp:
        @staticmethod
        def autocast():
            return None
def step(model, x):
    with amp.autocast():
        return model(x)
"""
OWN = """\
import torch
try:
    from flash_attn import flash_attn_func
except ImportError:
    def flash_attn_func(q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)
def attend(q, k, v):
    return flash_attn_func(q, k, v)
"""


def rules_by_line(part):
    return {
        (f.location.path, f.location.line, f.rule): str(f.confidence)
        for f in part.findings
        if str(f.verdict) != "locks-in"
    }


def test_a_call_of_what_the_program_defines_itself_where_the_import_fails(tmp_path):
    found = rules_by_line(judge_files(tmp_path, {"case.py": NMS}))
    assert found["case.py", 12, "api/torchvision.ops.nms"] == "likely"


def test_the_stand_in_is_looked_at_like_any_function(tmp_path):
    found = rules_by_line(judge_files(tmp_path, {"case.py": NMS}))
    alone = NMS.replace(
        "try:\n    from torchvision.ops import nms\nexcept ImportError:",
        "if True:\n    pass\nif True:",
    )
    assert (
        {key for key in found if key[1] < 11}
        == {key for key in rules_by_line(judge_files(tmp_path, {"case.py": alone})) if key[1] < 11}
        != set()
    )


def test_a_class_that_stands_in(tmp_path):
    found = rules_by_line(judge_files(tmp_path, {"case.py": CLASS}))
    assert found == {
        ("case.py", 11, "api/torch.cuda.amp.autocast"): "likely",
        ("case.py", 13, "api/torch.cuda.amp.autocast"): "likely",
    }


def test_something_in_a_module_for_which_a_class_stands_in(tmp_path):
    found = rules_by_line(judge_files(tmp_path, {"case.py": MODULE}))
    assert found == {("case.py", 10, "api/torch.cuda.amp.autocast"): "likely"}


def test_where_the_import_cannot_work_the_stand_in_runs(tmp_path):
    elsewhere = "from case import flash_attn_func\ndef f(q):\n    return flash_attn_func(q, q, q)\n"
    assert rules_by_line(judge_files(tmp_path, {"case.py": OWN, "b.py": elsewhere})) == {}


def test_a_compiled_module_that_may_be_missing(tmp_path):
    rule = "compiled-cuda-module"
    for caught, verdict in ((True, "locks-in"), (False, "breaks")):
        code = "from fastops import _C"
        if caught:
            code = f"try:\n    {code}\nexcept ImportError:\n    _C = None"
        part = judge_files(tmp_path, {"case.py": f"import torch\n{code}\n"})
        (finding,) = [f for f in part.findings if f.rule == rule]
        assert str(finding.verdict) == verdict
