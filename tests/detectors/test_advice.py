"""What to write instead fits what is there: the value by its name, settings that are only read."""

from __future__ import annotations

import pytest

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


STEPPED = """\
import gymnasium, torch

def run(agent: torch.nn.Module, optimizer, {holder}):
    seen = {holder}.reset()
    for _ in range(100):
        chosen = agent(torch.as_tensor(seen)).sum()
        {read}
        seen, gained = {holder}.step({told})
        chosen.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("holder", "read", "told", "for_environment"),
    [
        ("env", "a = 0", "chosen.cpu().numpy()", True),
        ("train_envs", "a = int(chosen.item())", "a + 1", True),
        ("env", "n = chosen.item()", "0", False),
        ("search", "a = chosen.item()", "a", False),
    ],
)
def test_an_environment_has_to_be_told(tmp_path, holder, read, told, for_environment):
    code = STEPPED.format(holder=holder, read=read, told=told)
    said = advice(tmp_path, code, "host-read")
    assert said.startswith("the environment is on the host") is for_environment


def test_an_environment_is_known_by_how_it_is_made(tmp_path):
    code = STEPPED.format(holder="world", read="a = 0", told="chosen.cpu()")
    assert advice(tmp_path, code, "host-read").startswith("keep chosen on the device")
    made = code.replace(
        "seen = world.reset()", "world = gymnasium.make('CartPole-v1')\n    seen = 0"
    )
    assert advice(tmp_path / "made", made, "host-read").startswith("the environment is on the host")


def test_an_environment_is_told_through_a_method(tmp_path):
    code = (
        "import torch\nclass Trainer:\n    def __init__(self, env, agent: torch.nn.Module, opt):\n"
        "        self.env, self.agent, self.opt = env, agent, opt\n"
        "    def act(self, seen):\n        return self.agent(torch.as_tensor(seen)).cpu().numpy()\n"
        "    def train(self, seen):\n        for _ in range(8):\n"
        "            seen, gained = self.env.step(self.act(seen))\n"
        "            self.agent(seen).sum().backward()\n            self.opt.step()\n"
    )
    assert advice(tmp_path, code, "host-read").startswith("the environment is on the host")
