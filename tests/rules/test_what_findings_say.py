"""What findings say of a line has to be true of that line: cases found wrong by reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.findings import Confidence, Finding
from tests.rules.judging import judge_files

AVAILABLE = "api/torch.cuda.is_available"


def found(folder: Path, code: str, rule: str) -> list[Finding]:
    part = judge_files(folder, {"case.py": code})
    return [f for f in part.findings if f.rule == rule]


@pytest.mark.parametrize(
    ("code", "verdict", "says"),
    [
        (
            "import torch\nif torch.cuda.is_available():\n    device = 'cuda'\nelse:\n    device = 'cpu'\n",
            "falls-back",
            "chip stays idle",
        ),
        (
            "import torch\nmodel = f()\nif torch.cuda.is_available():\n    model = model.cuda()\n",
            "falls-back",
            "chip stays idle",
        ),
        (
            "import torch\nif torch.cuda.is_available():\n    torch.backends.cuda.matmul.allow_tf32 = True\n",
            "locks-in",
            "which is right here",
        ),
        (
            "import torch, warnings\nif torch.cuda.is_available():\n    warnings.warn('slow')\n",
            "locks-in",
            "does not happen on Neuron",
        ),
        (
            "import torch\nm = f'{torch.cuda.memory_reserved() if torch.cuda.is_available() else 0}G'\n",
            "locks-in",
            "does not happen on Neuron",
        ),
        (
            "import torch\ndef f(p):\n"
            "    return torch.load(p, map_location=None if torch.cuda.is_available() else 'cpu')\n",
            "locks-in",
            "does not happen on Neuron",
        ),
        (
            "import torch\nok = (\n    torch.cuda.is_available()\n)\n",
            "falls-back",
            "the answer is False",
        ),
        (
            "import torch\nif (\n    flag\n    and torch.cuda.is_available()\n):\n    torch.cuda.synchronize()\n",
            "locks-in",
            "does not happen on Neuron",
        ),
        (
            "import torch\ndef start(rank):\n    if torch.cuda.is_available():\n"
            "        torch.cuda.set_device(rank)\n        torch.cuda.manual_seed_all(1)\n",
            "locks-in",
            "which is right here",
        ),
        (
            "import torch\ndef prepare():\n    pass\ndef start(rank):\n    if torch.cuda.is_available():\n"
            "        torch.cuda.set_device(rank)\n        prepare()\n",
            "falls-back",
            "chip stays idle",
        ),
        (
            "import torch\nif hasattr(torch, '_inductor') and torch.cuda.is_available():\n"
            "    torch._inductor.cudagraph_mark_step_begin()\n",
            "locks-in",
            "which is right here",
        ),
    ],
)
def test_a_question_is_judged_by_what_it_decides(
    tmp_path: Path, code: str, verdict: str, says: str
) -> None:
    (finding,) = found(tmp_path, code, AVAILABLE)
    assert finding.verdict.value == verdict
    assert says in finding.message


@pytest.mark.parametrize(
    "code",
    [
        "import torch\nassert torch.cuda.is_available(), 'a GPU is needed'\n",
        "import torch\nif not torch.cuda.is_available():\n    raise RuntimeError('no GPU')\nx = 1\n",
        "import torch\nif torch.cuda.device_count() == 0:\n    raise RuntimeError('no GPU')\nx = 1\n",
    ],
)
def test_what_ends_the_program_breaks_and_leaves_nothing_idle(tmp_path: Path, code: str) -> None:
    here = [f for f in judge_files(tmp_path, {"case.py": code}).findings if f.location.line == 2]
    assert here
    assert {f.verdict.value for f in here} == {"breaks"}
    assert not any("idle" in f.message for f in here)


HANDED = """
import torch

def split(layers, devices):
    {body}

class Model:
    def parallelize(self, device_map=None):
        self.device_map = split(12, range(torch.cuda.device_count())) if device_map is None else device_map
