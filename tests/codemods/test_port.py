"""The command: what it shows, writes, refuses and says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from neuronport.cli import cli
from neuronport.codemods import codemods
from neuronport.codemods.engine import write as writing
from neuronport.data import data_folder
from tests.codemods.porting import plan_for, plant, port

CODE = 'import torch\nx = torch.zeros(3, device="cuda")\n'
PORTED = (
    "import torch\nfrom neuron_device import get_device\nx = torch.zeros(3, device=get_device())\n"
)


def run(*arguments: str, **options: Any) -> Any:
    return CliRunner().invoke(cli, ["port", *arguments], **options)


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
    )


def test_shows_by_default_and_git_can_apply_it(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": CODE, "sub/b.py": "import torch\r\ny = torch.ones(1).cuda()"})
    done = run(str(tmp_path))
    assert done.exit_code == 0
    assert (tmp_path / "a.py").read_text() == CODE
    git(tmp_path, "init", "-q")
    subprocess.run(
        ["git", "apply", "-"], cwd=tmp_path, input=done.stdout_bytes, check=True, timeout=60
    )
    assert (tmp_path / "a.py").read_text() == PORTED
    after = (tmp_path / "sub/b.py").read_bytes()
    assert after.endswith(b"\r\ny = torch.ones(1).to(get_device())")
    assert (tmp_path / "neuron_device.py").is_file()


def test_writes(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": CODE})
    done = run(str(tmp_path), "--write")
    assert done.exit_code == 0
    assert done.stdout == ""
    assert (tmp_path / "a.py").read_text() == PORTED
    again = run(str(tmp_path), "--write", "--allow-dirty")
    assert again.stderr == "0 changes in 0 files written, 0 findings converted\n"


def test_refuses_uncommitted_changes(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": CODE})
    git(tmp_path, "init", "-q")
    refused = run(str(tmp_path), "--write")
    assert refused.exit_code == 2
    assert "uncommitted" in refused.stderr
    assert (tmp_path / "a.py").read_text() == CODE
    assert run(str(tmp_path)).exit_code == 0  # showing is no writing
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    assert run(str(tmp_path), "--write").exit_code == 0
    assert (tmp_path / "a.py").read_text() == PORTED


def test_writes_a_copy(tmp_path: Path) -> None:
    tree, copy = tmp_path / "tree", tmp_path / "copy"
    plant(tree, {"a.py": CODE, "run.sh": "python a.py\n", "deep/b.txt": "x"})
    (tree / "run.sh").chmod(0o755)
    assert run(str(tree), "--out", str(copy)).exit_code == 0
    assert (tree / "a.py").read_text() == CODE
    assert (copy / "a.py").read_text() == PORTED
    assert (copy / "deep/b.txt").read_text() == "x"
    assert (copy / "run.sh").stat().st_mode & 0o111
    assert run(str(tree), "--out", str(copy)).exit_code == 2


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        (b"\xef\xbb\xbf", "utf-8"),
        (b"# -*- coding: latin-1 -*-\n", "latin-1"),
        (b"# coding: cp1252\r\n", "cp1252"),
    ],
)
def test_bytes_that_are_not_edited_stay(tmp_path: Path, head: bytes, encoding: str) -> None:
    body = (
        'import torch\r\ns = "grün"  # für é\r\nx = s, torch.zeros(1, device="cuda")\t\r\n\x0c\r\n'
    )
    plant(tmp_path, {"a.py": head + body.encode(encoding)})
    assert run(str(tmp_path), "--write").exit_code == 0
    expected = body.replace('"cuda"', "get_device()").replace(
        "import torch\r\n", "import torch\r\nfrom neuron_device import get_device\r\n"
    )
    assert (tmp_path / "a.py").read_bytes() == head + expected.encode(encoding)


def test_a_file_that_fails_is_left_and_the_others_go_on(tmp_path: Path, monkeypatch: Any) -> None:
    plant(tmp_path, {"bad.py": CODE, "good.py": CODE})
    codemod = codemods()["device-seam"]
    fix = codemod.fix

    def breaks(finding: Any, source: Any, project: Any) -> Any:
        if source.path == "bad.py":
            raise RuntimeError("a bug")
        return fix(finding, source, project)

    monkeypatch.setattr(codemod, "fix", breaks)
    done = run(str(tmp_path), "--write")
    assert done.exit_code == 1
    assert "bad.py" in done.stderr
    assert "a bug" in done.stderr
    assert (tmp_path / "bad.py").read_text() == CODE
    assert (tmp_path / "good.py").read_text() == PORTED


def test_a_rewrite_that_would_not_parse_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    plant(tmp_path, {"a.py": CODE})
    codemod = codemods()["device-seam"]
    fix = codemod.fix

    def breaks(finding: Any, source: Any, project: Any) -> Any:
        from dataclasses import replace

        change = fix(finding, source, project)
        return replace(change, edits=tuple(e._replace(text="((") for e in change.edits))

    monkeypatch.setattr(codemod, "fix", breaks)
    done = run(str(tmp_path), "--write")
    assert done.exit_code == 1
    assert "does-not-parse" in done.stderr
    assert (tmp_path / "a.py").read_text() == CODE
    assert not (tmp_path / "neuron_device.py").exists()


def test_interrupted_between_files_leaves_whole_files(tmp_path: Path, monkeypatch: Any) -> None:
    plant(tmp_path, {"a.py": CODE, "b.py": CODE})
    write = writing.atomic_write_all
    written: list[str] = []

    def interrupted(files: Any) -> None:
        if written:
            raise KeyboardInterrupt
        written.extend(path for path, _ in files)
        write(files)

    monkeypatch.setattr(writing, "atomic_write_all", interrupted)
    done = run(str(tmp_path), "--write")
    assert done.exit_code == 130
    # The seam comes with what needs it first, so that what is written works.
    assert (tmp_path / "neuron_device.py").is_file()
    assert (tmp_path / "a.py").read_text() == PORTED
    assert (tmp_path / "b.py").read_text() == CODE


def test_selects_by_rule_and_area(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": CODE + "torch.cuda.empty_cache()\n"})
    assert "empty_cache()" not in run(
        str(tmp_path), "--select", "hardcoded-cuda-device"
    ).stdout.replace(" torch.cuda.empty_cache()", "")
    only = run(str(tmp_path), "--ignore", "hardcoded-cuda-device").stdout
    assert "+empty_cache()" in only
    assert "get_device()" not in only.replace("return", "").partition("--- a/a.py")[2]


def test_asks(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": CODE + "y = x.cuda()\n"})
    done = run(str(tmp_path), "--write", "--interactive", input="n\ny\n")
    assert done.exit_code == 0
    text = (tmp_path / "a.py").read_text()
    assert 'device="cuda"' in text
    assert "y = x.to(get_device())" in text


def test_json(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": CODE + "g = torch.cuda.CUDAGraph()\n"})
    done = run(str(tmp_path), "--format", "json")
    data = json.loads(done.stdout)
    assert [f["path"] for f in data["files"]] == ["neuron_device.py", "a.py"]
    assert [c["rule"] for c in data["changes"]] == ["hardcoded-cuda-device"]
    (left,) = data["left"]
    assert left["line"] == 3
    assert left["ways"]
    schema = json.loads((data_folder("schemas") / "churn.json").read_text("utf-8"))
    jsonschema.validate(data["churn"], schema)
    assert data["churn"]["references"]["converted"] == 1
    assert data["churn"]["references"]["left"] == 1


def test_annotates_and_only_with_comments(tmp_path: Path) -> None:
    code = (
        "import torch\n\n\ndef f(x):\n    if x:\n        g = torch.cuda.CUDAGraph()\n        return g\n"
        '    text = """\ntorch.cuda.CUDAGraph()\n"""\n    y = (\n        torch.cuda.CUDAGraph()\n    )\n'
        "    return text, y\n"
    )
    plant(tmp_path, {"a.py": code})
    assert run(str(tmp_path), "--write", "--annotate").exit_code == 0
    text = (tmp_path / "a.py").read_text()
    kept = "".join(
        line for line in text.splitlines(keepends=True) if "TODO(neuronport)" not in line
    )
    assert kept == code
    assert text.count("TODO(neuronport)") == 2
    assert run(str(tmp_path), "--write", "--annotate").exit_code == 0
    assert (tmp_path / "a.py").read_text() == text


PACKAGE = {
    "setup.py": "from setuptools import setup\nsetup()\n",
    "pkg/__init__.py": "",
    "pkg/a.py": CODE,
    "pkg/sub/__init__.py": "from .b import y\n",
    "pkg/sub/b.py": "from . import c\nimport torch\ny = torch.ones(1).cuda()\n",
    "pkg/sub/c.py": "",
    "examples/run.py": "from pkg import a\nimport torch\nz = torch.ones(1).cuda()\n",
    "alone/script.py": CODE,
}


def test_one_seam_per_program(tmp_path: Path) -> None:
    plant(tmp_path, PACKAGE)
    after = port(tmp_path)
    assert {p for p in after if p.endswith("neuron_device.py")} == {
        "pkg/neuron_device.py",
        "alone/neuron_device.py",
    }
    assert "from pkg.neuron_device import get_device" in after["pkg/a.py"]
    assert "from ..neuron_device import get_device" in after["pkg/sub/b.py"]
    assert "from pkg.neuron_device import get_device" in after["examples/run.py"]
    assert "from neuron_device import get_device" in after["alone/script.py"]


@pytest.mark.parametrize(
    "entry", ["import pkg.a, pkg.sub.b", "import runpy; runpy.run_path('examples/run.py')"]
)
def test_the_imports_written_work(tmp_path: Path, entry: str) -> None:
    pytest.importorskip("torch")
    plant(tmp_path, PACKAGE)
    port(tmp_path)
    subprocess.run(
        [sys.executable, "-c", entry],
        cwd=tmp_path,
        check=True,
        timeout=120,
        env={"PYTHONPATH": "."},
    )


def test_namespace_packages_are_imported_as_others_import_them(tmp_path: Path) -> None:
    files = {
        "main.py": "from util.misc import f\nimport torch\nf(torch.ones(1).cuda())\n",
        "util/misc.py": "import torch\ndef f(x):\n    return x.cuda()\n",
    }
    plant(tmp_path, files)
    after = port(tmp_path)
    seams = [p for p in after if p.endswith("neuron_device.py")]
    assert len(seams) == 1
    line = f"from {seams[0].removesuffix('.py').replace('/', '.')} import get_device"
    assert line in after["main.py"]
    assert line in after["util/misc.py"]


def test_a_seam_that_is_there_is_extended_and_otherwise_left(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": CODE})
    port(tmp_path)
    seam = tmp_path / "neuron_device.py"
    mine = seam.read_text() + "\n\ndef mine():\n    return 1\n"
    seam.write_text(mine)
    (tmp_path / "b.py").write_text("import torch\ntorch.cuda.empty_cache()\n")
    port(tmp_path)
    text = seam.read_text()
    assert text.startswith(mine)
    assert "def empty_cache" in text
    assert text.count("def device_name") == 1


def test_vendored_and_suppressed_code_stays(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "third_party/lib/a.py": CODE,
            "b.py": "# neuronport: ignore-file[*] CUDA only\n" + CODE,
        },
    )
    _, plan = plan_for(tmp_path, review=True)
    assert plan.rewritten == []
    assert {x.reason for x in plan.left} <= {"vendored"}


def test_device_ids_that_a_condition_chose_ask_nothing_of_anybody(tmp_path: Path) -> None:
    code = (
        "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
        "def main(rank, device, model: torch.nn.Module):\n"
        '    ids = [rank] if device.type == "cuda" else None\n'
        "    return DDP(model, device_ids=ids)\n"
    )
    plant(tmp_path, {"a.py": code, "b.py": code.replace("ids)", "ids)\nids = []")})
    data = json.loads(run(str(tmp_path), "--format", "json").stdout)
    reasons = {x["path"]: x["reason"] for x in data["left"] if x["rule"] == "ddp-device-ids"}
    assert reasons == {"a.py": "cuda-only", "b.py": "needs-a-person"}


def test_what_could_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE)
    (tmp_path / "old.py").write_text('print "for Python 2"\n')
    (tmp_path / "bad.py").write_text("x = 1\ndef f(:\n")
    said = run(str(tmp_path), "--diff").stderr
    assert "2 files not looked at, and so not ported:" in said
    assert "bad.py:2: syntax-error" in said
    assert "old.py:1: python-2" in said
    body = json.loads(run(str(tmp_path), "--format", "json", "-q").stdout)
    schema = json.loads((data_folder("schemas") / "port.json").read_text("utf-8"))
    jsonschema.validate(body["not_looked_at"], schema["properties"]["not_looked_at"])
    assert [m["path"] for m in body["not_looked_at"]] == ["bad.py", "old.py"]
