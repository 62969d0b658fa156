"""Churn: lines and references between two trees, told apart as a person would."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from neuronport.cli import cli
from neuronport.codemods.churn import Side, compare, divergence, platform_lines, remaining
from neuronport.data import data_folder
from tests.codemods.porting import plant

SCHEMA = json.loads((data_folder("schemas") / "churn.json").read_text("utf-8"))
OLD = 'import torch\nx = torch.zeros(3, device="cuda")\ny = x.cuda()\nprint(y)\n'
NEW = 'import torch\nx = torch.zeros(3, device="cpu")\ny = x\nprint(y)\nprint(x)\n'


def counts(before: dict[str, str], after: dict[str, str]) -> dict[str, tuple[int, int, int, int]]:
    return {
        f.path: (f.lines.added, f.lines.removed, f.lines.changed, f.lines.moved)
        for f in compare(before, after)
    }


def test_nothing() -> None:
    assert counts({"a": "1\n"}, {"a": "1\n"}) == {}


def test_changed_added_removed() -> None:
    before = {"a": "one\ntwo\nthree\n", "b": "gone\n"}
    after = {"a": "one\n2\nthree\nfour\n", "c": "come\nand stay\n"}
    assert counts(before, after) == {"a": (1, 0, 1, 0), "b": (0, 1, 0, 0), "c": (2, 0, 0, 0)}


def test_moved_within_and_between_files() -> None:
    assert counts({"a": "first\nsecond\nthird\n"}, {"a": "second\nthird\nfirst\n"}) == {
        "a": (0, 0, 0, 1)
    }
    before = {"a": "keep\nmoves away\n", "b": "other\n"}
    after = {"a": "keep\n", "b": "other\nmoves away\n"}
    assert counts(before, after) == {"a": (0, 0, 0, 0), "b": (0, 0, 0, 1)}
    # Closing brackets come and go everywhere: they are not moved.
    assert counts({"a": "x\n)\n"}, {"a": "x\n", "b": ")\n"}) == {
        "a": (0, 1, 0, 0),
        "b": (1, 0, 0, 0),
    }


def test_divergence_is_the_mean_distance_of_pairs() -> None:
    a, b = {("f", 1), ("f", 2)}, {("f", 2), ("f", 3)}
    assert divergence([a, a]) == 0
    assert divergence([a, b]) == pytest.approx(1 - 1 / 3)
    assert divergence([a, a, b]) == pytest.approx(2 * (1 - 1 / 3) / 3)
    assert divergence([a, {("g", 1)}]) == 1


def test_lines_of_platforms() -> None:
    text = (
        "import torch\n"
        "if torch.cuda.is_available():\n"
        "    a = 1\n"
        "elif hasattr(torch, 'neuron') and torch.neuron.is_available():\n"
        "    a = 2\n"
        "else:\n"
        "    a = 3\n"
        "if device.type in ('cuda', 'neuron'):\n"
        "    b = 1\n"
        "if device.type != 'cuda':\n"
        "    c = 1\n"
        "if verbose:\n"
        "    d = 1\n"
    )
    lines = platform_lines(Side("x", {"a.py": text, "b.txt": "cuda"}, []))
    assert {n for _, n in lines["cuda"]} == {1, 2, 3, 8, 9, 10, 12, 13}
    assert {n for _, n in lines["neuron"]} == {1, 2, 4, 5, 8, 9, 10, 11, 12, 13}
    assert {n for _, n in lines["cpu"]} == {1, 2, 4, 7, 8, 10, 11, 12, 13}


def run(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
    )


def test_between_revisions_and_folders(tmp_path: Path) -> None:
    repository = tmp_path / "r"
    plant(repository, {"a.py": OLD, "notes.txt": "one\n"})
    run(repository, "init", "-q")
    run(repository, "add", ".")
    run(repository, "commit", "-qm", "one")
    plant(repository, {"a.py": NEW})
    run(repository, "commit", "-qam", "two")
    done = CliRunner().invoke(
        cli, ["port", str(repository), "--churn", "HEAD~1..HEAD", "--format", "json"]
    )
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    jsonschema.validate(data, SCHEMA)
    assert data["lines"] | {"bytes_changed": 0} == {
        "added": 1, "removed": 0, "changed": 2, "moved": 0, "bytes_changed": 0
    }  # fmt: skip
    assert data["code_base"]["files"] == 2
    assert data["code_base"]["files_touched"] == 1
    assert data["references"]["converted"] == 2
    assert data["references"]["left"] == 0
    assert data["references"]["share_converted"] == 1
    assert data["references"]["by_rule"]["hardcoded-cuda-device"] == {"converted": 1, "left": 0}
    old, new = tmp_path / "old", tmp_path / "new"
    plant(old, {"a.py": OLD, "notes.txt": "one\n"})
    plant(new, {"a.py": NEW, "notes.txt": "one\n"})
    again = CliRunner().invoke(cli, ["port", "--churn", f"{old}..{new}", "--format", "json"])
    folders = json.loads(again.stdout)
    assert {k: v for k, v in folders.items() if k not in ("before", "after")} == {
        k: v for k, v in data.items() if k not in ("before", "after")
    }
    assert data["references"]["by_safety"] == {"safe": {"converted": 2, "left": 0}}
    assert set(data["references"]["left_as"].values()) == {0}
    text = CliRunner().invoke(cli, ["port", str(repository), "--churn", "HEAD~1..HEAD"])
    assert "2 converted, 0 left (100.0%)" in text.stdout
    assert "nothing is left" in text.stdout


MIXED = (
    "import torch\n"
    "def f(device, x: torch.Tensor):\n"
    "    x = x.cuda() if device.type == 'cuda' else x.to(device)\n"
    "    g = torch.cuda.CUDAGraph()\n"
    "    return x + torch.zeros(3, device='cuda')\n"
)


def test_what_is_left_is_told_apart_as_the_port_tells_it(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    plant(old, {"a.py": MIXED})
    plant(new, {"a.py": MIXED})

    def counted(*arguments: str) -> dict[str, object]:
        done = CliRunner().invoke(cli, ["port", *arguments, "--format", "json", "--no-config"])
        assert done.exit_code == 0, done.output
        data = json.loads(done.stdout)
        churn = data.get("churn", data)
        jsonschema.validate(churn, SCHEMA)
        references = churn["references"]
        assert sum(references["left_as"].values()) == references["left"] + references["new"]
        plain = {k: n for k, n in references["left_as"].items() if n}
        return {"hours": churn["remaining_hours"]["high"], "safe": references["by_safety"]} | plain

    # The gate and the place behind it ask nothing: CUDA keeps them, another branch is there.
    before = counted("--churn", f"{old}..{new}")
    nothing = {"kept_for_cuda": 1, "done": 1, "to_people": 1}
    assert before == {
        "hours": before["hours"],
        "safe": {"safe": {"converted": 0, "left": 1}, "manual": {"converted": 0, "left": 3}},
        "to_write": 1,
        **nothing,
    }
    # The port says the same before it writes, and the churn says the same of what it wrote.
    planned = counted(str(new), "--write")
    assert planned["safe"] == {
        "safe": {"converted": 1, "left": 0},
        "manual": {"converted": 0, "left": 3},
    }
    assert planned.items() >= nothing.items()
    assert "to_write" not in planned
    assert counted("--churn", f"{old}..{new}") == planned
    assert float(str(planned["hours"])) < float(str(before["hours"]))


@pytest.mark.parametrize("words", ["HEAD", "nothing..HEAD", "--output=x..HEAD"])
def test_what_is_no_revision(words: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["port", str(tmp_path), "--churn", words])
    assert done.exit_code == 2


def test_a_folder_that_is_not_there_is_not_the_whole_repository(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": OLD})
    run(tmp_path, "init", "-q")
    run(tmp_path, "add", ".")
    run(tmp_path, "commit", "-qm", "one")
    missing = str(tmp_path / "missing")
    done = CliRunner().invoke(cli, ["port", missing, "--churn", "HEAD..HEAD"])
    assert done.exit_code == 3
    assert "no such file or folder" in done.stderr


def test_how_a_program_runs_names_no_device() -> None:
    def naming(code: str, path: Path) -> object:
        plant(path, {"a.py": code})
        done = CliRunner().invoke(cli, ["port", "--churn", f"{path}..{path}", "--format", "json"])
        return json.loads(done.stdout)["device_lines"]["after"]["naming_a_device"]

    head = "import torch\ndef train(m: torch.nn.Module, data, opt):\n    for x in data:\n"
    loop = "        loss = m(x).sum()\n        loss.backward()\n        opt.step()\n        {}\n"
    with tempfile.TemporaryDirectory() as folder:
        assert naming(head + loop.format("print(loss.item())"), Path(folder)) == 0
        assert naming(head + loop.format("x.cuda()"), Path(folder)) == 1


def test_nothing_left_costs_nothing() -> None:
    assert remaining([]) == (0, 0)
