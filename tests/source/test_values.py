"""Values followed over files keep to the file they stand in."""

from tests.rules.judging import judge_files


def test_attribute_of_an_object_made_in_another_file(tmp_path):
    part = judge_files(
        tmp_path,
        {
            "pad.py": "a = 1\n" * 30,
            "holder.py": "import torch\nclass Holder:\n    def __init__(self, kind):\n"
            "        self.inner = torch.device(kind)\n        self.other = kind\n",
            "main.py": "from holder import Holder\nh = Holder('cuda')\n"
            "def f(x):\n    if h.inner.type == 'cuda':\n        return x.to(h.inner.missing.thing)\n",
        },
    )
    assert not part.not_looked_at
    assert {(f.location.path, f.location.line) for f in part.findings} >= {("main.py", 4)}


def test_branches_that_multiply_end(tmp_path):
    """Sixty choices in a row are 2**60 ways; the audit takes none of them."""
    steps = "".join(f"    x = x + y if x > {i} else x * y.size({i})\n" for i in range(60))
    code = f"import torch\ndef f(x, y):\n{steps}    if x:\n        x.cuda()\n    return x\n"
    part = judge_files(tmp_path, {"deep.py": code})
    assert any(f.location.line == 64 for f in part.findings)


def test_zero_and_false_are_not_taken_for_each_other(tmp_path):
    code = (
        "from transformers import Trainer, pipeline\n"
        "t = Trainer(bf16=False, fast=True)\np = pipeline('a', device=0)\nq = pipeline('a', device=1)\n"
    )
    part = judge_files(tmp_path, {"case.py": code})
    lines = {f.location.line for f in part.findings if f.rule.endswith("pipeline:index")}
    assert lines == {3, 4}
