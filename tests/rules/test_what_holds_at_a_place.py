"""What findings say has to hold where they stand: kinds found wrong by reading other programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.findings import Finding
from tests.rules.judging import judge_files


def found(folder: Path, code: str, rule: str) -> list[Finding]:
    part = judge_files(folder, {"case.py": code})
    return [f for f in part.findings if f.rule == rule]


@pytest.mark.parametrize(
    ("sources", "confidence"),
    [
        ("[os.path.join(here, 'k.cpp'), os.path.join(here, 'k.cu')]", "certain"),
        ("[str(Path(here) / 'k.cu')]", "certain"),
        ("[f'{here}/k.cpp', f'{here}/k.cu']", "certain"),
        ("[os.path.join(here, name) for name in ['k.cpp', 'k.cu']]", "certain"),
        ("['k.cpp'] + [here + '/k.cu']", "certain"),
        ("sorted(glob.glob(os.path.join(here, '*.cu')))", "likely"),
        ("[os.path.join(here, 'k.cpp')]", ""),
        ("[os.path.join('old.cu', name)]", ""),
        ("[f'{kind}.cu/{name}']", ""),
        ("glob.glob(here + '/*.cpp')", ""),
    ],
)
def test_a_source_of_an_extension_is_told_by_the_end_of_its_path(
    tmp_path: Path, sources: str, confidence: str
) -> None:
    code = (
        "import glob, os\nfrom pathlib import Path\nfrom torch.utils.cpp_extension import load\n"
        f"here = os.path.dirname(__file__)\nm = load('m', sources={sources})\n"
    )
    rows = found(tmp_path, code, "api/torch.utils.cpp_extension.load:cu")
    assert [f.confidence.value for f in rows] == ([confidence] if confidence else [])


def test_a_package_is_not_a_library_in_its_own_tree(tmp_path: Path) -> None:
    own = {
        "composer/__init__.py": "",
        "composer/utils/misc.py": "",
        "examples/run.py": "import composer\nimport composer.utils.misc as misc\n",
    }
    part = judge_files(tmp_path / "own", own)
    assert not [f for f in part.findings if f.rule == "api/composer#import"]
    uses = {"examples/run.py": "import composer\nimport composer.utils.misc as misc\n"}
    part = judge_files(tmp_path / "other", uses)
    assert [f.location.line for f in part.findings if f.rule == "api/composer#import"] == [1, 2]


AVAILABLE = "api/torch.cuda.is_available"


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("    return DeviceGPU() if torch.cuda.is_available() else DeviceCPU()\n", "falls-back"),
        (
            "    if torch.cuda.is_available():\n        return DeviceGPU()\n    return DeviceCPU()\n",
            "falls-back",
        ),
        ("    return GPUStats() if torch.cuda.is_available() else None\n", "locks-in"),
        (
            "    if torch.cuda.is_available():\n        device_name = torch.cuda.get_device_name()\n",
            "locks-in",
        ),
        (
            "    is_cuda = torch.cuda.is_available()\n    if is_cuda:\n        device_name = a['gpu']\n"
            "    else:\n        device_name = a['host']\n    return device_name\n",
            "locks-in",
        ),
        (
            "    if torch.cuda.is_available():\n        s['cuda'] = torch.cuda.get_rng_state()\n",
            "locks-in",
        ),
        (
            "    if torch.cuda.is_available():\n        with torch.autocast('cuda'):\n            run()\n",
            "locks-in",
        ),
        (
            "    if torch.cuda.is_available():\n        device = pick()\n    return device\n",
            "falls-back",
        ),
    ],
)
def test_only_what_chooses_a_device_leaves_a_chip_idle(
    tmp_path: Path, code: str, verdict: str
) -> None:
    head = (
        "import torch\nclass DeviceGPU:\n    pass\nclass DeviceCPU:\n    pass\n"
        "class GPUStats:\n    pass\ndef f(a, s):\n"
    )
    (finding,) = found(tmp_path, head + code, AVAILABLE)
    assert finding.verdict.value == verdict


STEP = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(3))
    def forward(self, x):
        {code}
        return read(y)
def corners(n, device="cpu"):
    return torch.eye(n, device=device)
def padding(m):
    c = torch.tensor([[1, 2], [3, 4]], device=m.device)
    left, right = (m @ c.T).ceil().to(torch.int32)
    return left, right
def read(y):
    return y.sum().item()
"""


