"""What only runs where CUDA was asked for, by its callers, its loop or the marker above it."""

from __future__ import annotations

import pytest

from tests.rules.judging import judge_files

SYNC = "api/torch.cuda.synchronize"


def verdict(tmp_path, files, rule=SYNC):
    part = judge_files(tmp_path, files)
    assert not part.not_looked_at
    (found,) = [f for f in part.findings if f.rule == rule]
    return str(found.verdict)


HELPER = "import torch\n\ndef wait():\n    torch.cuda.synchronize()\n"
ASKED = "import torch\nfrom helper import wait\n\nif torch.cuda.is_available():\n    wait()\n"
EARLY = (
    "import torch\nfrom helper import wait\n\ndef run():\n"
    "    if not torch.cuda.is_available():\n        return\n    wait()\n"
)
NOT_ASKED = "from helper import wait\n\nwait()\n"


@pytest.mark.parametrize("caller", [ASKED, EARLY])
def test_every_caller_asks_first(tmp_path, caller):
    assert verdict(tmp_path, {"helper.py": HELPER, "main.py": caller}) == "locks-in"


@pytest.mark.parametrize(
    "files",
    [
        {"helper.py": HELPER},
        {"helper.py": HELPER, "main.py": ASKED, "other.py": NOT_ASKED},
        {"helper.py": HELPER, "tests/test_helper.py": ASKED},
        {"helper.py": HELPER.replace("def wait", "@register\ndef wait"), "main.py": ASKED},
    ],
    ids=["nobody calls it", "one does not ask", "only tests call it", "registered somewhere"],
)
def test_somebody_may_come_without_asking(tmp_path, files):
    assert verdict(tmp_path, files) == "breaks"


def test_through_several_functions(tmp_path):
    middle = "from helper import wait\n\ndef middle():\n    wait()\n"
    main = (
        "import torch\nfrom middle import middle\n\nif torch.cuda.is_available():\n    middle()\n"
    )
    files = {"helper.py": HELPER, "middle.py": middle, "main.py": main}
    assert verdict(tmp_path, files) == "locks-in"


PREFETCHER = (
    "import torch\n\nclass Prefetcher:\n    def next(self):\n        torch.cuda.synchronize()\n"
)
MADE = "import torch\nfrom helper import Prefetcher\n\nloader = Prefetcher() if torch.cuda.is_available() else None\n"


def test_a_class_that_is_only_made_where_there_is_cuda(tmp_path):
    assert verdict(tmp_path, {"helper.py": PREFETCHER, "main.py": MADE}) == "locks-in"
    other = {"other.py": "from helper import Prefetcher\n\nloader = Prefetcher()\n"}
    assert verdict(tmp_path, {"helper.py": PREFETCHER, "main.py": MADE} | other) == "breaks"


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("for i in range(torch.cuda.device_count()):", "locks-in"),
        ("for i in range(min(n, torch.cuda.device_count())):", "locks-in"),
        ("for i in range(n):", "breaks"),
        ("for i in range(max(1, torch.cuda.device_count())):", "breaks"),
    ],
)
def test_a_loop_over_no_devices(tmp_path, loop, expected):
    code = f"import torch\n\ndef f(n):\n    {loop}\n        torch.cuda.synchronize(i)\n"
    assert verdict(tmp_path, {"case.py": code}) == expected


@pytest.mark.parametrize(
    ("marker", "expected"),
    [("@RunIf(min_cuda_gpus=1)", "locks-in"), ("@RunIf(dynamo=True)", "breaks")],
)
def test_markers_that_want_devices(tmp_path, marker, expected):
    code = f"import torch\nfrom markers import RunIf\n\n{marker}\ndef test_it():\n    torch.cuda.synchronize()\n"
    assert verdict(tmp_path, {"test_case.py": code}) == expected


MODE = """
import torch
from modes import BINARY

class Loss(torch.nn.Module):
    def __init__(self, mode):
        super().__init__()
        self.mode = mode

    def forward(self, x):
        if self.mode == BINARY:
            torch.cuda.synchronize()
        return x
"""


def test_how_a_project_is_set_says_nothing_of_the_host(tmp_path):
    files = {
        "loss.py": MODE,
        "modes.py": 'BINARY = "binary"\n',
        "main.py": 'from loss import Loss\n\nLoss("multiclass")\n',
    }
    assert verdict(tmp_path, files) == "breaks"


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        ("    flash_attn = None", "locks-in"),
        ('    raise ImportError("install flash-attn")', "breaks"),
        ("    sys.exit(1)", "breaks"),
    ],
)
def test_an_import_is_optional_only_where_its_failing_is(tmp_path, handler, expected):
    code = f"import sys\n\ntry:\n    import flash_attn\nexcept ImportError:\n{handler}\n"
    assert verdict(tmp_path, {"case.py": code}, "api/flash_attn#import") == expected
