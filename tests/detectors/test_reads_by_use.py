"""What is read of a mapping, of an index, of a sum, and where float64 goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.findings import Finding
from tests.rules.judging import judge_files


def found(tmp_path: Path, code: str, rule: str) -> list[Finding]:
    part = judge_files(tmp_path, {"case.py": code}, ("native", "xla"))
    return [f for f in part.findings if f.rule == rule]


CACHED = """\
import torch
class Shift(torch.nn.Module):
    def forward(self, x, cache=None):
        if {test}:
            x = x * 2
        return x
"""


@pytest.mark.parametrize(
    ("test", "sure"),
    [
        ("cache['offset'] % 4 == 0", []),
        ("cache['seq_len'] > 3", []),
        ("cache['scores'].sum() > 3", ["possible"]),
        ("(x['offset'] * torch.relu(x['y'])).sum() > 3", ["certain"]),
        ("torch.relu(x)[0] > 3", ["certain"]),
    ],
)
def test_an_item_of_a_mapping_that_is_passed_may_be_of_the_host(
    tmp_path: Path, test: str, sure: list[str]
) -> None:
    tested = found(tmp_path, CACHED.format(test=test), "tensor-branch")
    assert [f.confidence.value for f in tested] == sure


@pytest.mark.parametrize(("key", "sure"), [("offset", []), ("scores", ["possible"])])
def test_likewise_with_a_name(tmp_path: Path, key: str, sure: list[str]) -> None:
    code = CACHED.format(test="value % 4 == 0")
    code = code.replace("        if", f"        value = cache['{key}']\n        if")
    tested = found(tmp_path, code, "tensor-branch")
    assert [f.confidence.value for f in tested] == sure


def advice(finding: Finding) -> str:
    return finding.by_target["native@2.33"].replacement


@pytest.mark.parametrize(
    ("use", "indexes"),
    [
        ("x[i]", True),
        ("(x[i], x[i + 1])", False),
        ("['a', 'b'][i]", False),
        ("(x[i], i)", False),
    ],
)
def test_what_only_indexes_needs_no_read(tmp_path: Path, use: str, indexes: bool) -> None:
    code = (
        "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
        f"        i = torch.multinomial(x, 1).item()\n        names = {use}\n        return names\n"
    )
    (read,) = found(tmp_path, code, "host-read")
    assert advice(read).startswith("it only indexes") is indexes


NORM = """\
import torch
def train(model, loader, optimizer, clip):
    for x in loader:
        model(x).sum().backward()
        {total} = 0
        for p in model.parameters():
            n = p.grad.norm(2)
            {total} += n.item() ** 2
        {after}
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("total", "after", "decides"),
    [
        ("total", "if total ** 0.5 > clip: clip = 3", True),
        ("total['a']", "if total['a'] > clip: clip = 3", True),
        ("total", "clip = clip / total", False),
        ("total", "if clip: print(total)", False),
    ],
)
def test_what_a_sum_decides_in_its_round_cannot_wait(
    tmp_path: Path, total: str, after: str, decides: bool
) -> None:
    code = NORM.format(total=total, after=after)
    code = code.replace("for x in loader:\n", "for x in loader:\n        total = {}\n")
    (read,) = found(tmp_path, code, "host-read")
    assert ("every N steps" not in advice(read)) is decides


SYNCED = """\
import torch
import torch.distributed as dist
def synchronize(count, total, device):
    t = torch.tensor([count, total], dtype=torch.float64, device=device)
    {then}
    return t.tolist()
"""


@pytest.mark.parametrize(
    ("then", "native"),
    [
        ("dist.all_reduce(t)", "breaks"),
        ("dist.barrier()", "diverges"),
        ("dist.all_reduce(t.float())", "diverges"),
        ("reduce(t)", "diverges"),
    ],
)
def test_a_collective_that_is_given_float64_fails(tmp_path: Path, then: str, native: str) -> None:
    (double,) = found(tmp_path, SYNCED.format(then=then), "float64-tensor")
    said = {name.partition("@")[0]: t.verdict.value for name, t in double.by_target.items()}
    assert said == {"native": native, "xla": "diverges"}
    assert ("all_reduce in line 5" in double.message) is (native == "breaks")


