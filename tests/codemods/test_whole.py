"""A project is never half-changed: what makes sense only together is done together or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from neuronport.cli import cli
from neuronport.codemods import codemods
from neuronport.codemods.engine import plan as planning
from neuronport.codemods.engine import write as writing
from neuronport.codemods.engine.plan import Options, make_plan
from neuronport.codemods.engine.project import Project
from neuronport.targets import default_target
from neuronport.workspace import open_workspace
from tests.codemods.porting import REVIEW, plan_for, plant

ROOT = Path(__file__).parents[2]
CODE = 'import torch\nx = torch.zeros(3, device="cuda")\n'
GROUP = {"a.py": CODE, "b.py": CODE, "c.py": CODE}
"""Files whose changes are one group, in these tests."""
OTHER = {"other.py": CODE}
CHOICE = {
    "options.py": "import torch\n\ndef add(args):\n    args.use_cuda = torch.cuda.is_available()\n",
    "run.py": (
        "import torch\n\ndef main(args):\n"
        '    return torch.device("cuda" if args.use_cuda else "cpu")\n'
    ),
}
HELPER = {
    "utils.py": (
        "import torch\n\n\ndef pick():\n"
        '    return torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
    ),
    "model.py": 'import torch\nfrom utils import pick\n\nx = torch.zeros(3, device="cuda")\n',
}


def texts(root: Path) -> dict[str, str]:
    return {p.name: p.read_text() for p in sorted(root.glob("*.py"))}


def write(root: Path, *arguments: str, answers: str | None = None) -> Any:
    words = ["port", str(root), "--write", "--review", "--no-config", *arguments]
    return CliRunner().invoke(cli, words, input=answers)


@pytest.fixture
def grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    codemod = codemods()["device-seam"]
    fix = codemod.fix

    def together(finding: Any, source: Any, project: Any) -> Any:
        answer = fix(finding, source, project)
        return replace(answer, group="g") if source.path in GROUP else answer

    monkeypatch.setattr(codemod, "fix", together)


@pytest.mark.usefixtures("grouped")
@pytest.mark.parametrize("bad", GROUP)
def test_a_file_that_cannot_be_rewritten_keeps_its_group_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    plant(tmp_path, {**GROUP, **OTHER})
    rewritten = planning.rewritten_text

    def refuses(source: Any, *rest: Any) -> str:
        return "((" if source.path == bad else rewritten(source, *rest)

    monkeypatch.setattr(planning, "rewritten_text", refuses)
    done = write(tmp_path)
    assert done.exit_code == 1
    assert f"left as it was: {bad}: does-not-parse" in done.stderr
    after = texts(tmp_path)
    assert {name: after[name] for name in GROUP} == GROUP
    assert "get_device()" in after["other.py"]


@pytest.mark.usefixtures("grouped")
@pytest.mark.parametrize("bad", GROUP)
def test_a_file_that_cannot_be_written_keeps_its_group_back(tmp_path: Path, bad: str) -> None:
    plant(tmp_path, {**GROUP, **OTHER})
    project, plan = plan_for(tmp_path, review=True)
    changed = GROUP[bad] + "# somebody else was here\n"
    (tmp_path / bad).write_text(changed)
    written = list(writing.write(project, plan))
    assert sorted(written) == ["neuron_device.py", "other.py"]
    after = texts(tmp_path)
    assert {name: after[name] for name in GROUP} == {**GROUP, bad: changed}
    reasons = {f.path: f.reason for f in plan.failed}
    assert reasons == {n: "changed" if n == bad else "part-of-a-group" for n in GROUP}


def test_a_switch_rests_on_the_choices_by_it_and_they_do_not_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewritten = planning.rewritten_text
    for bad, changed in (("run.py", set()), ("options.py", {"neuron_device.py", "run.py"})):
        folder = tmp_path / bad.partition(".")[0]
        plant(folder, CHOICE)
        project, plan = plan_for(folder, review=True)
        assert {item.path for item in plan.rewritten} == {"neuron_device.py", *CHOICE}
        (folder / bad).write_text(CHOICE[bad] + "#\n")
        assert set(writing.write(project, plan)) == changed
        again = tmp_path / f"again_{bad.partition('.')[0]}"
        plant(again, CHOICE)
        monkeypatch.setattr(
            planning,
            "rewritten_text",
            lambda source, *rest, bad=bad: "((" if source.path == bad else rewritten(source, *rest),
        )
        _, plan = plan_for(again, review=True)
        assert {item.path for item in plan.rewritten} == changed
        monkeypatch.undo()


@pytest.mark.usefixtures("grouped")
def test_interrupted_in_a_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, GROUP)
    rename = os.replace
    seen: list[Any] = []

    def interrupted(source: Any, target: Any) -> None:
        seen.append(target)
        if len(seen) == 3:
            raise KeyboardInterrupt
        rename(source, target)

    monkeypatch.setattr(os, "replace", interrupted)
    assert write(tmp_path).exit_code == 130
    assert texts(tmp_path) == GROUP
    assert len(list(tmp_path.iterdir())) == len(GROUP)


@pytest.mark.usefixtures("grouped")
@pytest.mark.parametrize("which", range(3))
def test_declining_one_is_declining_all(tmp_path: Path, which: int) -> None:
    plant(tmp_path, GROUP)
    done = write(tmp_path, "--interactive", answers="y\n" * which + "n\n" + "y\n" * 3)
    assert done.exit_code == 0, done.stderr
    assert texts(tmp_path) == GROUP
    assert done.stderr.count("change it?") == which + 1


def test_all_the_rest_and_none_of_it(tmp_path: Path) -> None:
    code = 'import torch\nx = torch.zeros(3, device="cuda")\ny = x.cuda()\nz = y.cuda()\n'
    plant(tmp_path, {"a.py": code})
    assert write(tmp_path, "--interactive", answers="?\nn\nq\n").exit_code == 0
    assert texts(tmp_path) == {"a.py": code}
    assert write(tmp_path, "--interactive", answers="n\na\n").exit_code == 0
    text = texts(tmp_path)["a.py"]
    assert 'device="cuda"' in text
    assert text.count("get_device()") == 2


def test_a_helper_that_cannot_be_rewritten_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, HELPER)
    _, plan = plan_for(tmp_path)
    after = {item.path: item.after for item in plan.rewritten}
    assert "device=pick()" in after["model.py"]
    rewritten = planning.rewritten_text

    def refuses(source: Any, *rest: Any) -> str:
        return "((" if source.path == "utils.py" else rewritten(source, *rest)

    monkeypatch.setattr(planning, "rewritten_text", refuses)
    _, plan = plan_for(tmp_path)
    after = {item.path: item.after for item in plan.rewritten}
    assert "utils.py" not in after
    assert "device=get_device()" in after["model.py"]
    assert "from neuron_device import get_device" in after["model.py"]


def test_what_needs_a_helper_is_not_written_without_it(tmp_path: Path) -> None:
    plant(tmp_path, HELPER)
    project, plan = plan_for(tmp_path)
    (tmp_path / "utils.py").write_text(HELPER["utils.py"] + "#\n")
    assert list(writing.write(project, plan)) == []
    assert {f.path: f.reason for f in plan.failed} == {
        "utils.py": "changed",
        "model.py": "needs-another",
    }
    # A seam that nothing asks is not left behind.
    assert sorted(texts(tmp_path)) == ["model.py", "utils.py"]


def test_a_seam_that_appears_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    plant(tmp_path, OTHER)
    project, plan = plan_for(tmp_path)
    plant(tmp_path, {"neuron_device.py": "mine = 1\n"})
    assert list(writing.write(project, plan)) == []
    assert texts(tmp_path) == {**OTHER, "neuron_device.py": "mine = 1\n"}
    assert {f.path: f.reason for f in plan.failed} == {
        "neuron_device.py": "exists",
        "other.py": "needs-another",
    }


def test_a_file_that_changes_while_it_is_planned_for(tmp_path: Path) -> None:
    """What was found is where it was: after another edit the places are somebody else's."""
    plant(tmp_path, {**OTHER, "b.py": OTHER["other.py"]})
    project = Project(open_workspace([str(tmp_path)]), [default_target()], lambda _: None)
    changed = "# a new first line\n" + OTHER["other.py"]
    (tmp_path / "other.py").write_text(changed)
    plan = make_plan(project, Options(safeties=REVIEW))
    assert [item.path for item in plan.rewritten] == ["neuron_device.py", "b.py"]
    assert [x.says for x in plan.left] == ["it was changed meanwhile"]
    assert list(writing.write(project, plan)) == ["neuron_device.py", "b.py"]
    assert (tmp_path / "other.py").read_text() == changed


