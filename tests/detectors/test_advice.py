"""What to write instead fits what is there: the value by its name, settings that are only read."""

from __future__ import annotations

from tests.rules.judging import judge_files


def advice(tmp_path, code: str, rule: str) -> str:
    part = judge_files(tmp_path, {"case.py": code}, ("native",))
    (found,) = (f for f in part.findings if f.rule == rule)
    (judged,) = found.by_target.values()
    return judged.replacement


STEP = """\
import torch
class Net(torch.nn.Module):
    def forward(self, x, loss):
        mask = x > 0.5
        {read}
        return x
"""


def test_a_mask_is_no_loss(tmp_path):
    said = advice(tmp_path, STEP.format(read="m = mask.cpu()"), "host-read")
    assert said.startswith("keep mask on the device")
    assert "detach" not in said


def test_a_number_has_its_name(tmp_path):
    said = advice(tmp_path, STEP.format(read="n = mask.sum().item()"), "host-read")
    assert said == "keep mask.sum() on the device (mask.sum().detach()), read every N steps"


def test_a_loss_is_one(tmp_path):
    said = advice(tmp_path, STEP.format(read="n = loss.item()"), "host-read")
    assert said.startswith("accumulate on the device (loss.detach())")


def test_a_long_value_has_none(tmp_path):
    read = "m = x.view(-1).float().sum(dim=0).mean().clamp(0, 1).abs().cpu()"
    assert advice(tmp_path, STEP.format(read=read), "host-read").startswith("keep it on the device")


def test_a_setting_that_is_set(tmp_path):
    code = "import torch\ntorch.backends.cudnn.benchmark = True\n"
    assert advice(tmp_path, code, "api/torch.backends.cudnn.benchmark").startswith("remove")


def test_a_setting_that_is_only_read(tmp_path):
    code = "import torch\nflags = [torch.backends.cudnn.benchmark]\n"
    said = advice(tmp_path, code, "api/torch.backends.cudnn.benchmark")
    assert said.startswith("it is only read here")


def test_help_for_one_size_says_so_first(tmp_path):
    code = (
        "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n"
        "        return torch.inverse(x)\n"
    )
    part = judge_files(tmp_path, {"case.py": code}, ("native",))
    (found,) = (f for f in part.findings if f.rule == "operator-support")
    (judged,) = found.by_target.values()
    assert judged.replacement.startswith("Only for size 2: Inverse of 2 x 2 matrices")
