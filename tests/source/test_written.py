"""Where the tensors are that a tree saves, as far as its code says: what a checkpoint without
``map_location`` may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.findings import Finding
from tests.rules.judging import judge_files

READER = "import torch\ndef load(model, path):\n    model.load_state_dict(torch.load(path))\n"
HEAD = "import torch\nfrom torch import nn\nfrom other import to_cpu\n"
ON_CPU = "{k: v.cpu() for k, v in model.state_dict().items()}"


def read(folder: Path, *writers: str) -> Finding:
    files = {f"writer{i}.py": HEAD + writer for i, writer in enumerate(writers)}
    part = judge_files(folder, {"reader.py": READER, **files}, ("native",))
    (found,) = (f for f in part.findings if f.rule == "load-without-map-location")
    return found


def saves(what: str, before: str = "") -> str:
    return f"def save(model: nn.Module, optimizer, scheduler, path):\n{before}    torch.save({what}, path)\n"


@pytest.mark.parametrize(
    "writer",
    [
        saves(ON_CPU),
        saves("state", f"    state = {ON_CPU}\n"),
        saves(f"{{'model': {ON_CPU}, 'epoch': 3, 'schedule': scheduler.state_dict()}}"),
        saves("{k: v.detach().to('cpu') for k, v in model.state_dict().items()}"),
        saves("model.cpu().state_dict()"),
        saves("model.state_dict()", "    model = model.to('cpu')\n"),
        saves("model.state_dict()", "    model.cpu()\n"),
        saves("model.state_dict()", "    model.cuda()\n    model.to('cpu')\n"),
        saves("to_cpu(model)"),
        f"def state(model):\n    return {ON_CPU}\n" + saves("state(model)"),
        f"def write(state, path):\n    torch.save(state, path)\ndef save(model):\n    write({ON_CPU}, 'a')\n",
        "class T:\n    def save(self, path):\n        self.model.cpu()\n"
        "        torch.save({'model': self.model.state_dict(), 'step': self.step}, path)\n",
    ],
)
def test_what_every_writer_moves_to_the_cpu_is_read_everywhere(tmp_path: Path, writer: str) -> None:
    found = read(tmp_path, writer)
    assert found.confidence.value == "possible"
    assert found.message.endswith("moved to the CPU before")


@pytest.mark.parametrize(
    "writer",
    [
        saves("model.state_dict()"),
        saves("model"),
        saves(f"{{'model': {ON_CPU}, 'optimizer': optimizer.state_dict()}}"),
        saves("model.state_dict()", "    model.cpu()\n    model.cuda()\n"),
        saves("state", "    state = {}\n    state['model'] = model.state_dict()\n"),
        "def write(state, path):\n    torch.save(state, path)\n"
        "def save(model):\n    write({'model': model.state_dict()}, 'a')\n",
        "def rest(model):\n    model.cpu()\n" + saves("model.state_dict()"),
    ],
)
def test_what_is_saved_from_wherever_it_is_may_be_on_cuda(tmp_path: Path, writer: str) -> None:
    found = read(tmp_path, writer)
    assert found.confidence.value == "likely"
    assert "moved to the CPU" not in found.message


def test_one_writer_is_enough(tmp_path: Path) -> None:
    assert read(tmp_path, saves(ON_CPU), saves("model.state_dict()")).confidence.value == "likely"


def test_what_nobody_in_the_tree_saves_is_judged_by_how_it_is_read(tmp_path: Path) -> None:
    assert read(tmp_path).confidence.value == "likely"


def test_what_is_saved_and_not_known_says_little(tmp_path: Path) -> None:
    found = read(tmp_path, "def write(data, path):\n    torch.save(data, path)\n")
    assert found.confidence.value == "possible"
    assert "moved to the CPU" not in found.message


NAMED = "import os, torch\ndef load(model, d):\n    model.load_state_dict(torch.load({}))\n"


@pytest.mark.parametrize(
    ("path", "on_cpu"),
    [
        ("os.path.join(d, 'adapter.pt')", True),
        ("f'{d}/adapter.pt'", True),
        ("d + '/adapter.pt'", True),
        ("os.path.join(d, 'full.pt')", False),
        ("f'{d}-adapter.pt'", False),
        ("d", False),
    ],
)
def test_a_file_of_a_name_is_what_is_saved_under_it(
    tmp_path: Path, path: str, on_cpu: bool
) -> None:
    writer = (
        "import os, torch\nfrom torch import nn\ndef save(model: nn.Module, d):\n"
        "    torch.save(model.state_dict(), os.path.join(d, 'full.pt'))\n"
        "    torch.save(model.cpu().state_dict(), os.path.join(d, 'out', 'adapter.pt'))\n"
    )
    part = judge_files(
        tmp_path, {"reader.py": NAMED.format(path), "writer.py": writer}, ("native",)
    )
    (found,) = (f for f in part.findings if f.rule == "load-without-map-location")
    assert found.message.endswith("moved to the CPU before") is on_cpu
    assert found.confidence.value == ("possible" if on_cpu else "likely")
