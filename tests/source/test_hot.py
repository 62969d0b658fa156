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
    assert why(tmp_path, GENERATE) == "called in the generation loop of case.generate"


def test_a_method_of_the_model_that_runs_itself(tmp_path):
    code = (
        "import torch\nclass Net(torch.nn.Module):\n    def pick(self, x):\n"
        "        return torch.sort(x)\n    def sample(self, x):\n        while True:\n"
        "            x = self.pick(self(x))\n"
    )
    assert why(tmp_path, code) == "called in the generation loop of Net.sample"


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
