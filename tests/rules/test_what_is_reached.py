"""What stands behind a question for CUDA that is asked somewhere else: in what runs before a test, in an
option that the program stores itself, or before the program ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.findings import Finding
from tests.rules.judging import judge_files


def found(folder: Path, code: str, rule: str) -> list[Finding]:
    part = judge_files(folder, {"case.py": code})
    return [f for f in part.findings if f.rule == rule]


ASKS = "import pytest\nimport unittest\nimport torch\n"
SKIPS = "    if not torch.cuda.is_available():\n        pytest.skip('no GPU')\n"


def verdicts(folder: Path, code: str, rule: str) -> list[str]:
    return [f.verdict.value for f in found(folder, code, rule)]


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (f"@pytest.fixture\ndef gpu():\n{SKIPS}    return 0\ndef test_it(gpu):\n", "locks-in"),
        (
            f"@pytest.fixture\ndef gpu():\n{SKIPS}    return 0\n"
            "@pytest.mark.usefixtures('gpu')\ndef test_it():\n",
            "locks-in",
        ),
        (f"@pytest.fixture\ndef gpu():\n{SKIPS}    return 0\ndef test_it(cpu):\n", "breaks"),
        (f"def gpu():\n{SKIPS}def test_it(gpu):\n", "breaks"),
        ("if not torch.cuda.is_available():\n    raise SystemExit(0)\nif True:\n", "locks-in"),
        ("if not torch.distributed.is_available():\n    raise SystemExit(0)\nif True:\n", "breaks"),
    ],
)
def test_what_is_asked_before(tmp_path: Path, code: str, verdict: str) -> None:
    code = f"{ASKS}{code}    x = torch.zeros(1).cuda()\n"
    assert verdicts(tmp_path, code, "api/torch.Tensor.cuda") == [verdict]


@pytest.mark.parametrize(("name", "verdict"), [("setUp", "locks-in"), ("other", "breaks")])
def test_a_set_up_that_skips(tmp_path: Path, name: str, verdict: str) -> None:
    code = (
        f"{ASKS}class T(unittest.TestCase):\n    def {name}(self):\n"
        "        if not torch.cuda.is_available():\n            self.skipTest('no GPU')\n"
        "    def test_it(self):\n        x = torch.zeros(1).cuda()\n"
    )
    assert verdicts(tmp_path, code, "api/torch.Tensor.cuda") == [verdict]
    (asked,) = found(tmp_path / "again", code, "api/torch.cuda.is_available")
    assert "whether a test is skipped" in asked.message


def test_what_is_ported_all_the_same_keeps_its_verdict(tmp_path: Path) -> None:
    code = (
        "import torch\nif not torch.cuda.is_available():\n    raise SystemExit('no GPU')\n"
        "import flash_attn\n"
    )
    rows = judge_files(tmp_path, {"case.py": code}).findings
    assert {f.verdict.value for f in rows if f.area == "libraries"} == {"breaks"}


PARSED = "import argparse\nimport torch\nargs = argparse.ArgumentParser().parse_args()\n"
USED = "def train(x):\n    if args.cuda:\n        x = torch.zeros(1).cuda()\n"


@pytest.mark.parametrize(
    ("stored", "verdict"),
    [
        ("args.cuda = not args.no_cuda and torch.cuda.is_available()\n", "falls-back"),
        ("args.cuda = args.cuda and torch.cuda.is_available()\n", "falls-back"),
        ("args.cuda = not args.no_cuda\n", "breaks"),
        ("args.other = torch.cuda.is_available()\n", "breaks"),
        (
            "args.cuda = torch.cuda.is_available()\nif args.force:\n    args.cuda = True\n",
            "breaks",
        ),
    ],
)
def test_an_option_that_the_program_stores(tmp_path: Path, stored: str, verdict: str) -> None:
    assert verdicts(tmp_path, PARSED + stored + USED, "api/torch.Tensor.cuda") == [verdict]


def test_what_a_stored_option_chooses(tmp_path: Path) -> None:
    code = f"{PARSED}args.cuda = torch.cuda.is_available()\n{USED}"
    (asked,) = found(tmp_path, code, "api/torch.cuda.is_available")
    assert asked.verdict.value == "falls-back"
    code = code.replace("x = torch.zeros(1).cuda()", "print('there')")
    (asked,) = found(tmp_path / "said", code, "api/torch.cuda.is_available")
    assert asked.verdict.value == "locks-in"


@pytest.mark.parametrize(
    ("option", "test", "verdict"),
    [
        ("'--no-cuda', action='store_true'", "'cpu' if args.no_cuda else 'cuda'", "breaks"),
        ("'--cuda', action='store_true'", "'cuda' if args.cuda else 'cpu'", "falls-back"),
        ("'--cuda', default=True", "'cuda' if args.cuda else 'cpu'", "breaks"),
        ("'--where', default='x'", "'cuda' if args.where == 'x' else 'cpu'", "falls-back"),
    ],
)
def test_a_choice_that_is_cuda_by_itself(
    tmp_path: Path, option: str, test: str, verdict: str
) -> None:
    code = (
        "import argparse\nimport torch\np = argparse.ArgumentParser()\n"
        f"p.add_argument({option})\nargs = p.parse_args()\ndevice = torch.device({test})\n"
    )
    assert verdicts(tmp_path, code, "cuda-or-cpu-choice") == [verdict]


def test_what_a_star_import_brings(tmp_path: Path) -> None:
    files = {
        "models.py": "import torch\nclass Net(torch.nn.Module):\n    pass\n",
        "case.py": "from models import *\nnet = Net()\nnet.cuda()\nx = torch.zeros(1, device='cuda')\n",
    }
    rows = judge_files(tmp_path, files).findings
    told = {(f.location.path, f.location.line, f.rule) for f in rows}
    assert told >= {
        ("case.py", 3, "api/torch.nn.Module.cuda"),
        ("case.py", 4, "hardcoded-cuda-device"),
    }


@pytest.mark.parametrize("guarded", [True, False])
def test_what_a_call_would_answer_is_said_where_it_is_asked(tmp_path: Path, guarded: bool) -> None:
    used = "print(torch.cuda.max_memory_allocated())\n"
    code = (
        f"import torch\nif torch.cuda.is_available():\n    {used}"
        if guarded
        else f"import torch\n{used}"
    )
    (row,) = found(tmp_path, code, "api/torch.cuda.max_memory_allocated")
    assert ("stands behind a test for CUDA" in row.message) is guarded