"""


@pytest.mark.parametrize(
    ("body", "verdict", "says"),
    [
        ("blocks = layers / len(devices)\n    return blocks", "breaks", "stops here"),
        ("return list(zip(layers, devices))", "locks-in", "is given here"),
    ],
)
def test_what_a_function_does_with_the_number_of_devices(
    tmp_path: Path, body: str, verdict: str, says: str
) -> None:
    code = HANDED.replace("{body}", body)
    (finding,) = found(tmp_path, code, "api/torch.cuda.device_count")
    assert finding.verdict.value == verdict
    assert says in finding.message


def test_the_number_of_devices_says_what_it_answers(tmp_path: Path) -> None:
    code = "import torch\nworkers = max(torch.cuda.device_count(), 1)\n"
    (finding,) = found(tmp_path, code, "api/torch.cuda.device_count")
    assert "the answer is 0" in finding.message
    assert "loops" not in finding.message


def test_a_gate_that_chooses_no_device_is_a_note(tmp_path: Path) -> None:
    code = (
        "import torch\nis_cuda = torch.cuda.is_available()\n"
        "def run():\n    if is_cuda:\n        stream = torch.cuda.Stream()\n"
        "def place(model):\n    if is_cuda:\n        model.cuda()\n"
    )
    verdicts = [f.verdict.value for f in found(tmp_path, code, "cuda-availability-gate")]
    assert verdicts == ["locks-in", "falls-back"]


def test_a_skipped_test_does_not_fall_back(tmp_path: Path) -> None:
    code = (
        "import pytest, torch\n@pytest.mark.requires_cuda\n"
        "def test_it():\n    x = torch.ones(2).cuda()\n"
    )
    (finding,) = found(tmp_path, code, "api/torch.Tensor.cuda")
    assert finding.verdict.value == "locks-in"


def test_a_receiver_that_is_not_known_is_not_called_a_tensor(tmp_path: Path) -> None:
    code = "import torch\ndef load(thing):\n    thing.cuda()\n    torch.ones(2).cuda()\n"
    part = judge_files(tmp_path, {"case.py": code})
    says = {f.location.line: f.message for f in part.findings if f.rule.endswith(".cuda")}
    assert says[3].startswith(".cuda()")
    assert says[4].startswith("torch.Tensor.cuda")


def test_comparing_with_a_device_asks_and_does_not_break(tmp_path: Path) -> None:
    code = (
        "import torch\ndef put(attr):\n"
        "    if attr.device != torch.device('cuda'):\n        attr = attr.to(torch.device('cuda'))\n"
    )
    asks = found(tmp_path, code, "cuda-device-gate")
    breaks = found(tmp_path / "again", code, "hardcoded-cuda-device")
    assert [f.location.line for f in asks] == [3]
    assert [f.location.line for f in breaks] == [4]


def test_autocast_is_judged_by_its_own_row(tmp_path: Path) -> None:
    code = "import torch\n@torch.autocast('cuda', enabled=False)\ndef f(x):\n    return x\n"
    part = judge_files(tmp_path, {"case.py": code})
    assert [f.rule for f in part.findings] == ["api/torch.amp.autocast:cuda-off"]


def test_a_switch_of_the_project_is_no_question_about_libraries(tmp_path: Path) -> None:
    code = (
        "import importlib.util\n_FAST = False\n"
        "def is_fast():\n    return _FAST\n"
        "def is_flash_attn_available():\n    return importlib.util.find_spec('flash_attn') is not None\n"
        "a = is_fast()\nb = is_flash_attn_available()\n"
    )
    rows = found(tmp_path, code, "library-availability-gate")
    assert 7 not in [f.location.line for f in rows]


def test_another_vendors_case_is_a_note(tmp_path: Path) -> None:
    code = (
        "import torch\ndef f(dtype):\n    if torch.xpu.is_available():\n        dtype = torch.bfloat16\n"
        "    return dtype\ndef g():\n    if torch.xpu.is_available():\n        return torch.device('xpu')\n"
    )
    verdicts = [f.verdict.value for f in found(tmp_path, code, "accelerator-branch")]
    assert verdicts == ["locks-in", "falls-back"]


def test_numpy_reads_what_is_on_the_host_already(tmp_path: Path) -> None:
    code = (
        "import torch\nfrom torch import nn\nclass M(nn.Module):\n    def forward(self, x):\n"
        "        a = x.numpy()\n        b = x.numpy(force=True)\n        return a, b\n"
    )
    assert [f.location.line for f in found(tmp_path, code, "host-read")] == [6]


def test_what_runs_only_on_another_vendors_device_is_passed_over(tmp_path: Path) -> None:
    code = (
        "import torch\nfrom torch import nn\nclass M(nn.Module):\n    def forward(self, x):\n"
        "        if 'mps' in x.device.type:\n            x = x.cpu()\n"
        "        if x.device.type == 'xpu':\n            x = x.cpu()\n        return x\n"
    )
    assert found(tmp_path, code, "host-read") == []


def test_a_number_of_a_device_is_called_one(tmp_path: Path) -> None:
    code = "import torch\ndef f(args):\n    if args.gpu == 0:\n        print(1)\n    return args.cuda\n"
    says = [f.message for f in found(tmp_path, code, "cuda-flag")]
    assert says == ["args.gpu numbers a CUDA device", "args.cuda stands for CUDA"]


def test_converting_a_checkpoint_breaks_no_trace(tmp_path: Path) -> None:
    code = (
        "import torch\nimport torch.nn.functional as F\n"
        "def convert(state, size):\n"
        "    return F.interpolate(torch.stack(state), size=size, mode='bicubic')\n"
    )
    rows = found(tmp_path, code, "operator-support")
    assert rows
    assert all(f.confidence is Confidence.POSSIBLE for f in rows)


def test_parameters_are_filled_before_the_module_is_moved(tmp_path: Path) -> None:
    code = (
        "import torch\ndef init_(tensor):\n    tensor.uniform_(-1, 1)\n    return tensor\n"
        "def init_noise(shape, device):\n    return torch.randn(shape, device=device)\n"
    )
    sure = {f.location.line: f.confidence for f in found(tmp_path, code, "operator-support")}
    assert sure.get(3, Confidence.POSSIBLE) is Confidence.POSSIBLE
    assert sure[6] is Confidence.LIKELY


def test_generate_of_an_unknown_library_is_unsure(tmp_path: Path) -> None:
    code = "import torch, mii\nclient = mii.client('m')\nout = client.generate([1], max_new_tokens=4)\n"
    rows = found(tmp_path, code, "growing-generation-cache")
    assert all(f.confidence is Confidence.POSSIBLE for f in rows)


@pytest.mark.parametrize(
    ("code", "verdict", "says"),
    [
        (
            "import torch\nclass T:\n    def __init__(self, c):\n"
            "        self.scale = torch.cuda.is_available() and c.scale\n",
            "locks-in",
            "kept here",
        ),
        (
            "import torch\nclass T:\n    def __init__(self, c):\n"
            "        self.gpu = torch.cuda.is_available() and c.gpu\n    def log(self):\n"
            "        if self.gpu:\n            print('memory')\n",
            "locks-in",
            "does not happen on Neuron",
        ),
        (
            "import torch\ndef f(x):\n    use = torch.cuda.is_available()\n    if use:\n"
            "        x = x.cuda()\n    return x\n",
            "falls-back",
            "chip stays idle",
        ),
        ("import torch\nprint(torch.cuda.is_available())\n", "locks-in", "written down"),
        (
            "import torch, transformers\ntransformers.TrainingArguments(use_cpu=not torch.cuda.is_available())\n",
            "falls-back",
            "False",
        ),
        (
            "import torch\ndef f(device):\n    if device == 'cuda' and not torch.cuda.is_available():\n"
            "        device = 'cpu'\n    return device\n",
            "falls-back",
            "chip stays idle",
        ),
        (
            "import torch\ndef f(device):\n    if device == 'cuda' and not torch.cuda.is_available():\n"
            "        raise ValueError\n    return torch.zeros(1, device=device)\n",
            "locks-in",
            "where CUDA is asked for",
        ),
    ],
)
def test_what_is_kept_or_handed_on_is_judged_by_what_it_decides_later(
    tmp_path: Path, code: str, verdict: str, says: str
) -> None:
    (finding,) = found(tmp_path, code, AVAILABLE)
    assert finding.verdict.value == verdict
    assert says in finding.message


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("import torch\ntorch.cuda.set_device(rank % torch.cuda.device_count())\n", "breaks"),
        (
            "import torch\nn = torch.cuda.device_count()\ntorch.cuda.set_device(rank % n)\n",
            "breaks",
        ),
        ("import torch\nn = torch.cuda.device_count()\nf(nprocs=n)\n", "falls-back"),
        ("import torch\nassert torch.cuda.device_count() > rank\n", "breaks"),
        (
            "import torch\nif torch.cuda.is_available():\n    n = torch.cuda.device_count()\n",
            "locks-in",
        ),
    ],
)
def test_a_count_of_devices(tmp_path: Path, code: str, verdict: str) -> None:
    (finding,) = found(tmp_path, code, "api/torch.cuda.device_count")
    assert finding.verdict.value == verdict


def test_a_device_made_to_compare_with_is_a_question(tmp_path: Path) -> None:
    code = (
        "import torch\ndef f(x, device):\n"
        "    seed(x, on_gpu=device.type == torch.device('cuda').type)\n"
        "    return torch.device('cuda') == device\n"
    )
    assert not found(tmp_path, code, "hardcoded-cuda-device")
    assert [f.location.line for f in found(tmp_path, code, "cuda-device-gate")] == [3, 4]


def test_a_device_asked_about_is_judged_by_what_asks(tmp_path: Path) -> None:
    code = "import torch\np = torch.cuda.get_device_properties(torch.device('cuda'))\n"
    assert not found(tmp_path, code, "hardcoded-cuda-device")
    assert found(tmp_path, code, "api/torch.cuda.get_device_properties")


def test_a_device_under_a_test_for_cuda_is_not_what_has_to_change(tmp_path: Path) -> None:
    code = (
        "import torch\ndef f():\n    if torch.cuda.is_available():\n"
        "        return torch.device('cuda:0')\n    return torch.device('cpu')\n"
    )
    (finding,) = found(tmp_path, code, "hardcoded-cuda-device")
    assert finding.confidence is Confidence.POSSIBLE


@pytest.mark.parametrize(
    "code",
    [
        "import bitsandbytes as bnb\ndef f(m):\n    return isinstance(m, bnb.nn.Linear4bit)\n",
        "import bitsandbytes as bnb\ndef f(m: bnb.nn.Linear4bit):\n    return m\n",
    ],
)
def test_a_class_named_as_a_type_is_not_used(tmp_path: Path, code: str) -> None:
    part = judge_files(tmp_path, {"case.py": code})
    (mention,) = (f for f in part.references if f.rule == "api/bitsandbytes.nn.Linear4bit")
    assert mention.verdict.value == "benign"
    assert "as a type only" in mention.message
    assert not any(v.replacement for v in mention.by_target.values())


def test_a_kernel_is_one_finding(tmp_path: Path) -> None:
    code = (
        "import triton\nimport triton.language as tl\n"
        "@triton.autotune(configs=[triton.Config({}, num_warps=4)], key=['n'])\n"
        "@triton.jit\ndef kernel(p, n: tl.constexpr):\n"
        "    x = tl.load(p + tl.arange(0, n))\n    tl.store(p, x)\n"
        "def plain(p):\n    return tl.load(p)\n"
    )
    part = judge_files(tmp_path, {"case.py": code})
    places = [(f.rule, f.location.line) for f in part.findings if "#import" not in f.rule]
    assert sorted(places) == [
        ("api/triton.autotune", 3),
        ("api/triton.jit", 4),
        ("api/triton.language.load", 9),
    ]


def test_what_is_imported_has_the_advice_of_its_own_row(tmp_path: Path) -> None:
    code = "from xformers.ops import SwiGLU, memory_efficient_attention, unbind\n"
    advice = {
        f.message.partition(":")[0]: next(iter(f.by_target.values())).replacement
        for f in found(tmp_path, code, "api/xformers#import")
    }
    assert "unbind" in advice["imports xformers.ops.unbind"]
    assert "scaled_dot_product" not in advice["imports xformers.ops.SwiGLU"]
    assert "scaled_dot_product" in advice["imports xformers.ops.memory_efficient_attention"]


def test_one_reason_makes_both_paths_equally_sure(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, "from apex import amp\n", "api/apex#import")
    assert {v.confidence for v in finding.by_target.values()} == {Confidence.LIKELY}


def test_setting_an_attribute_named_cuda_moves_nothing(tmp_path: Path) -> None:
    code = "import torch\ndef f(opt):\n    opt.cuda = opt.gpu > -1\n"
    assert not found(tmp_path, code, "api/torch.Tensor.cuda")


def test_costs_in_tests_are_not_certain(tmp_path: Path) -> None:
    code = "import torch\ndef check(a: torch.Tensor, b: torch.Tensor):\n    return a[b > 0].sum()\n"
    for name, sure in (("test_case.py", False), ("case.py", True)):
        part = judge_files(tmp_path / name, {name: code})
        (finding,) = [f for f in part.findings if f.rule == "boolean-mask-index"]
        assert (finding.confidence is not Confidence.POSSIBLE) is sure


def test_a_model_evaluated_every_so_many_steps_is_not_hot(tmp_path: Path) -> None:
    code = (
        "import torch\n\ndef evaluate(m: torch.nn.Module, x: torch.Tensor):\n"
        "    return m(x).sum().item()\n\ndef train(m: torch.nn.Module, data, optimizer):\n"
        "    for i, x in enumerate(data):\n        m(x).sum().backward()\n        optimizer.step()\n"
        "        if i % 100 == 0:\n            evaluate(m, x)\n"
    )
    (finding,) = found(tmp_path, code, "host-read")
    assert finding.confidence is Confidence.POSSIBLE
    assert not finding.context.hot
    (always,) = found(tmp_path, code.replace("if i % 100 == 0", "if True"), "host-read")
    assert always.confidence is not Confidence.POSSIBLE
    assert always.context.hot


def test_a_backend_chosen_by_cuda_is_the_one_a_neuron_host_gets(tmp_path: Path) -> None:
    code = (
        "import torch\nimport torch.distributed as dist\n"
        "backend = 'nccl' if torch.cuda.is_available() else 'gloo'\n"
        "dist.init_process_group(backend=backend)\n"
    )
    assert not found(tmp_path, code, "api/torch.distributed.init_process_group:nccl")


def test_a_type_inside_a_type_is_not_used(tmp_path: Path) -> None:
    code = (
        "from typing import Optional\nfrom torch_sparse import SparseTensor\nclass C:\n"
        "    cached: Optional[SparseTensor]\n"
    )
    rows = found(tmp_path, code, "api/torch_sparse.SparseTensor")
    assert all(f.verdict.value == "locks-in" for f in rows)


def test_what_the_tree_brings_from_a_library_is_judged_where_it_does(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/typing.py": "try:\n    from torch_sparse import SparseTensor\nexcept ImportError:\n    SparseTensor = None\n",
        "pkg/conv.py": "from pkg.typing import SparseTensor\n",
    }
    part = judge_files(tmp_path, files)
    rows = [f for f in part.findings if f.rule == "api/torch_sparse#import"]
    assert [f.location.path for f in rows] == ["pkg/typing.py"]


def test_a_search_that_steps_is_not_called_training(tmp_path: Path) -> None:
    code = (
        "import torch\ndef search(beams, x: torch.Tensor):\n    for i in range(9):\n"
        "        beams.step(i)\n        n = x.sum().item()\n    return n\n"
    )
    (finding,) = found(tmp_path, code, "host-read")
    assert "in the stepping loop of line 3" in finding.message


def test_a_handler_of_an_exception_is_not_every_step(tmp_path: Path) -> None:
    code = (
        "import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        try:\n"
        "            return x + 1\n        except IndexError:\n            return x.max().item()\n"
    )
    (finding,) = found(tmp_path, code, "host-read")
    assert finding.confidence is Confidence.POSSIBLE


def test_nothing_asks_after_the_program_has_ended(tmp_path: Path) -> None:
    code = (
        "import torch\ndef main():\n    assert torch.cuda.is_available(), 'no GPU'\n"
        "    n = torch.cuda.device_count()\n    torch.multiprocessing.spawn(f, nprocs=n)\n"
    )
    (finding,) = found(tmp_path, code, "api/torch.cuda.device_count")
    assert finding.verdict.value == "locks-in"


def test_how_pytorch_is_set_is_no_tensor(tmp_path: Path) -> None:
    code = (
        "import torch\nclass M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.exact = torch.are_deterministic_algorithms_enabled()\n"
        "    def forward(self, x):\n        return x if self.exact else x + 1\n"
    )
    assert not found(tmp_path, code, "tensor-branch")


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("import torch\ndef f(cfg):\n    cfg.use_gpu = torch.cuda.is_available()\n", "falls-back"),
        ("import torch\ndef f(cfg):\n    cfg.half = torch.cuda.is_available()\n", "locks-in"),
    ],
)
def test_what_is_set_on_something_else_is_judged_by_its_name(
    tmp_path: Path, code: str, verdict: str
) -> None:
    (finding,) = found(tmp_path, code, AVAILABLE)
    assert finding.verdict.value == verdict


def test_a_name_that_is_compared_with_is_a_question(tmp_path: Path) -> None:
    code = (
        "import torch.distributed as dist\nif dist.get_backend() == dist.Backend.NCCL:\n    f()\n"
        "g(dist.Backend.NCCL)\n"
    )
    rows = found(tmp_path, code, "api/torch.distributed.Backend.NCCL")
    assert [(f.location.line, f.verdict.value) for f in rows] == [(2, "locks-in"), (4, "breaks")]


def test_what_is_printed_when_something_is_wrong_is_not_every_step(tmp_path: Path) -> None:
    code = (
        "import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n"
        "        if x.max() > 1:\n            print('large', x.max())\n        print(x.max())\n"
        "        return x\n"
    )
    sure = {f.location.line: f.confidence for f in found(tmp_path, code, "tensor-formatting")}
    assert sure[5] is Confidence.POSSIBLE
    assert sure[6] is not Confidence.POSSIBLE


def test_a_remainder_in_a_function_of_the_tree_is_one(tmp_path: Path) -> None:
    code = (
        "import torch\ndef divisible_by(a, b):\n    return a % b == 0\n"
        "def train(m: torch.nn.Module, data, optimizer):\n    for i, x in enumerate(data):\n"
        "        loss = m(x).sum()\n        loss.backward()\n        optimizer.step()\n"
        "        if divisible_by(i, 100):\n            print(loss.item())\n"
    )
    sure = {f.confidence for f in found(tmp_path, code, "host-read")}
    assert sure == {Confidence.POSSIBLE}


def test_a_loop_over_no_devices_does_nothing(tmp_path: Path) -> None:
    code = (
        "import subprocess, torch\ndef main():\n    n = torch.cuda.device_count()\n"
        "    for i in range(n):\n        subprocess.Popen(['python', str(i)])\n"
    )
    (finding,) = found(tmp_path, code, "api/torch.cuda.device_count")
    assert finding.verdict.value == "diverges"  # nothing raises
    assert "does nothing" in finding.message


def test_what_only_skips_tests_chooses_no_device(tmp_path: Path) -> None:
    code = (
        "import pytest, torch\nCUDA = torch.cuda.is_available()\n"
        "@pytest.mark.skipif(not CUDA, reason='')\ndef test_it():\n    torch.zeros(1).cuda()\n"
    )
    (finding,) = found(tmp_path, code, AVAILABLE)
    assert finding.verdict.value == "locks-in"


def test_an_option_is_no_method(tmp_path: Path) -> None:
    code = "import os, torch\ndef f(args):\n    os.environ['CUDA_VISIBLE_DEVICES'] = args.cuda\n"
    assert not found(tmp_path, code, "api/torch.Tensor.cuda")
    code = "import torch\ndef f(args):\n    return map(torch.zeros(1).cuda, args)\n"
    assert found(tmp_path, code, "api/torch.Tensor.cuda")


def test_a_name_is_no_tensor_where_nothing_has_to_do_with_pytorch(tmp_path: Path) -> None:
    code = (
        "import theano\ntt = theano.tensor\ndef f(tensor):\n    return tensor.tan() + tt.tan(1)\n"
    )
    assert not found(tmp_path, code, "operator-support")


def test_what_the_other_branch_moves_too_does_not_stay_on_the_cpu(tmp_path: Path) -> None:
    head = "import torch\ndef f(device, x: torch.Tensor):\n"
    choice = "    return x.cuda(0) if device.type == 'cuda' else x.to({})\n"
    (finding,) = found(tmp_path, head + choice.format("device"), "api/torch.Tensor.cuda")
    assert finding.verdict.value == "locks-in"
    assert finding.fix is None
    (finding,) = found(tmp_path, head + choice.format("'cpu'"), "api/torch.Tensor.cuda")
    assert finding.verdict.value == "falls-back"
    branches = "    if device.type == 'cuda':\n        x = x.cuda()\n    else:\n        x = {}.to(device)\n"
    (finding,) = found(tmp_path, head + branches.format("x"), "api/torch.Tensor.cuda")
    assert finding.verdict.value == "locks-in"
    (finding,) = found(tmp_path, head + branches.format("device"), "api/torch.Tensor.cuda")
    assert finding.verdict.value == "falls-back"


@pytest.mark.parametrize(
    ("test", "verdict"),
    [
        ('device.type == "cuda"', "locks-in"),
        ('device.startswith("cuda")', "locks-in"),
        ('device.type == "cuda" and device.index is None', "locks-in"),
        ("torch.cuda.is_available()", "falls-back"),
        ('device.type == "cuda" and torch.cuda.is_available()', "falls-back"),
        ("rank > 0", "breaks"),
    ],
)
def test_a_device_where_a_given_one_is_asked_about(tmp_path, test, verdict):
    """Another device that is given goes the other way; a host without CUDA takes the CPU."""
    code = (
        "import torch\n\ndef place(device, rank):\n"
        f"    if {test}:\n        return torch.device(f'cuda:{{rank}}')\n"
        "    return torch.device(device)\n"
    )
    (finding,) = found(tmp_path, code, "hardcoded-cuda-device")
    assert str(finding.verdict) == verdict


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("def f(a, b):\n    assert not (a.is_cuda or b.is_cuda)\n", "lets Neuron's tensors pass"),
        (
            "def f(a):\n    if a.is_cuda:\n        raise ValueError\n    return a\n",
            "lets Neuron's tensors pass",
        ),
        ("def f(a, b):\n    assert a.is_cuda == b.is_cuda\n", "lets Neuron's tensors pass"),
        ("def f(a):\n    if a.is_cuda:\n        return g(a)\n    return a\n", "is not taken"),
    ],
)
def test_a_test_of_a_tensor_says_which_way_it_goes(tmp_path: Path, code: str, says: str) -> None:
    head = "import torch\n"
    rows = found(tmp_path, head + code, "api/torch.Tensor.is_cuda")
    assert rows
    assert all(says in row.message for row in rows)
    assert not found(tmp_path, head + code, "cuda-required")


def test_what_is_stopped_for_is_said_once(tmp_path: Path) -> None:
    code = "import torch\ndef f(a, b):\n    assert a.is_cuda and b.is_cuda\n"
    assert found(tmp_path, code, "cuda-required")
    assert not found(tmp_path, code, "api/torch.Tensor.is_cuda")


OVERRIDDEN = "import torch\ndef make(n, device='cuda'):\n    return torch.zeros(n, device=device)\n"


@pytest.mark.parametrize(
    ("calls", "confidence"),
    [
        ("", "certain"),
        ("make(1, device=d)\nmake(2, 'cpu')\n", "likely"),
        ("make(1, device=d)\nmake(2)\n", "certain"),
        ("make(1, **options)\n", "certain"),
        ("make(*sizes, d)\n", "certain"),
    ],
)
def test_a_default_that_every_call_overrides_is_less_sure(
    tmp_path: Path, calls: str, confidence: str
) -> None:
    code = OVERRIDDEN + calls
    (finding,) = found(tmp_path, code, "cuda-default-device")
    assert finding.confidence.value == confidence
    assert ("known call" in finding.message) is (confidence == "likely")


def test_a_default_of_what_only_its_module_calls_is_hardly_taken(tmp_path: Path) -> None:
    files = {
        "a.py": "import torch\ndef _make(device='cuda'):\n    return torch.zeros(1, device=device)\n_make(d)\n",
        "b.py": "import torch\nclass M:\n    def __init__(self, device='cuda'):\n        self.d = device\n",
        "c.py": "from b import M\nM(device=d)\n",
        "d.py": "from dataclasses import dataclass\n@dataclass\nclass C:\n    device: str = 'cuda'\n",
        "e.py": "from d import C\nC(device='cpu')\n",
    }
    part = judge_files(tmp_path, files)
    rows = [f for f in part.findings if f.rule == "cuda-default-device"]
    assert {f.location.path: f.confidence.value for f in rows} == {
        "a.py": "possible",
        "b.py": "likely",
        "d.py": "likely",
    }


PLACED = [
    "    to = None if torch.cuda.is_available() else 'cpu'\n",
    "    to = 'cpu'\n    if torch.cuda.is_available():\n        to = 'cuda:0'\n",
    "    if torch.cuda.is_available():\n        to = None\n    else:\n        to = torch.device('cpu')\n",
]
READ = [
    *PLACED,
    "    to = None\n    if not torch.cuda.is_available():\n        to = lambda storage, place: storage\n",
    "    if torch.cuda.is_available():\n        to = lambda storage, place: storage.cuda()\n"
    "    else:\n        to = 'cpu'\n",
]


@pytest.mark.parametrize("load", ["torch.load(p, map_location=to)", "torch.load(p, to)"])
@pytest.mark.parametrize("body", READ)
def test_where_a_checkpoint_is_read_leaves_no_chip_idle(
    tmp_path: Path, body: str, load: str
) -> None:
    code = f"import torch\ndef f(p):\n{body}    return {load}\n"
    (finding,) = found(tmp_path, code, AVAILABLE)
    assert finding.verdict.value == "locks-in"


@pytest.mark.parametrize("body", PLACED)
def test_what_is_used_for_something_else_too_chooses_a_device(tmp_path: Path, body: str) -> None:
    code = f"import torch\ndef f(p, m):\n{body}    m.to(to)\n    return torch.load(p, map_location=to)\n"
    (finding,) = found(tmp_path, code, AVAILABLE)
    assert finding.verdict.value == "falls-back"


def test_options_of_a_load_say_where_it_reads(tmp_path: Path) -> None:
    code = (
        "import torch\ndef f(p):\n"
        "    options = {'map_location': None if torch.cuda.is_available() else 'cpu'}\n"
        "    return torch.load(p, **options)\n"
    )
    (finding,) = found(tmp_path, code, AVAILABLE)
    assert finding.verdict.value == "locks-in"


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("    return torch.load(p, map_location={})\n", "locks-in"),
        ("    return torch.load(p, {})\n", "locks-in"),
        ("    return torch.load(p, map_location=torch.device({}))\n", "locks-in"),
        ("    to = {}\n    return torch.load(p, map_location=to)\n", "locks-in"),
        ("    to = torch.device({})\n    return torch.load(p, to)\n", "locks-in"),
        ("    to = {}\n    m.to(to)\n    return torch.load(p, map_location=to)\n", "falls-back"),
        ("    return torch.zeros(1, device={})\n", "falls-back"),
        ("    return m.to(torch.device({}))\n", "falls-back"),
    ],
)
def test_a_choice_of_where_a_checkpoint_is_read_is_a_note(
    tmp_path: Path, body: str, verdict: str
) -> None:
    choice = "'cuda' if torch.cuda.is_available() else 'cpu'"
    code = f"import torch\ndef f(p, m):\n{body.format(choice)}"
    (finding,) = found(tmp_path, code, "cuda-or-cpu-choice")
    assert finding.verdict.value == verdict


@pytest.mark.parametrize(
    ("kind", "verdict", "confidence"),
    [
        ("'cuda' if 'cuda' in device else 'cpu'", "locks-in", "likely"),
        ("'cpu' if flag else 'cuda'", "diverges", "likely"),
        ("'cuda' if flag else 'cpu'", "diverges", "likely"),
        ("'cuda'", "diverges", "certain"),
    ],
)
def test_autocast_for_the_device_that_was_given(
    tmp_path: Path, kind: str, verdict: str, confidence: str
) -> None:
    """With another device it is for that one: CUDA's is not the one that Neuron gets."""
    code = (
        "import torch\nfrom contextlib import nullcontext\ndevice = 'cuda'\n"
        f"kind = {kind}\n"
        "scope = nullcontext() if kind == 'cpu' else torch.amp.autocast(device_type=kind, dtype=t)\n"
    )
    (finding,) = found(tmp_path, code, "api/torch.amp.autocast:cuda")
    assert finding.verdict.value == verdict
    assert finding.confidence.value == confidence