@pytest.mark.parametrize(
    ("code", "confidence"),
    [
        ("y = x * 2", "likely"),
        ("y = self.scale.exp()", "certain"),
        ("y = torch.zeros(3).to(x.device)", "certain"),
        ("y = torch.zeros(3, device=x.device)", "certain"),
        ("y = x * torch.tensor(2.0)", "likely"),
        ("y = torch.zeros(3).cuda()", "certain"),
        ("y = torch.zeros(3)", ""),
        ("y = torch.linalg.inv(corners(3))", ""),
        ("y, _ = padding(corners(3))", ""),
        ("y = x.cpu() + 1", ""),
        ("y = torch.from_numpy(load()).float()", ""),
        ("y = torch.tensor([1, 2] * 2)", ""),
        ("y = torch.stack(load())", "likely"),
    ],
)
def test_only_what_comes_from_the_device_waits_for_it(
    tmp_path: Path, code: str, confidence: str
) -> None:
    rows = found(tmp_path, STEP.format(code=code), "host-read")
    rows = [f for f in rows if ".item()" in f.message]
    assert [f.confidence.value for f in rows] == ([confidence] if confidence else [])


def test_where_a_test_keeps_its_tensors_says_nothing_of_the_program(tmp_path: Path) -> None:
    files = {
        "loss.py": STEP.format(code="y = x"),
        "tests/test_loss.py": "import torch\nfrom loss import read\nread(torch.zeros(3))\n",
    }
    part = judge_files(tmp_path, files)
    rows = [f for f in part.findings if f.rule == "host-read" and ".item" in f.message]
    assert [f.location.path for f in rows] == ["loss.py"]


def test_a_class_for_one_of_several_devices_is_for_that(tmp_path: Path) -> None:
    code = (
        "import torch\nclass Device:\n    backend = ''\nclass DeviceGPU(Device):\n"
        "    dist_backend = 'nccl'\n    def __init__(self, n):\n"
        "        if not torch.cuda.is_available():\n            raise ValueError('no GPU')\n"
        "        self.device = torch.device(f'cuda:{n}')\n        torch.cuda.set_device(self.device)\n"
    )
    alone = code.replace("DeviceGPU(Device)", "DeviceGPU")
    anywhere = code.replace("            raise ValueError('no GPU')\n", "            n = 0\n")
    for name, text, verdicts in (
        ("one", code, {"locks-in"}),
        ("alone", alone, {"breaks", "locks-in"}),  # behind what raises nothing comes about
        ("anywhere", anywhere, {"breaks"}),
    ):
        part = judge_files(tmp_path / name, {"case.py": text})
        rows = [f for f in part.findings if f.location.line in (5, 9, 10)]
        assert len(rows) == 3
        assert {f.verdict.value for f in rows} == verdicts
    (required,) = found(tmp_path / "again", code, "cuda-required")
    assert required.location.line == 7


@pytest.mark.parametrize(
    ("code", "left"),
    [
        ("def f(d):\n    if d.type in ('cuda', 'meta'):\n        torch.cuda.synchronize()\n", True),
        (
            "class O:\n    def start(self, d):\n        if d.type not in ('cuda', 'meta'):\n"
            "            self.on = False\n    def stop(self):\n        torch.cuda.memory._snapshot()\n",
            True,
        ),
        (
            "def f(d):\n    if d.type in ('cuda', 'meta'):\n        torch.cuda.empty_cache()\n",
            False,
        ),
        (
            "def f(d):\n    if d.type in ('cuda', 'meta'):\n        g()\n    torch.cuda.synchronize()\n",
            False,
        ),
    ],
)
def test_a_list_that_lets_in_what_is_only_for_cuda_is_left_alone(
    tmp_path: Path, code: str, left: bool
) -> None:
    (finding,) = found(tmp_path, "import torch\n" + code, "cuda-device-list")
    assert all(("leave it" in v.replacement) is left for v in finding.by_target.values())


