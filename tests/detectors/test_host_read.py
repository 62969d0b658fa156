"""How sure it is that a value is waited for."""

from __future__ import annotations

import pytest

from neuronport.findings import Confidence
from tests.rules.judging import judge_files

CODE = """
import torch

def train(model, opt, loader, aux):
    for x in loader:
        loss = model(x).sum()
        extra = {start}
        if aux > 0:
            extra = model(x).mean()
        loss.backward()
        opt.step()
        print(extra.item())
"""


@pytest.mark.parametrize(
    ("start", "sure"),
    [
        # Where nothing else comes to it, nothing waits.
        ("torch.tensor(0.0)", Confidence.LIKELY),
        ("torch.zeros(3, device=x.device).sum()", Confidence.LIKELY),
        ("torch.zeros(3, device='cuda').sum()", Confidence.CERTAIN),
    ],
)
def test_what_may_still_lie_on_the_host_is_not_certain(tmp_path, start, sure):
    part = judge_files(tmp_path, {"case.py": CODE.format(start=start)}, ("native",))
    found = [f for f in part.findings if f.rule == "host-read"]
    assert [f.confidence for f in found] == [sure]


STEPS = """
import torch
from PIL import Image

class Net(torch.nn.Module):
    def forward(self, x, steps, every):
        y = torch.relu(x)
{body}
        return y
"""


def reads(tmp_path, body, rule="host-read"):
    code = STEPS.format(body="".join(f"        {line}\n" for line in body.split("\n")))
    part = judge_files(tmp_path, {"case.py": code}, ("native",))
    return [f for f in part.findings if f.rule == rule]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("if y.max().item() > 1:\n    y = y / 2", "decides the way of this very step"),
        ("top = y.max().item()\nif top > 1:\n    y = y / 2", "decides the way of this very step"),
        ("while float(y.max()) > 1:\n    y = y / 2", "decides the way of this very step"),
        ("n = int(y.sum())\ny = y[:n]", "a size has to be known"),
        ("n = y.sum().item()\ny = torch.zeros(n, device=y.device)", "a size has to be known"),
        ("for i in range(int(y.sum())):\n    y = y + i", "a size has to be known"),
        ("n = y.sum().item()\ny = y.view(n, -1)", "a size has to be known"),
        ("assert y.max().item() < 3", "when the loss is read"),
        ("if y.max().item() > 3:\n    raise ValueError('too large')", "when the loss is read"),
        ("print(y.sum().item())", "read every N steps"),
    ],
)
def test_the_advice_is_by_what_becomes_of_the_value(tmp_path, body, says):
    found = reads(tmp_path, body)
    assert found
    for finding in found:
        assert says in finding.by_target["native@2.33"].replacement


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("if y.max() > 1:\n    y = y / 2", "torch.where"),
        ("assert not y.isnan().any()", "when the loss is read"),
        ("if y.isnan().any():\n    raise ValueError", "when the loss is read"),
        ("while y.max() > 1:\n    y = y / 2", "a fixed number of rounds"),
        (
            "for i in range(steps):\n    if (y > 1).all():\n        break",
            "a fixed number of rounds",
        ),
    ],
)
def test_the_advice_is_by_what_a_test_decides(tmp_path, body, says):
    found = reads(tmp_path, body, "tensor-branch")
    assert found
    for finding in found:
        assert says in finding.by_target["native@2.33"].replacement


@pytest.mark.parametrize(
    "asked",
    [
        "ndimension()",
        "dim()",
        "nelement()",
        "is_floating_point()",
        "element_size()",
        "is_complex()",
        "stride(0)",
        "get_device()",
        "data_ptr()",
        "is_contiguous()",
        "storage_offset()",
        "is_leaf",
    ],
)
def test_what_the_host_knows_of_a_tensor_is_not_read(tmp_path, asked):
    body = f"if y.{asked}:\n    y = y * int(y.{asked})"
    assert not reads(tmp_path, body) + reads(tmp_path, body, "tensor-branch")


def sure(found):
    return [f.confidence is not Confidence.POSSIBLE for f in found]


def test_what_is_read_for_an_error_is_not_read_in_every_step(tmp_path):
    body = "if steps > 3:\n    bad = y.sum().item()\n    raise ValueError(bad)"
    assert sure(reads(tmp_path, body)) == [False]
    assert sure(reads(tmp_path, body.replace("raise ValueError(bad)", "y = y + bad"))) == [True]
    body = "if steps > 3 and y.sum().item() > 3:\n    raise ValueError(y)"
    assert sure(reads(tmp_path, body)) == [True]


def test_what_is_left_by_a_remainder_is_not_every_step(tmp_path):
    body = "if not steps % every == 0:\n    return y\nprint(y.sum().item())"
    assert sure(reads(tmp_path, body)) == [False]
    nested = (
        "if steps > 3:\n    if steps % every != 0:\n        return y\nelse:\n    y = y + 1\n"
        "print(y.sum().item())"
    )
    assert sure(reads(tmp_path, nested)) == [False]
    assert sure(reads(tmp_path, nested.replace("steps % every", "every"))) == [True]
    looped = "for i in range(steps):\n    if i % every:\n        continue\nprint(y.sum().item())"
    assert sure(reads(tmp_path, looped)) == [True]


