"""What counts as a seam, and for whom a program is made."""

from __future__ import annotations

import pytest

from tests.rules.judging import judge_files

IMPORT = "import torch_xla.core.xla_model as xm\n"


def judged(tmp_path, files, targets=("native", "xla")):
    part = judge_files(tmp_path, files, targets)
    return [str(f.confidence) for f in part.findings if f.rule == "xla-only-code"]


def test_a_program_for_xla_alone_may_mean_to_be_that(tmp_path):
    assert judged(tmp_path, {"a.py": IMPORT}) == ["possible"]


def test_one_that_knows_cuda_is_tied(tmp_path):
    code = IMPORT + "import torch\nok = torch.cuda.is_available()\n"
    assert judged(tmp_path, {"a.py": code}) == ["likely"]


def test_asked_about_native_alone_it_breaks_for_certain(tmp_path):
    assert judged(tmp_path, {"a.py": IMPORT}, ("native",)) == ["certain"]


@pytest.mark.parametrize(
    "files",
    [
        {"a.py": "try:\n    import torch_xla\nexcept ImportError:\n    torch_xla = None\n"},
        {"a.py": "def step(use_xla):\n    if use_xla:\n        import torch_xla\n"},
        {"xla_utils.py": IMPORT},
        {"a.py": "class XlaBackend:\n    def start(self):\n        import torch_xla\n"},
    ],
)
def test_seams(tmp_path, files):
    assert judged(tmp_path, files) == []