@pytest.mark.skipif(sys.platform == "win32", reason="limits")
def test_a_full_disk(tmp_path: Path) -> None:
    """Files above a size cannot be written: the group of one of them stays, the rest goes on."""
    long = CHOICE["run.py"] + "#" * 9000 + "\n"
    plant(tmp_path, {**CHOICE, **OTHER, "run.py": long})
    program = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))\n"
        "from neuronport.cli import main\nmain()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "port", str(tmp_path), "--write", "--review"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    after = texts(tmp_path)
    assert {name: after[name] for name in CHOICE} == {**CHOICE, "run.py": long}
    assert "get_device()" in after["other.py"]
    assert "left as it was: run.py: not-writable: file too large" in done.stderr
    assert "left as it was: options.py: needs-another" in done.stderr
    assert not [p for p in tmp_path.iterdir() if p.suffix != ".py"]


def test_a_copy_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree, out, empty = tmp_path / "tree", tmp_path / "deep" / "out", tmp_path / "empty"
    plant(tree, {**OTHER, "pkg/data.txt": "x"})
    empty.mkdir()
    copy = writing.shutil.copy2

    def full(source: Any, target: Any, **words: Any) -> None:
        copy(source, target, **words)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.shutil, "copy2", full)
    for folder in (out, empty):
        done = CliRunner().invoke(cli, ["port", str(tree), "--out", str(folder)])
        assert done.exit_code == 2
        assert "No space left on device" in done.stderr
    assert not out.exists()
    assert list(empty.iterdir()) == []
    monkeypatch.undo()
    assert CliRunner().invoke(cli, ["port", str(tree), "--out", str(out)]).exit_code == 0
    assert (out / "pkg/data.txt").read_text() == "x"