@pytest.mark.parametrize(
    ("code", "instead"),
    [
        (
            "if t.device != torch.device('cuda'):\n        t = t.to(torch.device('cuda'))",
            "t.to(device)",
        ),
        ("if t.device.type != 'cuda':\n        t = t.cuda()", "t.to(device)"),
        ("if t.device.type != 'cuda':\n        return plain(t)", '== "cpu"'),
        ("if t.device.type == 'cuda':\n        t = fast(t)", '!= "cpu"'),
    ],
)
def test_advice_for_a_gate_has_its_sense(tmp_path: Path, code: str, instead: str) -> None:
    code = f"import torch\ndef f(t: torch.Tensor):\n    {code}\n    return t\n"
    (finding,) = found(tmp_path, code, "cuda-device-gate")
    assert instead in next(iter(finding.by_target.values())).replacement


def test_what_is_left_on_the_host_is_said_once(tmp_path: Path) -> None:
    code = (
        "import torch\nclass Head(torch.nn.Module):\n    def forward(self, x):\n"
        "        y = torch.zeros(x.size())\n        y = y.cuda() if x.is_cuda else y\n"
        "        return x * y\n"
    )
    part = judge_files(tmp_path, {"case.py": code})
    (finding,) = (f for f in part.findings if f.location.line == 5)
    assert (finding.rule, finding.verdict.value) == ("left-on-the-host", "breaks")
    assert finding.confidence.value == "certain"
    assert "y.to(x.device)" in next(iter(finding.by_target.values())).replacement


STEPS = """
import torch
from rays import net, sample

def train(optimizer, batches):
    for batch in batches:
        loss = net(batch).mean()
        loss.backward()
        optimizer.step()
        at = sample(batch)
        if at.max() > 1:
            print("far")
"""
SAMPLE = """
import torch

net = torch.nn.Linear(4, 4)

def sample(n):
    return torch.sort(torch.rand(8))[0]
"""


@pytest.mark.parametrize(
    ("first", "on_host"),
    [
        ("", True),
        ("torch.set_default_device('cpu')", True),
        ("torch.set_default_device(torch.device('cpu'))", True),
        ("torch.set_default_tensor_type('torch.FloatTensor')", True),
        ("torch.set_default_device('cuda')", False),
        ("torch.set_default_device(device)", False),
        ("torch.set_default_tensor_type('torch.cuda.FloatTensor')", False),
        ("torch.set_default_tensor_type(torch.cuda.FloatTensor)", False),
    ],
)
def test_a_default_device_is_where_tensors_are_made(
    tmp_path: Path, first: str, on_host: bool
) -> None:
    main = f"import torch\n\ndef main(device):\n    {first or 'pass'}\n"
    files = {"main.py": main, "steps.py": STEPS, "rays.py": SAMPLE}
    part = judge_files(tmp_path, files)
    rows = [f for f in part.findings if f.rule == "tensor-branch"]
    assert [f.location.line for f in rows] == ([] if on_host else [11])


CHOSEN = """
try:
    import xformers.ops
    HAS = True
except ImportError:
    HAS = False
import torch
class Plain(torch.nn.Module):
    pass
class Quick(torch.nn.Module):
    def forward(self, q):
        return xformers.ops.memory_efficient_attention(q, q, q)
MODES = {"plain": Plain, "quick": Quick}
Attention = MODES["quick" if HAS else "plain"]
"""