@pytest.mark.parametrize(
    ("body", "seldom"),
    [
        ("if self.ready:\n    return x\nn = {read}\nself.ready = True\n", True),
        ("if not self.ready:\n    n = {read}\n    self.ready = True\n", True),
        ("if self.n is not None:\n    return self.n\nself.n = {read}\n", True),
        ("if self.n is None:\n    y = f(x)\n    self.n = y\n    k = {read}\n", True),
        ("if self.first and self.training:\n    n = {read}\n    self.first = False\n", True),
        ("if not hasattr(self, 'n'):\n    self.n = {read}\n", True),
        ("if self.initialized.item() == 0:\n    n = {read}\n    self.initialized.fill_(1)\n", True),
        # What is set says nothing of the condition, is set again, or not at all.
        ("if not self.training:\n    return x\nn = {read}\n", False),
        ("if self.bias is None:\n    n = {read}\n", False),
        ("if not self.ready:\n    n = {read}\n    self.ready = False\n", False),
        ("self.n = None\nif self.n is None:\n    self.n = {read}\n", False),
        ("if self.ready:\n    return x\nself.other = True\nn = {read}\n", False),
        ("if self.initialized:\n    n = {read}\n", False),
        ("if x.ndim < 2:\n    return x\nn = {read}\n", False),
    ],
)
def test_what_happens_the_first_time_only_is_not_every_step(
    tmp_path: Path, body: str, seldom: bool
) -> None:
    lines = body.format(read="x.sum().tolist()").splitlines()
    code = (
        "import torch\nclass M(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n"
        + "".join(f"        {line}\n" for line in lines)
        + "        return x\n"
    )
    (row,) = (f for f in found(tmp_path, code, "host-read") if "tolist" in f.message)
    assert (row.confidence is Confidence.POSSIBLE) is seldom
    assert row.context.hot is not seldom
    assert row.message.endswith("but this does not") is seldom


