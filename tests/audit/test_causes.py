"""A choice of CUDA and what rests on it are one cause, over the files of a tree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from neuronport.cli import cli

CONFIG = """\
import argparse
import torch

def get_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("-d", "--the-device",
                        default="cuda")
    return parser

def pick():
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")

DEVICE = torch.device("cuda:0")
use_cuda = torch.cuda.is_available()
"""
MODEL = """\
import torch
from pkg.config import DEVICE, use_cuda

class Net(torch.nn.Module):
    def __init__(self, device):
        super().__init__()
        self.device = device
        self.w = torch.zeros(3, device=device)

    def forward(self, x):
        if self.device.type == "cuda":
            x = x * 2
        return x.to(self.device)

def load(path):
    if use_cuda:
        print("on a GPU")
    return torch.load(path, map_location=DEVICE)
"""
TRAIN = """\
import torch
from pkg.config import get_parser, pick
from pkg.model import Net

def main(args):
    device = torch.device(args.the_device)
    net = Net(pick())
    x = torch.ones(3, device=device)
    here = x.to(net.w.device)
    return net(x.to(device)), here

if __name__ == "__main__":
    main(get_parser().parse_args())
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    def make(files: dict[str, str]) -> None:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    monkeypatch.chdir(tmp_path)
    return make


def audited(*options: str) -> dict:
    done = CliRunner().invoke(cli, ["audit", ".", "--no-config", "--format=json", *options])
    return json.loads(done.stdout)


def reached(document: dict) -> dict[str, list[str]]:
    return {
        g["group"]: [f"{r['path']}:{r['line']}" for r in g["reaches"]]
        for g in document["groups"]
        if g["reaches"]
    }


WHOLE = {"pkg/__init__.py": "", "pkg/config.py": CONFIG, "pkg/model.py": MODEL, "train.py": TRAIN}


def test_a_choice_is_followed_over_files(tree):
    tree(WHOLE)
    assert reached(audited()) == {
        "cuda-or-cpu-choice/pkg/config.py:12": [
            "pkg/model.py:8",
            "pkg/model.py:11",
            "pkg/model.py:13",
        ],
        "cuda-default-device/pkg/config.py:8": ["train.py:6", "train.py:8", "train.py:10"],
        "hardcoded-cuda-device/pkg/config.py:14": ["pkg/model.py:18"],
        "api/torch.cuda.is_available/pkg/config.py:15": ["pkg/model.py:16"],
    }


def test_what_only_asks_what_was_chosen_belongs_to_the_choice(tree):
    tree(WHOLE)
    groups = {(f["path"], f["line"], f["rule"]): f["group"] for f in audited()["findings"]}
    choice = "cuda-or-cpu-choice/pkg/config.py:12"
    assert groups["pkg/config.py", 12, "cuda-or-cpu-choice"] == choice
    assert groups["pkg/model.py", 11, "cuda-device-gate"] == choice
    switch = "api/torch.cuda.is_available/pkg/config.py:15"
    assert groups["pkg/config.py", 15, "api/torch.cuda.is_available"] == switch
    assert groups["pkg/model.py", 16, "cuda-availability-gate"] == switch


def test_people_are_told(tree):
    tree(WHOLE)
    run = CliRunner().invoke
    text = run(cli, ["audit", ".", "--no-config"]).stdout
    assert "reaches 3 places in 1 file" in text
    full = run(cli, ["audit", ".", "--no-config", "--format=full"]).stdout
    said = " ".join(full.split())
    assert "this choice reaches 3 places in 1 file: pkg/model.py:8 (device of zeros())" in said
    assert "train.py:10 (given to .to())" in said
    assert run(cli, ["explain", "cuda-or-cpu-choice/pkg/config.py:12"]).exit_code == 0
    only = ["--select", "cuda-or-cpu-choice/pkg/config.py:12", "--format=json"]
    rows = json.loads(run(cli, ["audit", ".", "--no-config", *only]).stdout)["findings"]
    assert [(f["path"], f["line"]) for f in rows] == [("pkg/config.py", 12), ("pkg/model.py", 11)]


def test_the_same_again_and_with_more_processes(tree, monkeypatch, tmp_path):
    files = dict(WHOLE)
    for n in range(40):
        files[f"more/m{n}.py"] = MODEL
    tree(files)
    monkeypatch.setenv("NEURONPORT_CACHE_DIR", str(tmp_path / ".cache-of-this"))
    cold = audited("--exclude=.cache-of-this", "-j1")
    assert reached(cold)
    assert audited("--exclude=.cache-of-this", "-j1") == cold
    assert audited("--exclude=.cache-of-this", "-j2", "--no-cache") == cold
    # the choice moves down: what is kept of other files must not say where it was
    (Path("pkg/config.py")).write_text("\n\n" + CONFIG)
    warm = audited("--exclude=.cache-of-this")
    assert warm == audited("--exclude=.cache-of-this", "--no-cache")
    assert "cuda-or-cpu-choice/pkg/config.py:14" in reached(warm)


