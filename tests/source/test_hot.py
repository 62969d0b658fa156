"""What runs every step: loops that run a model, and what is called in them."""

from __future__ import annotations

import pytest

from tests.source.viewing import view_of

GENERATE = """\
import torch

def pick(logits):
    return torch.sort(logits)

def generate(model, ids):
    for _ in range(8):
        ids = pick(model(ids))
    return ids
"""


def why(tmp_path, code: str) -> str:
    view = view_of(tmp_path, code)
    (sort,) = (e for e in view.facts.events if e.name == "torch.sort")
    return view.hot(sort)


def test_what_is_called_where_a_model_generates(tmp_path):
    assert why(tmp_path, GENERATE) == "called in the loop of case.generate that runs the model"


def test_a_method_of_the_model_that_runs_itself(tmp_path):
    code = (
        "import torch\nclass Net(torch.nn.Module):\n    def pick(self, x):\n"
        "        return torch.sort(x)\n    def sample(self, x):\n        while True:\n"
        "            x = self.pick(self(x))\n"
    )
    assert why(tmp_path, code) == "called in the loop of Net.sample that runs the model"


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("def generate(", "def write("),
        ("pick(model(ids))", "pick(ids)"),
        ("pick(model(ids))", "pick(ids)\n    model(ids)"),
        ("model(ids)", "tokenizer(ids)"),
        ("for _ in range(8):", "if ids:"),
    ],
)
def test_no_loop_of_a_generation(tmp_path, was, now):
    assert why(tmp_path, GENERATE.replace(was, now)) == ""


def test_what_happens_every_so_many_tokens_is_seldom(tmp_path):
    code = GENERATE.replace(
        "        ids = pick(model(ids))",
        "        ids = model(ids)\n        if _ % 8 == 0:\n            pick(ids)",
    )
    assert why(tmp_path, code).endswith("though not in every step")


METER = """\
import torch

class Meter:
    def update(self, loss):
        return torch.sort(loss)

def train(model, loader, optimizer):
    meter = Meter()
    for x in loader:
        loss = model(x)
        loss.backward()
        optimizer.step()
        meter.update(loss)
"""


def test_a_method_of_an_object_that_is_made_here(tmp_path):
    assert why(tmp_path, METER) == "called in the training loop of case.train"


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("meter = Meter()", "meter = make(Meter)"),
        ("        meter.update(loss)", "    meter.update(loss)"),
        ("    meter = Meter()\n", "    meter = Other() if model else Meter()\n"),
    ],
)
def test_another_object(tmp_path, was, now):
    assert why(tmp_path, METER.replace(was, now)) == ""


def test_a_module_that_was_moved_is_the_same(tmp_path):
    code = (
        "import torch\nclass Net(torch.nn.Module):\n    def norm(self):\n"
        "        return torch.sort(self.w)\ndef train(loader, opt, device):\n    net = Net()\n"
        "    net = net.cuda() if device.type == 'cuda' else net.to(device)\n    net = net.train()\n"
        "    for x in loader:\n        opt.step()\n        net.norm()\n"
    )
    assert why(tmp_path, code) == "called in the training loop of case.train"


@pytest.mark.parametrize("over", ["self.optimizers", "enumerate(optimizers)", "opt.param_groups"])
def test_a_loop_over_the_optimizers_of_a_step_is_no_training_loop(tmp_path, over):
    code = (
        "import torch\ndef step(self, optimizers, opt, logits):\n"
        f"    for optimizer in {over}:\n        torch.sort(logits)\n        optimizer.step()\n"
    )
    assert why(tmp_path, code) == ""
    epochs = code.replace(over, "loader")
    assert why(tmp_path, epochs) == "in the training loop of line 3"


STEP = """\
import torch

class Net(torch.nn.Module):
    def prepare(self, x):
        return torch.sort(x)

    def forward(self, x):
{body}
        return x
"""


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("        self.prepare(x)", "called from Net.forward, forward runs every step"),
        (
            "        if not self.initialized:\n            self.prepare(x)",
            "called from Net.forward, though not in every step",
        ),
        (
            "        if not self.initialized:\n            self.prepare(x)\n        self.prepare(x)",
            "called from Net.forward, forward runs every step",
        ),
        (
            "        if self.initialized:\n            self.prepare(x)",
            "called from Net.forward, forward runs every step",
        ),
    ],
)
def test_what_is_called_the_first_time_only_is_seldom(tmp_path, body, says):
    assert why(tmp_path, STEP.format(body=body)) == says


TURNED = """\
import torch

class Net(torch.nn.Module):
    def back(self, x):
        return torch.sort(x)

    def forward(self, x, reverse={default}):
        if {test}:
            return self.back(x)
        return self.other(x)

    def other(self, x):
        return {elsewhere}
"""


@pytest.mark.parametrize(
    ("default", "test", "elsewhere", "says"),
    [
        ("False", "reverse", "x", "called from Net.forward, though not in every step"),
        ("True", "reverse", "x", "called from Net.forward, forward runs every step"),
        ("False", "not reverse", "x", "called from Net.forward, forward runs every step"),
        (
            "False",
            "reverse",
            "self.forward(x, True)",
            "called from Net.forward, forward runs every step",
        ),
        (
            "False",
            "reverse",
            "self.forward(x, reverse=x.flag)",
            "called from Net.forward, forward runs every step",
        ),
    ],
)
def test_what_nobody_turns_on_is_seldom(tmp_path, default, test, elsewhere, says):
    code = TURNED.format(default=default, test=test, elsewhere=elsewhere)
    assert why(tmp_path, code) == says
    assert "every step" in why(tmp_path, code.replace("reverse", "compute_loss"))


def test_a_function_that_makes_the_next_token_is_given_the_model(tmp_path):
    code = GENERATE.replace("pick(model(ids))", "pick(next_token(model, ids))")
    code += "\ndef next_token(model, ids):\n    return model(ids)\n"
    assert why(tmp_path, code) == "called in the loop of case.generate that runs the model"
    assert not why(tmp_path, code.replace("next_token(model, ids))", "next_token(ids, model))"))


@pytest.mark.parametrize(("end", "now_and_then"), [("break", True), ("pass", False)])
def test_what_is_called_as_a_loop_ends_runs_once(tmp_path, end, now_and_then):
    code = (
        "import torch\ndef report(x):\n    return torch.sort(x)\n"
        "def fit(model, optimizer, batches, most):\n    for x in batches:\n"
        f"        if x.epoch > most:\n            report(x)\n            {end}\n"
        "        loss = model(x)\n        loss.backward()\n        optimizer.step()\n"
    )
    assert why(tmp_path, code).endswith(", though not in every step") is now_and_then