def test_the_format_of_quantized_weights_is_not_called_a_choice(tmp_path: Path) -> None:
    code = (
        "import torch\nclass QuantLinear(torch.nn.Module):\n"
        "    def pack(self, scales: torch.Tensor):\n        self.scales = scales.half()\n"
        "class Plain(torch.nn.Module):\n"
        "    def forward(self, x: torch.Tensor):\n        return x.half()\n"
    )
    packed, plain = found(tmp_path, code, "float16-tensor")
    assert packed.confidence is Confidence.POSSIBLE
    assert "quantized" in packed.message
    assert plain.confidence is not Confidence.POSSIBLE


def test_take_along_dim_is_not_advised_a_narrow_index(tmp_path: Path) -> None:
    code = "import torch\ndef f(x: torch.Tensor, i):\n    return torch.take_along_dim(x, i, 1)\n"
    (finding,) = found(tmp_path, code, "int64-gather")
    assert "takes int64 alone" in finding.by_target["native@2.33"].replacement


def test_autocast_that_is_switched_off_is_not_switched_on(tmp_path: Path) -> None:
    code = (
        "import torch\ndef f(x, on):\n    with torch.autocast('cuda', enabled=False):\n"
        "        pass\n    with torch.autocast('cuda', enabled=on):\n        pass\n"
        "    with torch.cuda.amp.autocast(enabled=False):\n        pass\n"
    )
    part = judge_files(tmp_path, {"case.py": code})
    rows = {f.location.line: f for f in part.findings if "autocast" in f.rule}
    assert [rows[n].rule for n in (3, 5, 7)] == [
        "api/torch.amp.autocast:cuda-off",
        "api/torch.amp.autocast:cuda",
        "api/torch.cuda.amp.autocast:off",
    ]
    assert all("enabled=False" in v.replacement for v in rows[3].by_target.values())