@pytest.mark.parametrize(
    "uses",
    [
        "def f(x, y):\n    return x.to(y.device)\n",
        "def f(x):\n    return x.to('cpu')\n",
        "def f(x, device):\n    return x.to(device)\n",
        "def f(x):\n    return x.to(torch.float16)\n",
        "def f(x):\n    device = torch.device('cpu')\n    return x.to(device)\n",
        "def f(x):\n    return x.to('cuda')\n",
    ],
)
def test_what_takes_its_device_elsewhere_is_not_reached(tree, uses):
    tree({"a.py": CONFIG, "b.py": f"import torch\nfrom a import *\n{uses}"})
    assert not any(path.startswith("b.py") for rows in reached(audited()).values() for path in rows)


def test_what_a_helper_returns_to_one_caller_is_not_what_another_passed(tree):
    main = (
        "import argparse\nfrom helper import place\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--device', default='cuda')\n"
        "def main():\n    args = parser.parse_args()\n    device = place(args)\n"
        "    return model.to(device)\n"
    )
    helper = "import torch\ndef place(args):\n    return torch.device(args.device)\n"
    tree({"helper.py": helper, "one.py": main, "two.py": main})
    assert reached(audited()) == {
        "cuda-default-device/one.py:4": ["helper.py:3", "one.py:8"],
        "cuda-default-device/two.py:4": ["helper.py:3", "two.py:8"],
    }


@pytest.mark.parametrize(
    ("declared", "read"),
    [
        ("p.add_argument('--device', default='cuda')", "p.parse_args().device"),
        ("p.add_argument('--dev', dest='device', default='cuda')", "p.parse_args().device"),
        ("p.add_argument('--device', default='cuda')", "p.parse_known_args()[0].device"),
        ("p.add_argument('--device', default='cuda')\na, b = p.parse_known_args()", "a.device"),
    ],
)
def test_defaults_of_options(tree, declared, read):
    text = f"import argparse\nimport torch\np = argparse.ArgumentParser()\n{declared}\n"
    tree({"a.py": f"{text}device = {read}\nx = torch.ones(1, device=device)\n"})
    (places,) = reached(audited()).values()
    assert places[-1].startswith("a.py:")
    assert len(text.splitlines()) + 2 == int(places[-1].partition(":")[2])


def test_a_choice_that_reaches_nothing_is_no_group(tree):
    tree({"a.py": "import torch\nx = torch.ones(1, device='cuda')\n"})
    (group,) = audited()["groups"]
    assert group["group"] == group["rule"] == "hardcoded-cuda-device"
    assert group["reaches"] == []


CHAIN = """\
import torch

def pick():
    if torch.cuda.is_available():
        d = "cuda"
    elif torch.backends.mps.is_available():
        d = "mps"
    else:
        d = "cpu"
    return torch.device(d)
"""
RETURNS = """\
import torch

def pick():
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")
"""
MPS_FIRST = """\
import torch

def pick():
    if torch.backends.mps.is_available():
        d = "mps"
    elif torch.cuda.is_available():
        d = "cuda:0"
    else:
        d = "cpu"
    return torch.device(d)
"""
PLAIN = """\
import torch

def pick():
    if not torch.cuda.is_available():
        d = "cpu"
    else:
        d = "cuda"
    return torch.device(d)
"""
SWITCH = """\
import torch

use_cuda = torch.cuda.is_available()
d = torch.device("cpu")
if use_cuda:
    d = torch.device("cuda")

def pick():
    return d
"""
TAKES = """\
import torch
from a import pick

device = pick()
x = torch.zeros(3, device=device)
if device.type == "cuda":
    print("fast")
"""


@pytest.mark.parametrize(
    ("choice", "line", "named"),
    [(CHAIN, 4, 3), (RETURNS, 4, 4), (MPS_FIRST, 6, 3), (PLAIN, 4, 2), (SWITCH, 3, 4)],
)
def test_a_choice_by_a_condition_is_one_cause(tree, choice, line, named):
    tree({"a.py": choice, "b.py": TAKES})
    document = audited()
    (group,) = document["groups"]
    assert group["group"] == f"api/torch.cuda.is_available/a.py:{line}"
    assert group["confidence"] == "certain"
    assert group["title"] == "CUDA or the CPU: a Neuron chip is never chosen"
    assert group["places"] == named + 1  # and the gate in b.py
    assert {(r["path"], r["line"]) for r in group["reaches"]} >= {("b.py", 5), ("b.py", 6)}
    assert "CUDA or the CPU" in CliRunner().invoke(cli, ["audit", ".", "--no-config"]).stdout


