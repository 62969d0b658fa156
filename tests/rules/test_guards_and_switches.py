"""What stands under a condition, or behind a switch, is judged by whether a Neuron host comes there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.judging import judge_files
from tests.rules.test_what_findings_say import AVAILABLE, found

ON_REQUEST = (
    "import torch\nclass T:\n    def check(self, cuda=False):\n        x = torch.zeros(2)\n"
    "        if cuda:\n            x = x.cuda()\n"
)
ASKS = "    def check_there(self):\n        if torch.cuda.is_available():\n            self.check(cuda=True)\n"


@pytest.mark.parametrize(
    ("more", "verdict"),
    [
        (ASKS, "falls-back"),
        (
            ASKS + "    def plain(self):\n        self.check()\n        self.check(cuda=False)\n",
            "falls-back",
        ),
        (ASKS + "    def other(self):\n        self.check(cuda=True)\n", "breaks"),
        (ASKS + "    def other(self, cuda):\n        self.check(cuda=cuda)\n", "breaks"),
        (ASKS + "    def other(self, **kw):\n        self.check(**kw)\n", "breaks"),
        ("", "breaks"),
    ],
)
def test_a_switch_that_is_only_on_where_cuda_was_asked_for(
    tmp_path: Path, more: str, verdict: str
) -> None:
    (finding,) = found(tmp_path, ON_REQUEST + more, "api/torch.Tensor.cuda")
    assert finding.verdict.value == verdict


@pytest.mark.parametrize(
    "code",
    [
        "def f(inputs):\n    kind = inputs[0].device.type\n    x = inputs[0]\n"
        "    return x.to('cuda') if kind == 'cuda' else x\n",
        "def f(x, accelerator_kind):\n    if x.accelerator == 'cuda':\n        return x.to('cuda')\n",
    ],
)
def test_what_is_recognised_as_asking_for_cuda_guards_its_branch(tmp_path: Path, code: str) -> None:
    (finding,) = found(tmp_path, "import torch\n" + code, "hardcoded-cuda-device")
    assert (finding.verdict.value, finding.confidence.value) == ("locks-in", "possible")


FLAG = "import torch\nclass M:\n    def __init__(self, cuda=False):\n        self.is_cuda = cuda\n"


def test_a_flag_called_is_cuda_is_no_tensor(tmp_path: Path) -> None:
    code = (
        FLAG + "    def f(self, x: torch.Tensor):\n        if self.is_cuda:\n            x.cuda()\n"
    )
    part = judge_files(tmp_path, {"case.py": code})
    assert {f.rule: f.verdict.value for f in part.findings if f.confidence.value != "possible"} == {
        "api/torch.Tensor.cuda": "breaks"
    }
    (tensor,) = found(
        tmp_path, "import torch\nif torch.ones(1).is_cuda:\n    pass\n", "api/torch.Tensor.is_cuda"
    )
    assert tensor.location.line == 2


@pytest.mark.parametrize(
    ("test", "verdict"),
    [
        ("x.is_quantized", "locks-in"),
        ("x.is_sparse", "locks-in"),
        ("x.layout == torch.sparse_coo", "locks-in"),
        ("x.layout == torch.strided", "breaks"),
        ("not x.is_sparse", "breaks"),
    ],
)
def test_a_layout_that_no_tensor_has_on_neuron(tmp_path: Path, test: str, verdict: str) -> None:
    code = (
        f"import torch\ndef f(x: torch.Tensor):\n    if {test}:\n        torch.cuda.synchronize()\n"
    )
    (finding,) = found(tmp_path, code, "api/torch.cuda.synchronize")
    assert finding.verdict.value == verdict


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("def f(s):\n    torch.manual_seed(s)\n    torch.cuda.manual_seed_all(s)\n", False),
        (
            "def f(s):\n    torch.manual_seed(s)\n    if torch.cuda.is_available():\n        torch.cuda.manual_seed(s)\n",
            False,
        ),
        ("def f(s):\n    torch.manual_seed(1)\n    torch.cuda.manual_seed_all(s)\n", True),
        (
            "def f(s):\n    if s:\n        torch.manual_seed(s)\n    torch.cuda.manual_seed_all(s)\n",
            True,
        ),
        ("def f(s):\n    torch.cuda.manual_seed_all(s)\n", True),
        ("def f(s):\n    torch.manual_seed(s)\n    torch.cuda.manual_seed_all(str(s))\n", False),
    ],
)
def test_a_seed_that_neuron_gets_too(tmp_path: Path, code: str, shown: bool) -> None:
    part = judge_files(tmp_path, {"case.py": "import torch\n" + code})
    (finding,) = [f for f in part.findings if "cuda.manual_seed" in f.rule]
    assert (finding.confidence.value == "certain") is shown
    assert ("seeds Neuron too" in finding.message) is not shown


@pytest.mark.parametrize(
    ("code", "confidence"),
    [
        (
            "shutil.copy(log.path('last'), log.path('best'))\nmodel.load_state_dict(torch.load(log.path('best')))\n",
            "possible",
        ),
        (
            "torch.save(model.state_dict(), log.path('best'))\nmodel.load_state_dict(torch.load(log.path('best')))\n",
            "possible",
        ),
        (
            "model.load_state_dict(torch.load(log.path('best')))\nshutil.copy(log.path('last'), log.path('best'))\n",
            "likely",
        ),
        (
            "shutil.copy(log.path('best'), log.path('old'))\nmodel.load_state_dict(torch.load(log.path('best')))\n",
            "likely",
        ),
    ],
)
def test_a_checkpoint_written_here_is_less_sure_to_be_of_cuda(
    tmp_path: Path, code: str, confidence: str
) -> None:
    (finding,) = found(
        tmp_path,
        "import shutil, torch\nfrom runs import log, model\n" + code,
        "load-without-map-location",
    )
    assert finding.confidence.value == confidence


def test_one_finding_says_that_a_test_is_skipped(tmp_path: Path) -> None:
    code = (
        "import pytest, torch\n"
        "@pytest.mark.skipif(torch.cuda.device_count() < 2, reason='two GPUs')\ndef test_it():\n    pass\n"
    )
    part = judge_files(tmp_path, {"test_case.py": code})
    assert [f.rule for f in part.findings] == ["cuda-only-test"]


@pytest.mark.parametrize(
    ("value", "cores"), [("''", False), ("'-1'", False), ("'0'", True), ("gpus", True)]
)
def test_to_see_no_gpu_is_to_choose_the_cpu(tmp_path: Path, value: str, cores: bool) -> None:
    code = f"import os\ngpus = f()\nos.environ['CUDA_VISIBLE_DEVICES'] = {value}\n"
    part = judge_files(tmp_path, {"case.py": code})
    (finding,) = [f for f in part.findings if "CUDA_VISIBLE" in f.rule]
    instead = next(iter(finding.by_target.values())).replacement
    assert ("NEURON_RT_VISIBLE_CORES" in instead) is cores


@pytest.mark.parametrize(
    ("code", "confidence"),
    [
        (ON_REQUEST, "likely"),
        (ON_REQUEST.replace("cuda=False", "cuda=True"), "certain"),
        (ON_REQUEST.replace("if cuda", "if not cuda"), "certain"),
        (
            "import torch\nclass T:\n    def __init__(self, gpu=False):\n        self.gpu = gpu\n"
            "    def f(self):\n        x = torch.ones(1)\n        if self.gpu:\n            x.cuda()\n",
            "likely",
        ),
    ],
)
def test_what_a_switch_has_to_ask_for_is_less_sure(
    tmp_path: Path, code: str, confidence: str
) -> None:
    (finding,) = found(tmp_path, code, "api/torch.Tensor.cuda")
    assert (finding.verdict.value, finding.confidence.value) == ("breaks", confidence)


TABLE = "import torch\nCASES = [[{'kind': 'a', 'device': 'cuda'}]]\n"


@pytest.mark.parametrize(
    ("name", "more", "confidence"),
    [
        ("run.py", "", "likely"),
        ("run.py", "if torch.cuda.is_available():\n    pass\n", "likely"),
        ("tests/test_run.py", "", "likely"),
        ("tests/test_run.py", "if torch.cuda.is_available():\n    pass\n", "possible"),
        ("tests/test_run.py", "from testing import skip_if_no_cuda\n", "possible"),
    ],
)
def test_a_device_in_a_table_depends_on_who_reads_it(
    tmp_path: Path, name: str, more: str, confidence: str
) -> None:
    part = judge_files(tmp_path, {name: TABLE + more})
    (finding,) = [f for f in part.findings if f.rule == "hardcoded-cuda-device"]
    assert finding.confidence.value == confidence


@pytest.mark.parametrize(
    ("code", "says", "confidence"),
    [
        ("DEVICES = ['cpu', 'cuda']\n", "a list of devices", "certain"),
        ("DEVICES = [\n    None,\n    'cuda:0',\n]\n", "a list of devices", "certain"),
        ("TEST_CASE_1 = ['cuda:0']\n", "CUDA alone", "likely"),
        (
            "TEST_CASE_DEVICE_2 = [\n    PATH,\n    {'level': 8},\n    'cuda',\n]\n",
            "a row of other things",
            "likely",
        ),
        ("device_options = ['--device', 'cuda']\n", "a row of other things", "possible"),
    ],
)
def test_a_row_with_a_device_is_no_list_of_devices(
    tmp_path: Path, code: str, says: str, confidence: str
) -> None:
    (finding,) = found(tmp_path, code, "cuda-device-list")
    assert says in finding.message
    assert finding.confidence.value == confidence
    instead = {v.replacement for v in finding.by_target.values()}
    assert any('add "neuron"' in text for text in instead) is (says == "a list of devices")


@pytest.mark.parametrize(
    ("test", "right"),
    [
        ("torch.cuda.is_available() and torch.backends.cuda.matmul.allow_tf32", True),
        ("torch.cuda.is_available() and (detect_tf32() or torch.backends.cudnn.enabled)", True),
        ("torch.cuda.is_available() and flag", False),
        ("torch.cuda.is_available() or torch.backends.cuda.matmul.allow_tf32", False),
    ],
)
def test_a_question_about_what_only_cuda_has_is_rightly_answered_no(
    tmp_path: Path, test: str, right: bool
) -> None:
    code = f"import torch\nfrom mylib import detect_tf32, flag\nif {test}:\n    x = torch.ones(1, device='cuda')\n"
    (finding,) = found(tmp_path, code, "api/torch.cuda.is_available")
    assert ("right here" in finding.message) is right
    assert (finding.verdict.value == "locks-in") is right
    assert any("leave it" in v.replacement for v in finding.by_target.values()) is right


PORTABLE = (
    "import torch\nfrom mylib import _C\ndef f(x: torch.Tensor):\n    if {test}:\n        return {first}\n"
    "    return {second}\n"
)


@pytest.mark.parametrize(
    ("test", "first", "second", "leave"),
    [
        ("not x.is_cuda", "x + 1", "_C.add_one(x)", True),
        ("x.is_cuda", "_C.add_one(x)", "x + 1", True),
        ("x.is_cuda", "x + 2", "x + 1", False),
        ("not x.is_cuda", "_C.add_one(x)", "x + 1", False),
    ],
)
def test_the_portable_way_beside_a_kernel_is_taken(
    tmp_path: Path, test: str, first: str, second: str, leave: bool
) -> None:
    code = PORTABLE.format(test=test, first=first, second=second)
    (finding,) = found(tmp_path, code, "api/torch.Tensor.is_cuda")
    assert ("portable way" in finding.message) is leave
    assert (finding.verdict.value == "locks-in") is leave


@pytest.mark.parametrize(
    ("code", "apart"),
    [
        ("v = torch.version.cuda\nw = os.environ.get('V', v).split('.')\n", True),
        ("v = torch.version.cuda\nw = float(v)\n", True),
        ("v = torch.version.cuda\nif v is not None:\n    w = v.split('.')\n", False),
        ("v = torch.version.cuda\nw = os.environ.get('V', '').split('.')\n", False),
        ("v = torch.version.cuda\nprint(v)\n", False),
    ],
)
def test_a_version_that_is_none_is_taken_apart(tmp_path: Path, code: str, apart: bool) -> None:
    part = judge_files(tmp_path, {"case.py": "import os, torch\n" + code})
    rows = [f for f in part.findings if f.location.line == 2 and "torch.version" in f.rule]
    assert {f.rule for f in rows} == {"api/torch.version.cuda" + ".*" * apart}
    if apart:
        assert rows[0].verdict.value == "breaks"
        assert "line 3" in rows[0].message


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("nn.CrossEntropyLoss().cuda()\n", "locks-in"),
        ("loss = nn.BCEWithLogitsLoss(reduction='none')\nloss.cuda()\n", "locks-in"),
        ("nn.CrossEntropyLoss(weight=w).cuda()\n", "breaks"),
        ("nn.CrossEntropyLoss(w).cuda()\n", "breaks"),
        ("nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2]).cuda()\n", "breaks"),
        ("nn.Linear(2, 2).cuda()\n", "breaks"),
        ("(nn.ReLU() if w else nn.Linear(2, 2)).cuda()\n", "breaks"),
    ],
)
def test_a_module_that_holds_nothing_is_not_moved(tmp_path: Path, code: str, verdict: str) -> None:
    head = "import torch\nfrom torch import nn\nfrom mylib import w\n"
    (finding,) = found(tmp_path, head + code, "api/torch.nn.Module.cuda")
    assert finding.verdict.value == verdict
    (placed,) = found(
        tmp_path, head + code.replace(".cuda()", ".to('cuda')"), "hardcoded-cuda-device"
    )
    assert placed.verdict.value == verdict


ASIDE = "import torch\nfrom net import Net\ndef test_net():\n    x = torch.ones(1)\n    net = Net()\n    if torch.cuda.is_available():\n"


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("        check(net(x.cuda()))\n", "locks-in"),
        (
            "        there = Net().cuda()\n        assert there.w.device.type == 'cuda'\n",
            "locks-in",
        ),
        ("        x = x.cuda()\n    net(x)\n", "falls-back"),
        ("        net.cuda()\n    net(x)\n", "falls-back"),
        ("        y = net(x.cuda())\n    else:\n        y = net(x)\n", "falls-back"),
    ],
)
def test_what_a_test_does_besides_where_there_is_cuda(
    tmp_path: Path, body: str, verdict: str
) -> None:
    part = judge_files(tmp_path, {"tests/test_net.py": ASIDE + body})
    (asked,) = [f for f in part.findings if f.rule == "api/torch.cuda.is_available"]
    assert asked.verdict.value == verdict
    moved = [f for f in part.findings if f.rule.endswith(".cuda") and f.location.line == 7]
    assert [f.verdict.value for f in moved] == [verdict]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (
            "for d in ['cpu', 'cuda'] if torch.cuda.is_available() else ['cpu']:\n    f(d)\n",
            "not in this list",
        ),
        (
            "for d in ['cpu'] + (['cuda'] if torch.cuda.is_available() else []):\n    f(d)\n",
            "not in this list",
        ),
        (
            "d = ['cpu']\nif torch.cuda.is_available():\n    d = torch.device('cuda')\n",
            "chip stays idle",
        ),
    ],
)
def test_an_answer_that_fills_a_list_of_devices(tmp_path: Path, code: str, says: str) -> None:
    (finding,) = found(tmp_path, "import torch\n" + code, AVAILABLE)
    assert says in finding.message


def test_a_type_names_devices_and_places_nothing(tmp_path: Path) -> None:
    code = "from typing import Literal\ndef f(device: Literal['cpu', 'cuda'], n: 'int' = 1):\n    pass\n"
    part = judge_files(tmp_path, {"case.py": code})
    assert {(f.rule, f.confidence.value) for f in part.findings} == {
        ("cuda-device-list", "possible")
    }


@pytest.mark.parametrize(
    ("body", "only"),
    [
        ("        torch.cuda.manual_seed_all(s)\n", True),
        (
            "        torch.cuda.manual_seed(s)\n        torch.backends.cudnn.deterministic = True\n",
            True,
        ),
        ("        torch.cuda.manual_seed_all(s + 1)\n", False),
        ("        torch.cuda.manual_seed_all(s)\n        torch.cuda.empty_cache()\n", False),
    ],
)
def test_a_question_that_only_seeds_depend_on(tmp_path: Path, body: str, only: bool) -> None:
    code = (
        "import torch\ndef seed(s):\n    torch.manual_seed(s)\n    if torch.cuda.is_available():\n"
    )
    (finding,) = found(tmp_path, code + body, AVAILABLE)
    assert (finding.confidence.value == "possible") is only
    assert ("beside it" in finding.message) is only


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        ("not torch.cuda.is_available()", False),
        ("torch.cuda.device_count() < 2", False),
        ("not torch.cuda.is_available() or 'A100' not in torch.cuda.get_device_name()", True),
        ("not torch.cuda.is_available() or torch.cuda.get_device_capability() < (8, 0)", True),
    ],
)
def test_a_test_of_one_model_of_gpu_is_left(tmp_path: Path, condition: str, left: bool) -> None:
    code = f"import pytest, torch\n@pytest.mark.skipif({condition}, reason='')\ndef test_it():\n    pass\n"
    (finding,) = found(tmp_path, code, "cuda-only-test")
    assert all(("leave it" in v.replacement) is left for v in finding.by_target.values())


@pytest.mark.parametrize(("after", "kernel"), [("return _C.run(x)", True), ("return x + 1", False)])
def test_what_refuses_before_a_kernel_needs_the_kernel_first(
    tmp_path: Path, after: str, kernel: bool
) -> None:
    code = (
        "import torch\nfrom mylib import _C\ndef f(x: torch.Tensor):\n"
        f"    if not x.is_cuda:\n        raise ValueError('CUDA only')\n    {after}\n"
    )
    (finding,) = found(tmp_path, code, "cuda-required")
    assert all(("kernel" in v.replacement) is kernel for v in finding.by_target.values())


@pytest.mark.parametrize(
    ("option", "confidence"),
    [("action='store_true'", "likely"), ("default=True", "certain"), ("default=n", "certain")],
)
def test_an_option_that_is_off_has_to_be_given(
    tmp_path: Path, option: str, confidence: str
) -> None:
    code = (
        "import argparse, torch\nfrom mylib import n\np = argparse.ArgumentParser()\n"
        f"p.add_argument('--cuda', {option})\nargs = p.parse_args()\nx = torch.ones(1)\n"
        "if args.cuda:\n    x = x.cuda()\n"
    )
    (finding,) = found(tmp_path, code, "api/torch.Tensor.cuda")
    assert (finding.verdict.value, finding.confidence.value) == ("breaks", confidence)


@pytest.mark.parametrize(
    ("first", "shown"), [("torch.seed()", False), ("torch.manual_seed(1)", True)]
)
def test_a_seed_anew(tmp_path: Path, first: str, shown: bool) -> None:
    (finding,) = found(
        tmp_path, f"import torch\n{first}\ntorch.cuda.seed()\n", "api/torch.cuda.seed"
    )
    assert (finding.confidence.value == "certain") is shown


def test_an_option_with_the_name_of_a_method_is_no_use_of_it(tmp_path: Path) -> None:
    code = "import torch\ndef f(cfg, x: torch.Tensor):\n    return cfg.data.pin_memory, x.pin_memory()\n"
    (finding,) = found(tmp_path, code, "api/torch.Tensor.pin_memory")
    assert finding.location.column > 30


def test_what_is_compared_and_kept_is_not_used(tmp_path: Path) -> None:
    code = (
        "import torch.distributed as dist\nis_cuda = dist.get_backend() == dist.Backend.NCCL\n"
        "backend = dist.Backend.NCCL\n"
    )
    rows = found(tmp_path, code, "api/torch.distributed.Backend.NCCL")
    assert [f.verdict.value for f in rows] == ["locks-in", "breaks"]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("n = max(torch.cuda.device_count(), 4)\n", "written down"),
        ("n = max(0, torch.cuda.device_count())\n", "without an accelerator"),
        ("n = torch.cuda.device_count()\n", "without an accelerator"),
    ],
)
def test_a_count_of_which_there_is_a_least(tmp_path: Path, code: str, says: str) -> None:
    (finding,) = found(tmp_path, "import torch\n" + code, "api/torch.cuda.device_count")
    assert says in finding.message


@pytest.mark.parametrize(
    ("test", "confidence"), [("torch.cuda.is_available()", "possible"), ("flag", "likely")]
)
def test_the_order_of_what_does_not_run_is_possible(
    tmp_path: Path, test: str, confidence: str
) -> None:
    code = (
        f"import torch\nfrom mylib import flag\nif {test}:\n    torch.cuda.set_device(0)\n"
        "    torch.distributed.init_process_group('nccl')\n"
    )
    (finding,) = found(tmp_path, code, "process-group-after-device")
    assert finding.confidence.value == confidence


def test_a_marker_that_skips_with_cuda(tmp_path: Path) -> None:
    code = (
        "import unittest, torch\nfrom mylib import VERSION\n"
        "@unittest.skipIf(\n    VERSION == (1, 8) and torch.cuda.is_available(), 'fails')\n"
        "class T(unittest.TestCase):\n    pass\n"
    )
    (finding,) = found(tmp_path, code, AVAILABLE)
    assert "whether a test is skipped" in finding.message


@pytest.mark.parametrize(
    ("kept", "verdict"),
    [
        ("s = torch.cuda.get_rng_state() if torch.cuda.is_available() else None", "locks-in"),
        (
            "s = None\ntry:\n    s = torch.cuda.get_rng_state() if torch.cuda.is_available() else None\nexcept Exception:\n    pass",
            "locks-in",
        ),
        ("s = None\nif torch.cuda.is_available():\n    s = torch.cuda.get_rng_state()", "locks-in"),
        ("s = torch.load('s') if flag else None", "diverges"),
        ("s = None\nif flag:\n    s = torch.load('s')", "diverges"),
    ],
)
def test_what_is_none_without_cuda_is_a_guard(tmp_path: Path, kept: str, verdict: str) -> None:
    code = f"import torch\nfrom mylib import flag\n{kept}\nif s is not None:\n    torch.cuda.set_rng_state(s)\n"
    (finding,) = found(tmp_path, code, "api/torch.cuda.set_rng_state")
    assert finding.verdict.value == verdict


@pytest.mark.parametrize(
    ("given", "moves"),
    [
        ("x_dtype", False),
        ("torch.float32", False),
        ("x.dtype", False),
        ("'cuda'", True),
        ("d", True),
    ],
)
def test_a_cast_chooses_no_device(tmp_path: Path, given: str, moves: bool) -> None:
    code = (
        "import torch\ndef f(x: torch.Tensor, d, x_dtype):\n    if torch.cuda.is_available():\n"
        f"        x = x.to({given})\n    return x\n"
    )
    (finding,) = found(tmp_path, code, AVAILABLE)
    assert (finding.verdict.value == "falls-back") is moves


def test_a_program_that_was_saved_here(tmp_path: Path) -> None:
    code = (
        "import torch\nfrom net import m, path\ntorch.jit.save(m, path)\nm = torch.jit.load(path)\n"
    )
    (finding,) = found(tmp_path, code, "load-without-map-location")
    assert finding.confidence.value == "possible"
