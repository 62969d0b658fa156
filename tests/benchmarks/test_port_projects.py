"""The benchmark on a tiny project: what it must see, it sees."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


projects = script("port_projects")
TRAIN = """\
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"  # größer
model = torch.nn.Linear(4, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    loss = model(torch.rand(2, 4, device=device)).square().mean()
    loss.backward()
    optimizer.step()
"""
PROJECT = {
    "name": "tiny",
    "repository": "nobody/tiny",
    "revision": "0" * 40,
    "files": {
        "tests/test_it.py": "import train\n\ndef test_it():\n    assert train.loss < 100\n",
        "endless.py": "import torch\n(torch.ones(1, requires_grad=True) * torch.inf).sum().backward()\n",
    },
    "run": [
        {"name": "train", "program": ["train.py"]},
        {"name": "tests", "tests": ["tests"]},
        {"name": "broken", "program": ["nowhere.py"]},
        {"name": "not finite", "program": ["endless.py"]},
    ],
}


def test_a_project_that_holds(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "train.py").write_text(TRAIN, encoding="utf-8")
    result = projects.measure(PROJECT, tmp_path, sys.executable)
    assert result["safe"]["files"] == 1
    assert result["safe"]["new_files"] == 1
    assert result["safe"]["second_run"] == []
    train, tests, broken, infinite = result["runs"]
    assert not infinite["ran"]
    assert train["safe"] == {"steps": 3, "difference": 0.0, "ok": True}
    assert tests["safe"] == {"passed": 1, "lost": [], "ok": True}
    assert not broken["ran"]
    assert projects.good(result)
    assert (tmp_path / "tiny" / "train.py").read_text(encoding="utf-8") == TRAIN
    text = projects.table([result])
    assert "3 losses | equal | equal" in text
    assert "broken | does not run before" in text


def outcome(**given: Any) -> Any:
    return projects.Outcome(True, **given)


def test_what_is_lost_is_seen() -> None:
    step = {"tests": ["x"]}
    before = outcome(passed=frozenset({"a", "b"}))
    assert projects.judge(before, outcome(passed=frozenset({"b"})), step, False) == {
        "passed": 2,
        "lost": ["a"],
        "ok": False,
    }
    train: dict[str, Any] = {"program": ["x"]}
    before = outcome(losses=[1.0, 0.5])
    other = outcome(losses=[1.0, 0.5000000001])
    assert not projects.judge(before, other, train, False)["ok"]
    assert projects.judge(before, other, train, True)["ok"]
    assert not projects.judge(before, outcome(losses=[1.0, 0.6]), train, True)["ok"]
    assert not projects.judge(before, outcome(losses=[1.0]), train, True)["ok"]
    assert not projects.judge(before, projects.Outcome(False, losses=[1.0, 0.5]), train, True)["ok"]


@pytest.mark.parametrize(
    ("before", "after", "odd"),
    [
        ('x = "cuda"', "x = device_name()", []),
        ('x = f"cuda:{rank}"', "x = device_name(rank)", []),
        ('x = "cuda:%d" % rank', "x = device_name(rank)", []),
        ('x = "nccl"', "x = backend()", []),
        ('x = "on cuda"', 'x = "on neuron"', ["on cuda", "on neuron"]),
        ('x = "a", "cuda"', 'x = "cuda"', ["a"]),
        ('x = f"{torch.cuda.a()} on"', 'x = f"{a()} on"', []),
        ('x = f"{a} on"', 'x = f"{a} off"', [" off", " on"]),
    ],
)
def test_strings_that_are_none_of_a_ports_business(before: str, after: str, odd: list[str]) -> None:
    assert projects.odd_strings(before + "\n", after + "\n") == odd


def test_texts_are_compared(tmp_path: Path) -> None:
    for folder, files in (
        ("a", {"x.py": "a = 1  # one\n", "y.py": "b = 1\n", "z.py": "c = 1\n"}),
        ("b", {"x.py": "a = 2  # two\n", "y.py": "b = (\n", "z.py": "c = 1\n", "new.py": ""}),
    ):
        (tmp_path / folder).mkdir()
        for name, text in files.items():
            (tmp_path / folder / name).write_text(text, encoding="utf-8")
    found = projects.compare_texts(tmp_path / "a", tmp_path / "b")
    assert (found.rewritten, found.new, found.unparsed) == (1, 1, ["y.py"])
    assert found.comments == ["x.py"]


def test_the_projects_are_named_once_and_have_something_to_run() -> None:
    import tomllib

    data = tomllib.loads(projects.DATA.read_text(encoding="utf-8"))
    names = [p["name"] for p in data["project"]]
    assert len(names) == len(set(names)) >= 10
    for project in data["project"]:
        assert len(project["revision"]) == 40
        assert all(("tests" in s) != ("program" in s) for s in project["run"])


edits = script("port_edits")


def test_lines_that_got_an_edit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = tmp_path / "cases" / "ports" / "one"
    case.mkdir(parents=True)
    before = tmp_path / "trees" / "one" / "before" / "s"
    before.mkdir(parents=True)
    (before / "a.py").write_text(
        'import torch\nx = torch.ones(1, device="cuda")\ny = torch.cuda.CUDAGraph()\nname = 1\n'
    )
    (case / "truth.tsv").write_text(
        "file\tline\tkind\tnote\n"
        "s/a.py\t2\tdevice-string\tg1 mod hunk=2\n"
        "s/a.py\t3\tcuda-call\tg1 mod hunk=2\n"
        "s/a.py\t4\tother\tg1 mod hunk=4 rename\n"
    )
    arguments = ["--cases", str(tmp_path / "cases"), "--trees", str(tmp_path / "trees")]
    assert edits.main([*arguments, "--missed"]) == 0
    text = capsys.readouterr().out
    assert "g1 lines with a written edit: 1/2 = 50.0%" in text
    assert "an edit in their hunk: 2/2" in text
    assert "by codemod: device-seam 1" in text
    assert "s/a.py:3 [cuda-call]" in text
    after = tmp_path / "trees" / "one" / "after" / "s"
    after.mkdir(parents=True)
    (after / "a.py").write_text("import torch\nx = torch.ones(1, device=dev)\n")
    assert edits.main([*arguments, "--show", "5"]) == 0
    text = capsys.readouterr().out
    assert "tool | x = torch.ones(1, device=get_device())" in text
    assert "they | x = torch.ones(1, device=dev)" in text