def test_a_choice_by_a_condition_that_reaches_nothing_is_one_cause(tree):
    tree({"a.py": CHAIN.replace("return torch.device(d)", "print(d)")})
    (group,) = audited()["groups"]
    assert (group["places"], group["reaches"]) == (3, [])


def test_what_is_named_for_cuda_where_it_was_asked_for_follows_the_choice(tree):
    gate = (
        "    if d == 'cuda':\n        d = 'cuda:0'\n    return torch.device(d)\n"
        "x = torch.ones(1, device=pick())\n"
    )
    tree({"a.py": CHAIN.replace("    return torch.device(d)\n", gate)})
    (group,) = audited()["groups"]
    assert [r["line"] for r in group["reaches"]] == [10, 12, 13]


@pytest.mark.parametrize(
    "guarded",
    [
        "x = x.cuda(args.gpu)",
        "if args.gpu is not None:\n            x = x.cuda(args.gpu)",
        "x = x.to(args.gpu)",
    ],
)
def test_what_a_condition_guards_does_not_ask_what_was_chosen(tree, guarded):
    tree(
        {
            "a.py": f"import torch\ndef f(x, args):\n    if torch.cuda.is_available():\n        {guarded}\n"
        }
    )
    document = audited()
    assert document["findings"]
    assert not reached(document)


def test_a_choice_stands_by_what_it_reaches(tree):
    tree(
        {
            "a.py": CHAIN,
            "b.py": "import torch\nfrom a import pick\ndevice = pick()\n"
            + "torch.ones(1, device=device)\n" * 50,
            "c.py": "from torch.utils.cpp_extension import CUDAExtension\n"
            "e = CUDAExtension('x', ['x.cu'])\n",
        }
    )
    first, second = audited()["groups"]
    assert first["group"].startswith("api/torch.cuda.is_available")
    assert second["effort"]["high_minutes"] > 10 * first["effort"]["high_minutes"]
    text = CliRunner().invoke(cli, ["audit", ".", "--no-config"]).stdout
    assert "reaches 51 places in 2 files" in text
    full = CliRunner().invoke(cli, ["audit", ".", "--no-config", "--format=full"]).stdout
    assert "this choice reaches 51 places in 2 files:" in " ".join(full.split())


def test_a_parameter_that_says_whether_there_is_cuda_asks_what_was_chosen(tree):
    train = (
        "import torch\ndef train(x, use_cuda):\n    if not use_cuda:\n        print(x)\n"
        "    y = torch.ones(1) if use_cuda and x else x\n    return y\n"
        "def main():\n    use_cuda = torch.cuda.is_available()\n"
        "    if use_cuda:\n        torch.cuda.set_device(0)\n    train(1, use_cuda)\n"
        "    train(2, use_cuda=use_cuda)\n"
    )
    tree({"a.py": train})
    assert reached(audited()) == {
        "api/torch.cuda.is_available/a.py:8": ["a.py:3", "a.py:5", "a.py:9"]
    }


def test_a_parameter_that_callers_set_as_they_like_does_not(tree):
    tree(
        {
            "a.py": "import torch\ndef train(use_cuda):\n    if use_cuda:\n        print(1)\n"
            "train(True)\nif torch.cuda.is_available():\n    torch.cuda.set_device(0)\n"
        }
    )
    assert reached(audited()) == {}


def test_how_a_device_begins_asks_what_was_chosen(tree):
    place = (
        "import torch\ndef place(device):\n    if device.startswith('cuda'):\n"
        "        print('fast')\n    return torch.device(device)\n"
    )
    use = (
        "import torch\nfrom b import place\nplace('cuda' if torch.cuda.is_available() else 'cpu')\n"
    )
    tree({"b.py": place, "c.py": use})
    assert reached(audited()) == {"cuda-or-cpu-choice/c.py:3": ["b.py:3", "b.py:5"]}


def test_the_type_of_a_device_that_is_handed_to_a_method(tree):
    model = (
        "import torch\nclass Net(torch.nn.Module):\n    def options(self, kind):\n"
        "        return {'fused': kind == 'cuda'}\n"
    )
    train = (
        "import torch\nfrom m import Net\n"
        "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
        "net = Net().to(device)\nnet.options(device.type)\n"
    )
    tree({"m.py": model, "t.py": train})
    assert reached(audited()) == {"cuda-or-cpu-choice/t.py:3": ["m.py:4", "t.py:4"]}