def test_counting_down_is_a_loop_over_something(tmp_path: Path) -> None:
    code = (
        "import torch\ndef f(x: torch.Tensor, i, n):\n    for k in range(n - 1, 0, -1):\n"
        "        x = torch.gather(x, 1, i)\n    for k in range(-n, 0):\n"
        "        x = torch.gather(x, 1, i)\n    return x\n"
    )
    verdicts = [f.verdict.value for f in found(tmp_path, code, "int64-gather")]
    assert verdicts == ["slow", "slow"]


def test_another_way_is_taken_first_where_a_library_is_missing(tmp_path: Path) -> None:
    code = (
        "try:\n    import tinycudann as tcnn\n    THERE = True\nexcept (ImportError, OSError):\n"
        "    THERE = False\ndef make(kind, n):\n    if kind == 'tcnn' and not THERE:\n"
        "        print('slow')\n    elif kind == 'tcnn':\n        return tcnn.Encoding(n, {})\n"
        "    if kind != 'torch':\n        return tcnn.Encoding(n, {})\n"
    )
    verdicts = [f.verdict.value for f in found(tmp_path, code, "api/tinycudann.Encoding")]
    assert verdicts == ["locks-in", "breaks"]


def test_asking_for_a_float8_dtype_makes_none(tmp_path: Path) -> None:
    code = (
        "import torch\ndef f(m: torch.nn.Module, x: torch.Tensor):\n"
        "    if x.dtype == torch.float8_e4m3fn:\n        return x\n"
        "    return x.to(torch.float8_e4m3fn)\n"
        "def most():\n    return torch.finfo(torch.float8_e4m3fn).max\n"
        "def asks(d):\n    return d in [torch.float8_e4m3fn, torch.float8_e5m2]\n"
    )
    lines = [f.location.line for f in found(tmp_path, code, "api/torch.float8_e4m3fn")]
    assert lines == [5]