def test_a_function_of_any_of_several_star_imports_is_called(tmp_path: Path) -> None:
    train = (
        "from losses import *\nfrom case import *\ndef train(model, loader, opt):\n"
        "    for x in loader:\n        pick(model(x)).backward()\n        opt.step()\n"
    )
    files = {
        "losses.py": "def loss(x):\n    return x\n",
        "case.py": "import torch\ndef pick(x: torch.Tensor):\n    return x.cpu()\n",
        "train.py": train,
    }
    part = judge_files(tmp_path, files, ("native",))
    (read,) = (f for f in part.findings if f.rule == "host-read")
    assert "called in the training loop of train.train" in read.message


FILLED = """\
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(3, 4)
    def forward(self, x, n):
        x, _ = self.lstm(x)
        pad = {made}
        pad[:, :n] = {written}
        return pad.to(x.device)
"""


@pytest.mark.parametrize(
    ("made", "written", "reads"),
    [
        ("torch.zeros([2, 9, 4])", "x", True),
        ("torch.zeros(2, 9, 4)", "x * 2", True),
        ("torch.zeros(2, 9, 4, device=x.device)", "x", False),
        ("x.new_zeros(2, 9, 4)", "x", False),
        ("torch.zeros(2, 9, 4).to(x.device)", "x", False),
        ("torch.zeros(2, 9, 4)", "1", False),
        ("torch.zeros(2, 9, 4)", "torch.arange(4)", False),
        ("torch.zeros(2, 9, 4)", "n", False),
    ],
)
def test_a_buffer_of_the_host_is_filled_from_the_device(
    tmp_path: Path, made: str, written: str, reads: bool
) -> None:
    code = FILLED.format(made=made, written=written)
    told = [f.message for f in found(tmp_path, code, "host-read")]
    assert [m.startswith("pad is made on the host and filled") for m in told] == [True] * reads


METERS = """\
import torch
class Meters:
    def update(self, **kwargs):
        for k, v in kwargs.items():
            if isinstance(v, torch.Tensor):
                v = v.item()
            assert isinstance(v, (float, int))
            self.meters[k].update(v)
def train(model, loader, optimizer):
    meters = Meters()
    for x in loader:
        loss = model(x.cuda()).sum()
        loss.backward()
        optimizer.step()
        if isinstance(loss, torch.Tensor):
            print(loss.item())
        meters.update(loss=loss)
"""


def test_what_is_only_asked_for_its_class_may_lie_anywhere(tmp_path: Path) -> None:
    reads = {f.location.line: f for f in found(tmp_path, METERS, "host-read")}
    assert reads[6].confidence.value == "possible"
    assert "check where the data" not in advice(reads[6])
    assert reads[16].confidence.value != "possible"


@pytest.mark.parametrize(("chosen", "sure"), [("logits[y == 1]", True), ("logits * 2", False)])
def test_what_a_mask_left_is_hardly_a_vocabulary(tmp_path: Path, chosen: str, sure: bool) -> None:
    code = (
        "import torch\ndef rank(logits: torch.Tensor, y: torch.Tensor):\n"
        f"    fg_logits = {chosen}\n    return torch.argsort(fg_logits)\n"
    )
    (finding,) = found(tmp_path, code, "vocabulary-sort")
    assert (finding.confidence.value == "possible") is sure


@pytest.mark.parametrize(
    ("loop", "is_size"),
    [
        ("for n in lengths.cpu().numpy():", False),
        ("for n in lengths.tolist():", False),
        ("for n in range(lengths.max().item()):", True),
    ],
)
def test_elements_that_are_gone_through_are_no_size(
    tmp_path: Path, loop: str, is_size: bool
) -> None:
    code = (
        "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
        f"        lengths = self.layer(x)\n        {loop}\n            x = self.run(x, n)\n        return x\n"
    )
    (finding,) = [f for f in found(tmp_path, code, "host-read") if f.location.line == 5]
    assert advice(finding).startswith("a size has to be known") is is_size
    assert advice(finding).startswith("Python goes through") is not is_size


@pytest.mark.parametrize(
    ("test", "sure"),
    [
        ("n not in self.table", "possible"),
        ("n in self.table", "likely"),
        ("n not in self.other", "likely"),
    ],
)
def test_what_is_kept_by_a_key_is_read_once_for_it(tmp_path: Path, test: str, sure: str) -> None:
    code = (
        "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x, n):\n"
        f"        if {test}:\n            self.table[n] = x.cpu()\n        return self.layer(x)\n"
    )
    (finding,) = found(tmp_path, code, "host-read")
    assert finding.confidence.value == sure