@pytest.mark.parametrize(
    ("code", "caught"),
    [
        (CHOSEN, True),
        (CHOSEN.replace("except ImportError:\n    HAS = False", "finally:\n    pass"), False),
        (CHOSEN.replace("import torch\n", "import torch\nimport xformers.ops\n"), False),
    ],
)
def test_a_library_that_may_be_missing_is_not_certain_to_break(
    tmp_path: Path, code: str, caught: bool
) -> None:
    (finding,) = found(tmp_path, code, "api/xformers.ops.memory_efficient_attention")
    assert not caught or finding.confidence.value != "certain"
    assert any("caught" in step.says for step in finding.related) is caught


def test_what_nobody_calls_may_run_every_step(tmp_path: Path) -> None:
    code = (
        "import torch\ndef gather(x: torch.Tensor, n):\n    if x.sum() > n:\n        return x\n"
        "    return x + 1\n"
    )
    (finding,) = found(tmp_path, code, "tensor-branch")
    assert finding.confidence.value == "possible"
    assert "no caller was found in the tree" in finding.message


def test_a_report_about_the_host_places_nothing(tmp_path: Path) -> None:
    code = (
        "import torch\ndef {name}():\n    found = {{}}\n    if torch.cuda.is_available():\n"
        "        devices = [torch.cuda.get_device_name(k) for k in range(torch.cuda.device_count())]\n"
        "    return found\n"
    )
    for name, verdict in (("collect_env", "locks-in"), ("place", "falls-back")):
        (finding,) = found(tmp_path / name, code.format(name=name), AVAILABLE)
        assert finding.verdict.value == verdict


def test_a_class_for_another_accelerator_has_no_branch_to_add(tmp_path: Path) -> None:
    code = (
        "import torch\nclass DeviceMPS:\n    def __init__(self):\n"
        "        if not torch.backends.mps.is_available():\n            raise RuntimeError('no MPS')\n"
        "        self.device = torch.device('mps')\n"
    )
    assert all(
        f.confidence.value == "possible" for f in found(tmp_path, code, "accelerator-branch")
    )


def test_an_answer_of_which_nothing_is_seen_is_not_certain(tmp_path: Path) -> None:
    code = "import torch\ndef gpus():\n    return torch.cuda.device_count()\n"
    (finding,) = found(tmp_path, code, "api/torch.cuda.device_count")
    assert finding.confidence.value == "likely"


def test_a_number_that_is_a_text_on_neuron_is_no_device_of_cuda(tmp_path: Path) -> None:
    code = (
        "import torch\ndef f(model: torch.nn.Module):\n"
        "    device = torch.cuda.current_device() if torch.cuda.is_available() else 'cpu'\n"
        "    return model.to(device=device)\n"
    )
    assert not found(tmp_path, code, "integer-device")
    code = code.replace(" if torch.cuda.is_available() else 'cpu'", "")
    assert found(tmp_path / "again", code, "integer-device")


def test_a_backend_that_may_be_neurons_is_not_nccl(tmp_path: Path) -> None:
    code = (
        "import torch.distributed as dist\nclass Device:\n    backend = ''\nclass A(Device):\n"
        "    backend = 'nccl'\nclass B(Device):\n    backend = 'xla'\n"
        "def start(kind):\n    name = A.backend if kind else {other}.backend\n"
        "    dist.init_process_group(name)\n"
    )
    rule = "api/torch.distributed.init_process_group:nccl"
    assert not found(tmp_path, code.format(other="B"), rule)
    assert found(tmp_path / "again", code.format(other="A"), rule)


def test_each_way_that_a_function_returns_counts_for_where_its_result_lies(tmp_path: Path) -> None:
    code = (
        "import torch\ndef as_tensor(x):\n    if isinstance(x, list):\n"
        "        return torch.tensor(x), True\n    return {other}\n"
        "class Net(torch.nn.Module):\n    def forward(self, x):\n        y, _ = as_tensor(x)\n"
        "        return y.sum().item()\n"
    )
    assert found(tmp_path, code.format(other="x, False"), "host-read")
    assert not found(tmp_path / "host", code.format(other="torch.zeros(3), False"), "host-read")