def test_setting_one_value_is_not_reported_to_be_slow(tmp_path: Path) -> None:
    code = (
        "import torch\nclass M(torch.nn.Module):\n    def forward(self, x: torch.Tensor, i, s):\n"
        "        a = torch.zeros_like(x).scatter_(1, i, 1)\n        return a + x.scatter_(1, i, s)\n"
    )
    lines = [f.location.line for f in found(tmp_path, code, "operator-support")]
    assert lines == [5]


def test_whether_something_is_there_is_no_comparison_of_back_ends(tmp_path: Path) -> None:
    code = (
        "from torch.utils.cpp_extension import CUDA_HOME\n"
        "if CUDA_HOME is not None:\n    print(CUDA_HOME)\n"
    )
    told = [f.message for f in found(tmp_path, code, "api/torch.utils.cpp_extension.CUDA_HOME")]
    assert told
    assert not any("is compared" in message for message in told)


def test_the_norm_of_a_tensor_reaches_the_vector_norm(tmp_path: Path) -> None:
    code = (
        "import torch\nclass M(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n"
        "        return x.norm(dim=-1, keepdim=True)\n"
    )
    assert found(tmp_path, code, "operator-support") == []


def test_a_kernel_of_tilelang_is_one_finding(tmp_path: Path) -> None:
    code = (
        "import tilelang\nimport tilelang.language as T\n\n\n@tilelang.jit\ndef build(n):\n"
        "    @T.prim_func\n    def kernel(a):\n        with T.Kernel(n) as bx:\n            T.clear(a)\n"
        "    return kernel\n"
    )
    part = judge_files(tmp_path, {"case.py": code})
    assert [f.location.line for f in part.findings if f.location.line > 2] == [5]