def test_callees_after_a_remainder_are_not_called_in_every_step(tmp_path):
    code = """
import torch

def show(x: torch.Tensor):
    print(x.mean().item())

def sample(step, every, x: torch.Tensor):
    if step > 0:
        if step % every != 0:
            return
    show(x)

def train(model, opt, loader, every):
    for step, x in enumerate(loader):
        loss = model(x).sum()
        loss.backward()
        opt.step()
        sample(step, every, loss)
"""
    for text, expected in ((code, False), (code.replace("step % every", "every"), True)):
        part = judge_files(tmp_path, {"case.py": text}, ("native",))
        assert sure([f for f in part.findings if f.rule == "host-read"]) == [expected]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return y.cpu()", False),
        ("Image.fromarray(y.cpu().numpy()).save('a.png')", False),
        ("z = y.detach().cpu().numpy()\nImage.fromarray(z).save('a.png')", False),
        # Read to go on with.
        ("z = y.cpu().tolist()\ny = y + len(z)", True),
        ("y = torch.sort(y.cpu())[0].to(x.device)", True),
    ],
)
def test_a_result_has_to_be_read(tmp_path, body, expected):
    assert sure(reads(tmp_path, body)) == [expected]


def test_what_converts_results_reads_them_because_they_are_wanted(tmp_path):
    code = """
import torch

def {name}(x: torch.Tensor):
    y = x.detach().cpu().float().numpy()
    return (y + 1) / 2 * 255

def test(model, loader):
    for x in loader:
        {name}(model(x.cuda()))

def train(model, opt, loader):
    for x in loader:
        loss = model(x.cuda())
        loss.backward()
        opt.step()
        {name}(loss)
"""
    for name, expected in (("tensor2im", False), ("normalise", True)):
        part = judge_files(tmp_path, {"case.py": code.format(name=name)}, ("native",))
        assert sure([f for f in part.findings if f.rule == "host-read"]) == [expected]


def test_a_key_of_a_dictionary_of_tensors_is_no_tensor(tmp_path):
    body = "out = {'a': y}\nfor k, v in out.items():\n    print(f'{k}')"
    assert not reads(tmp_path, body, "tensor-formatting")
    looped = "for k, v in self.net(x).items():\n    if k:\n        y = y + v"
    assert not reads(tmp_path, looped, "tensor-branch")


def test_a_size_that_is_asked_does_not_decide_by_the_value(tmp_path):
    body = "z = y.cpu()\nif z.size(0) > 1:\n    z = z + 1\ny = z.to(x.device)"
    (found,) = reads(tmp_path, body)
    assert "decides the way" not in found.by_target["native@2.33"].replacement


def test_reads_in_a_loop_of_one_step_are_read_together(tmp_path):
    body = "for p in self.parameters():\n    every += p.grad.norm().item()"
    (found,) = reads(tmp_path, body)
    assert "torch.stack" in found.by_target["native@2.33"].replacement


def test_lengths_are_known_to_the_host_before(tmp_path):
    (found,) = reads(tmp_path, "lengths = y.long()\nprint(lengths.tolist())")
    assert "a size has to be known" in found.by_target["native@2.33"].replacement


def found(tmp_path, code, name="case.py"):
    part = judge_files(tmp_path, {name: code}, ("native",))
    return [f for f in part.findings if f.rule == "host-read"]


OPTIMIZER = """
import torch

class Base({base}):
    pass

class Own(Base):
    def step(self):
        for p in self.parameters():
            n = (p.grad ** 2).sum().item()
            p.grad.mul_(n)
"""


@pytest.mark.parametrize(
    ("base", "hot"),
    [("torch.optim.Optimizer", True), ("torch.optim.lr_scheduler.LRScheduler", False)],
)
def test_the_step_of_an_optimizer_is_one(tmp_path, base, hot):
    assert bool(found(tmp_path, OPTIMIZER.format(base=base))) is hot


BACKWARD = """
import torch

class Svi:
    def {name}(self, model, x):
        loss = model(x).sum()
        loss.backward()
        return loss.item()
"""


def test_beside_a_backward_pass_is_a_step(tmp_path):
    assert found(tmp_path, BACKWARD.format(name="loss_of"))
    assert not found(tmp_path, BACKWARD.format(name="test_loss"))
    assert not found(tmp_path, BACKWARD.format(name="loss_of").replace("loss.backward()", "pass"))


def test_what_runs_once_after_a_training_is_no_step(tmp_path):
    code = (
        "import torch\n\ndef weigh(model, data):\n    for x in data:\n        loss = model(x).sum()\n"
        "        loss.backward()\n    return loss.item()\n"
    )
    assert not found(tmp_path, code)


def test_what_is_taken_out_of_keywords_is_no_tensor(tmp_path):
    code = (
        "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x, **params):\n"
        "        flag = params.pop('flag', False)\n        if not flag:\n            x = x.sum()\n"
        "        return x\n"
    )
    part = judge_files(tmp_path, {"case.py": code}, ("native",))
    assert not [f for f in part.findings if f.rule == "tensor-branch"]


def test_a_test_for_nan_is_a_check(tmp_path):
    body = "if y.isnan().any():\n    y = torch.nan_to_num(y)"
    (found,) = reads(tmp_path, body, "tensor-branch")
    assert "nan_to_num" in found.by_target["native@2.33"].replacement


def test_a_negated_question_that_raises_is_a_check(tmp_path):
    body = "if not torch.equal(y, x.relu()):\n    raise ValueError('differs')"
    for finding in reads(tmp_path, body):
        assert "when the loss is read" in finding.by_target["native@2.33"].replacement
