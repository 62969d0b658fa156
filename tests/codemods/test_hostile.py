"""Trees that are made to break a rewriter: what cannot be done well is not done, and is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from neuronport.cli import cli
from tests.codemods.porting import plant

CODE = 'import torch\nx = torch.zeros(3, device="cuda")\n'
PORTED = (
    "import torch\nfrom neuron_device import get_device\nx = torch.zeros(3, device=get_device())\n"
)


def write(folder: Path, *arguments: str) -> Any:
    return CliRunner().invoke(cli, ["port", str(folder), "--write", "--review", *arguments])


BODIES = {
    "no final newline": CODE.rstrip("\n"),
    "only carriage returns": CODE.replace("\n", "\r"),
    "carriage returns": CODE.replace("\n", "\r\n"),
    "mixed ends": 'import torch\r\ny = 1\nx = torch.zeros(3, device="cuda")\r\n',
    "tabs": 'import torch\nif True:\n\tx = torch.zeros(3, device="cuda")\n\tif x:\n\t\tx = x.cuda()\n',
    "form feed": 'import torch\n\x0c\nx = torch.zeros(3, device="cuda")\n\x0c\n',
    "form feed in front": '\x0cimport torch\nx = torch.zeros(3, device="cuda")\n',
    "form feed inside": 'import torch\nx = torch.zeros(3,\x0c device="cuda")\n',
    "line separator in a string": 'import torch\ns = "a\u2028b"; x = torch.zeros(3, device="cuda")\n',
    "wide characters": 'import torch\ns = "🙂é", torch.zeros(3, device="cuda"), "🙂"  # 🙂 "cuda"\n',
    "continued": 'import torch\nx = torch.zeros(3, \\\n    device="cuda")\n',
    "one line": 'import torch; x = torch.zeros(3, device="cuda"); y = x.cuda()\n',
    "concatenated": 'import torch\nx = torch.zeros(3, device="cu" "da")\n',
    "parenthesised": 'import torch\nx = torch.zeros(3, device=(("cuda")))\ny = (x).cuda()\n',
    "raw and bytes": 'import torch\nx = torch.zeros(3, device=r"cuda")\nb = b"cuda"\n',
    "future": "from __future__ import annotations\n" + CODE,
    "docstring only": '"""Doc."""\nimport torch; torch.cuda.empty_cache()\n',
    "docstring and statement": '"""Doc."""; import torch; torch.cuda.empty_cache()\n',
    "no import at the top": "def f():\n    import torch\n    torch.cuda.empty_cache()\n",
    "names taken": "import torch\nget_device = 1\nport_get_device = 2\nx = torch.ones(1).cuda()\n",
    "shadowed": 'import torch\ndef f(torch):\n    return torch.zeros(3, device="cuda")\n',
    "star": 'from torch import *\nx = zeros(3, device="cuda")\n',
    "in a lambda": 'import torch\nf = lambda x: x.to("cuda") if x else torch.ones(1).cuda()\n',
    "in an f-string": "import torch\ns = f\"{torch.zeros(3, device='cuda')}\"\n",
    "nested f-string": "import torch\nr = 1\nd = torch.device(f\"cuda:{f'{r}'}\")\n",
    "walrus": 'import torch\nif (d := torch.device("cuda")):\n    x = torch.ones(1).to(d)\n',
    "match": 'import torch\nmatch torch.device("cuda").type:\n    case "cuda":\n        x = 1\n',
    "global": 'import torch\ndef f():\n    global d\n    d = torch.device("cuda")\n',
    "decorated": "import torch\n@torch.compile\ndef f(x):\n    return x.cuda()\n",
    "async": 'import torch\nasync def f(x):\n    async with x:\n        return x.to("cuda")\n',
    "comment after": 'import torch\nx = torch.zeros(3, device="cuda")# cuda\n',
    "ends in a comment": CODE + "# the end",
    "ends in a backslash line": CODE + "y = 1 + \\\n    1",
    "type comment": 'import torch\nx = torch.zeros(3, device="cuda")  # type: ignore[arg-type]\n',
}


@pytest.mark.parametrize("text", BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize(
    ("head", "encoding"),
    [(b"", "utf-8"), (b"\xef\xbb\xbf", "utf-8"), (b"# coding: utf-16-nope\n", "utf-8")],
    ids=["plain", "mark", "unknown encoding"],
)
def test_what_is_written_is_sound(tmp_path: Path, head: bytes, encoding: str, text: str) -> None:
    data = head + text.encode(encoding)
    plant(tmp_path, {"a.py": data})
    try:
        compile(data, "a.py", "exec")
        sound = True
    except SyntaxError:
        sound = False
    done = write(tmp_path)
    after = (tmp_path / "a.py").read_bytes()
    if not sound:
        assert after == data
        return
    assert done.exit_code in (0, 1), done.output
    compile(after, "a.py", "exec")
    if done.exit_code == 1:
        assert after == data
        assert "left as it was: a.py" in done.stderr
    assert after.startswith(head)
    for newline in (b"\r\n", b"\n", b"\r"):
        # no kind of line end that was not there comes in
        rest = after.replace(b"\r\n", b"") if newline != b"\r\n" else after
        old = data.replace(b"\r\n", b"") if newline != b"\r\n" else data
        assert (newline in rest) <= (newline in old)
    assert after.endswith((b"\n", b"\r")) is data.endswith((b"\n", b"\r"))
    write(tmp_path)
    assert (tmp_path / "a.py").read_bytes() == after, "a second run changes something"


ON_ONE_LINE = [
    "import torch; x = torch.zeros(3, device='cuda' if torch.cuda.is_available() else 'cpu')\n",
    '"""Doc."""; import torch; torch.cuda.empty_cache()\n',
    "from __future__ import annotations; import torch; torch.cuda.empty_cache()\n",
    "import os\nimport torch; torch.cuda.empty_cache(); import sys\n",
    "#!/usr/bin/env python\nimport torch; torch.cuda.empty_cache()\n",
]


@pytest.mark.parametrize("text", ON_ONE_LINE)
def test_what_is_imported_is_there_when_it_is_used(tmp_path: Path, text: str) -> None:
    pytest.importorskip("torch")
    plant(tmp_path, {"a.py": text})
    write(tmp_path)
    after = (tmp_path / "a.py").read_text()
    assert "neuron_device" in after
    subprocess.run([sys.executable, "a.py"], cwd=tmp_path, check=True, timeout=60)
    write(tmp_path)
    assert (tmp_path / "a.py").read_text() == after


def test_a_number_that_is_text_is_still_a_number(tmp_path: Path, monkeypatch: Any) -> None:
    torch = pytest.importorskip("torch")
    code = "import os\nimport torch\nd = torch.device(f\"cuda:{os.environ['LOCAL_RANK']}\")\n"
    plant(tmp_path, {"a.py": code})
    write(tmp_path)
    assert "get_device(os.environ['LOCAL_RANK'])" in (tmp_path / "a.py").read_text()
    names: dict[str, Any] = {}
    exec((tmp_path / "neuron_device.py").read_text(), names)
    assert names["get_device"]("1") == torch.device("cpu")
    assert names["get_device"]("meta") == torch.device("meta")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert names["get_device"]("1") == torch.device("cuda:1")
    assert names["get_device"](1) == torch.device("cuda:1")


def test_what_is_written_behind_a_question_for_cuda_follows_the_question(tmp_path: Path) -> None:
    code = (
        "import torch\nfrom transformers import LlamaForCausalLM\n\n"
        'if torch.cuda.is_available():\n    device = "cuda"\nelse:\n    device = "cpu"\n'
        'if device == "cuda":\n'
        '    model = LlamaForCausalLM.from_pretrained("x", device_map="auto")\n'
    )
    plant(tmp_path, {"a.py": code})
    write(tmp_path)
    after = (tmp_path / "a.py").read_text()
    assert "device = device_name()" in after
    write(tmp_path)
    assert (tmp_path / "a.py").read_text() == after


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root writes everywhere")
def test_a_file_that_may_not_be_written(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": CODE, "sub/b.py": CODE})
    (tmp_path / "sub").chmod(0o555)
    try:
        done = write(tmp_path)
    finally:
        (tmp_path / "sub").chmod(0o755)
    assert done.exit_code == 1
    assert (tmp_path / "sub/b.py").read_text() == CODE


def test_a_read_only_file_keeps_its_mode(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": CODE, "b.py": "#!/usr/bin/env python\n" + CODE})
    (tmp_path / "a.py").chmod(0o444)
    (tmp_path / "b.py").chmod(0o755)
    write(tmp_path)
    assert (tmp_path / "a.py").stat().st_mode & 0o777 == 0o444
    assert (tmp_path / "b.py").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "b.py").read_text().startswith("#!/usr/bin/env python\nimport torch\n")


def test_links_stay_links_and_what_is_outside_stays(tmp_path: Path) -> None:
    tree, other = tmp_path / "tree", tmp_path / "other"
    plant(tree, {"a.py": CODE})
    plant(other, {"b.py": CODE, "folder/c.py": CODE})
    (tree / "b.py").symlink_to(other / "b.py")
    (tree / "folder").symlink_to(other / "folder")
    (tree / "again.py").symlink_to("a.py")
    (tree / "gone.py").symlink_to("nowhere.py")
    write(tree)
    assert (tree / "a.py").read_text() == PORTED
    assert (other / "b.py").read_text() == CODE
    assert (other / "folder/c.py").read_text() == CODE
    for name in ("b.py", "folder", "again.py", "gone.py"):
        assert (tree / name).is_symlink()
    out = tmp_path / "out"
    assert CliRunner().invoke(cli, ["port", str(tree), "--out", str(out)]).exit_code == 0
    assert (other / "b.py").read_text() == CODE


def test_a_module_that_has_the_seams_name_is_not_written_over(tmp_path: Path) -> None:
    mine = "def get_device():\n    return 'mine'\n"
    plant(tmp_path, {"a.py": CODE, "neuron_device.py": mine})
    write(tmp_path)
    assert (tmp_path / "neuron_device.py").read_text() == mine
    assert "from neuron_seam import get_device" in (tmp_path / "a.py").read_text()


def test_suppressions_hold(tmp_path: Path) -> None:
    kept = {
        "line.py": 'import torch\nx = torch.ones(1, device="cuda")  # neuronport: ignore[device] why\n',
        "above.py": "import torch\n# neuronport: ignore[*] why\nx = torch.ones(1).cuda()\n",
        "file.py": "# neuronport: ignore-file[hardcoded-cuda-device] why\n" + CODE,
    }
    plant(tmp_path, kept)
    done = write(tmp_path)
    assert done.exit_code == 0
    for name, text in kept.items():
        assert (tmp_path / name).read_text() == text
    assert not (tmp_path / "neuron_device.py").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_interrupted_by_a_signal_leaves_whole_files(tmp_path: Path) -> None:
    files = {f"m{i}.py": CODE for i in range(150)}
    plant(tmp_path, files)
    process = subprocess.Popen(
        [sys.executable, "-m", "neuronport", "port", str(tmp_path), "--write", "-q"],
        cwd=Path(__file__).parents[2],
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if (tmp_path / "m10.py").read_text() != CODE:
            process.send_signal(signal.SIGINT)
            break
        time.sleep(0.001)
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (0, 130), errors
    # The seam is there before anything needs it, and every file is the old one or the new one.
    assert (tmp_path / "neuron_device.py").is_file()
    assert {(tmp_path / name).read_text() for name in files} <= {CODE, PORTED}
    assert [p.name for p in tmp_path.iterdir() if not p.name.endswith(".py")] == []


def test_a_dirty_tree_below_a_repository_is_refused(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    plant(tmp_path, {"pkg/a.py": CODE, "other/b.txt": "x"})
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    (tmp_path / "other/b.txt").write_text("y")
    # What is changed elsewhere in the repository does not mix with the port.
    assert write(tmp_path / "pkg").exit_code == 0
    assert write(tmp_path / "pkg").exit_code == 2
    assert write(tmp_path / "pkg", "--allow-dirty").exit_code == 0
    git("add", ".")
    git("commit", "-qm", "two")
    (tmp_path / "pkg/new.py").write_text(CODE)
    assert write(tmp_path / "pkg").exit_code == 2
    assert (tmp_path / "pkg/new.py").read_text() == CODE