@pytest.mark.parametrize(
    ("test", "says"),
    [
        ("torch.isnan(y).any() and DEBUG", "ask DEBUG first"),
        ("(torch.isnan(y).any() or torch.isinf(y).any()) and debug", "ask debug first"),
        ("DEBUG and torch.isnan(y).any()", ""),
    ],
)
def test_a_switch_is_asked_before_a_tensor(tmp_path: Path, test: str, says: str) -> None:
    code = (
        "import torch\nDEBUG = False\nclass Net(torch.nn.Module):\n"
        "    def forward(self, x: torch.Tensor, debug: bool = False):\n        y = torch.relu(x)\n"
        f"        if {test}:\n            print('bad')\n        return y\n"
    )
    rows = found(tmp_path, code, "tensor-branch")
    assert rows
    advised = [v.replacement for f in rows for v in f.by_target.values()]
    assert all(says in text for text in advised)
    assert says or not any("first" in text for text in advised)


def test_two_strided_dimensions_are_not_stacked(tmp_path: Path) -> None:
    code = (
        "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n"
        "        y = torch.zeros_like(x)\n        y[..., ::2] = x[..., 1::2]\n"
        "        y[..., 1::2] = x[..., ::2]\n"
        "        y[:, ::2, ::2] = x[:, 1::2, 1::2]\n        return y\n"
    )
    rows = found(tmp_path, code, "strided-slice-assignment")
    advised = [f.by_target["native@2.33"].replacement for f in rows]
    assert ["where" in text for text in advised] == [False, False, True]


@pytest.mark.parametrize(
    ("test", "is_nccl"),
    [
        ("def test_it(context_single_node_nccl):", True),
        ("def test_sync_nccl():", True),
        ("def test_sync(context_gloo):", False),
    ],
)
def test_a_test_of_nccl_gets_a_backend(tmp_path: Path, test: str, is_nccl: bool) -> None:
    code = (
        "import pytest, torch\n@pytest.mark.skipif(torch.cuda.device_count() < 1, reason='GPU')\n"
        f"{test}\n    pass\n"
    )
    (finding,) = found(tmp_path, code, "cuda-only-test")
    advised = [v.replacement for v in finding.by_target.values()]
    assert all(("neuron beside nccl" in text) is is_nccl for text in advised)
