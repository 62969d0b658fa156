"""The cache changes time, never findings."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from neuronport import caches, pool
from neuronport.audit import PythonAuditor
from neuronport.audit_cache.store import Store, open_store
from neuronport.cli.audit import command

FILES = {
    "pkg/__init__.py": "from .helpers import *\nfrom .devices import pick as choose\nfrom .flags import on as enabled\n",
    "pkg/flags.py": "def on():\n    return False\n",
    "pkg/constants.py": "DEVICE = 'cuda'\nOTHER = 'cpu'\nBACKEND = 'nccl'\n",
    "pkg/devices.py": (
        "import torch\nfrom .constants import DEVICE\n"
        "def pick(kind=DEVICE):\n    return torch.device(kind)\n"
        "def move(x, where='cpu'):\n    return x.to(where)\n"
    ),
    "pkg/helpers.py": (
        "import torch\n"
        "def has_gpu():\n    return torch.cuda.is_available()\n"
        "def wait(x):\n    torch.cuda.synchronize()\n    return x.item()\n"
        "def gather(x, mask):\n    return x[mask]\n"
    ),
    "pkg/model.py": (
        "import torch\nfrom torch import nn\nfrom . import helpers\nfrom .helpers import wait\n"
        "class Base(nn.Module):\n    device = 'cuda'\n"
        "class Net(Base):\n"
        "    def forward(self, x: torch.Tensor):\n"
        "        y = helpers.gather(x, x > 0)\n        return y.to(self.device)\n"
    ),
    "train.py": (
        "import torch\nfrom pkg import choose, enabled, has_gpu\nfrom pkg.devices import move\n"
        "from pkg.constants import BACKEND\nfrom pkg.model import Net\nimport pkg.helpers\n"
        "def main(loader, optimizer):\n"
        "    torch.distributed.init_process_group(BACKEND)\n"
        "    net = Net().to(choose())\n"
        "    for x in loader:\n"
        "        loss = net(move(x, 'cuda')).sum()\n        loss.backward()\n"
        "        optimizer.step()\n"
        "    if has_gpu():\n        torch.cuda.empty_cache()\n"
        "    if enabled():\n        torch.cuda.synchronize()\n"
    ),
    "tools/probe.py": (
        "import torch\nfrom helpers import has_gpu, wait  # neuronport: ignore[device/*] kept\n"
        "def probe(x):\n    return wait(x.cuda())  # neuronport: ignore[nothing] unused\n"
        "if has_gpu():\n    torch.cuda.synchronize()\n"
    ),
    "broken.py": "def (:\n",
}


def swap(path: str, *pairs: tuple[str, str]) -> Callable[[Path, random.Random], None]:
    """Exchange texts of a file, back and forth."""

    def edit(root: Path, rng: random.Random) -> None:
        file = root / path
        if not file.exists():
            return
        text = file.read_text()
        old, new = rng.choice(pairs)
        if new in text and old not in text.replace(new, ""):
            old, new = new, old
        file.write_text(text.replace(old, new))

    return edit


def toggle(path: str, text: str) -> Callable[[Path, random.Random], None]:
    """A file comes or goes."""

    def edit(root: Path, rng: random.Random) -> None:
        file = root / path
        if file.exists():
            file.unlink()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    return edit


EDITS: dict[str, Callable[[Path, random.Random], None]] = {
    "rename a helper": swap(
        "pkg/helpers.py", ("def wait", "def wait_for"), ("has_gpu", "has_cuda")
    ),
    "change a constant": swap(
        "pkg/constants.py", ("'cuda'", "'neuron'"), ("'nccl'", "'gloo'"), ("OTHER", "ANOTHER")
    ),
    "change a default": swap(
        "pkg/devices.py", ("kind=DEVICE", "kind='cpu'"), ("where='cpu'", "where='cuda:1'")
    ),
    "change an argument": swap("train.py", ("'cuda')", "'cpu')"), ("choose()", "choose('cpu')")),
    "hot loop in a caller": swap(
        "train.py",
        (
            "        optimizer.step()\n",
            "        optimizer.step()\n        pkg.helpers.wait(loss)\n",
        ),
    ),
    "lose the loop": swap("train.py", ("        loss.backward()\n", "")),
    "star import": swap(
        "pkg/__init__.py", ("from .helpers import *", "from .helpers import gather")
    ),
    "re-export moved": swap(
        "pkg/__init__.py", ("from .flags import on as", "from .other import on as")
    ),
    "where it moved to": toggle(
        "pkg/other.py", "import torch\ndef on():\n    return torch.cuda.is_available()\n"
    ),
    "sibling of the same name": toggle(
        "tools/helpers.py", "def wait(x):\n    return x.cpu()\ndef has_gpu():\n    return False\n"
    ),
    "module in front of a name": toggle("pkg/flags/__init__.py", "def on(): ...\n"),
    "stub beside it": toggle("pkg/helpers.pyi", "def has_gpu() -> bool: ...\n"),
    "what a function returns": swap("pkg/flags.py", ("return False", "return True")),
    "base class": swap("pkg/model.py", ("Base(nn.Module)", "Base"), ("'cuda'", "'cpu'")),
    "annotation": swap("pkg/model.py", ("x: torch.Tensor", "x"), ("x > 0", "x.abs()")),
    "lines move": swap("pkg/constants.py", ("DEVICE =", "\n\nDEVICE =")),
    "lines of a helper move": swap("pkg/helpers.py", ("import torch\n", "import torch\n# one\n")),
    "lines of a caller move": swap("train.py", ("import torch\n", "import torch\n\n")),
    "a variable in front": swap("pkg/devices.py", ("import torch\n", "import torch\nN = 'cuda'\n")),
    "mended": swap("broken.py", ("def (:", "import torch\nx = torch.zeros(1).cuda()")),
    "not UTF-8": swap("tools/probe.py", ("import torch\n", "# coding: nonsense\nimport torch\n")),
    "guard of a variable": swap(
        "pkg/constants.py",
        ("BACKEND = 'nccl'", "import torch\nif torch.cuda.is_available():\n    BACKEND = 'nccl'"),
    ),
    "a test": toggle("tests/test_net.py", "from pkg.helpers import wait\nwait(1)\n"),
    "a stranger": toggle("unrelated.py", "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\n"),
}


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the cache of this test is."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(caches, "folder", lambda: folder)
    return folder / "audit"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for name, text in FILES.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def audit(root: Path, *options: str) -> tuple[str, str]:
    """JSON and SARIF."""
    sarif = root.parent / "out.sarif"
    words = [str(root), "-j1", "--no-config", "--format=json", f"--output=sarif={sarif}"]
    result = CliRunner().invoke(command, [*words, "--fail-on=none", *options])
    assert result.exit_code == 0, result.output
    return result.stdout, sarif.read_text()


class Work:
    """What the runs of a test did."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read: list[str] = []
        self.judged: list[str] = []
        read, judge = PythonAuditor.read, PythonAuditor._judge

        def reading(auditor: PythonAuditor, file: object) -> object:
            self.read.append(file.path)  # type: ignore[attr-defined]
            return read(auditor, file)  # type: ignore[arg-type]

        def judging(auditor: PythonAuditor, judge_: object, file: object, *known: object) -> None:
            self.judged.append(file.path)  # type: ignore[attr-defined]
            judge(auditor, judge_, file, *known)  # type: ignore[arg-type]

        monkeypatch.setattr(PythonAuditor, "read", reading)
        monkeypatch.setattr(PythonAuditor, "_judge", judging)

    def clear(self) -> None:
        self.read.clear()
        self.judged.clear()


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    return Work(monkeypatch)


@pytest.mark.parametrize("seed", range(6))
def test_edited_trees_give_what_a_cold_run_gives(cached: Path, tree: Path, seed: int) -> None:
    rng = random.Random(seed)
    audit(tree)
    done: list[str] = []
    for _ in range(12):
        for name in rng.sample(sorted(EDITS), rng.choice([1, 1, 1, 2, 4])):
            EDITS[name](tree, rng)
            done.append(name)
        options = rng.choice([(), (), (), ("--target=native", "--target=xla"), ("--target=xla",)])
        assert audit(tree, *options) == audit(tree, *options, "--no-cache"), done


@pytest.mark.parametrize("name", sorted(EDITS))
def test_each_edit_there_and_back(cached: Path, tree: Path, name: str) -> None:
    audit(tree)
    for seed in range(4):
        EDITS[name](tree, random.Random(seed))
        assert audit(tree) == audit(tree, "--no-cache")


def test_edits_change_what_is_found_elsewhere(cached: Path, tree: Path) -> None:
    """Or they would prove nothing."""

    def found(apart_from: set[str]) -> list[object]:
        report = json.loads(audit(tree)[0])
        rows = report["findings"] + report["references"]
        return [row for row in rows if row["path"] not in apart_from]

    telling = set()
    state = {path: path.read_bytes() for path in tree.rglob("*.py*")}
    for name in sorted(EDITS):
        for seed in range(3):
            EDITS[name](tree, random.Random(seed))
            now = {path: path.read_bytes() for path in tree.rglob("*.py*")}
            edited = {
                path.relative_to(tree).as_posix()
                for path in {*now, *state}
                if state.get(path) != now.get(path)
            }
            after = found(edited)
            for path in now:
                path.unlink()
            for path, data in state.items():
                path.write_bytes(data)
            if found(edited) != after:
                telling.add(name)
    assert len(telling) >= 10, telling


def test_nothing_is_read_or_judged_twice(cached: Path, tree: Path, work: Work) -> None:
    cold = audit(tree)
    assert sorted(work.read) == sorted(FILES)
    work.clear()
    assert audit(tree) == cold
    assert work.read == work.judged == []
    (tree / "tools/probe.py").write_text(FILES["tools/probe.py"] + "\n# edited\n")
    audit(tree)
    assert work.read == work.judged == ["tools/probe.py"]


def test_what_depended_on_an_edit_is_judged_again(cached: Path, tree: Path, work: Work) -> None:
    audit(tree)
    work.clear()
    EDITS["change a constant"](tree, random.Random(0))
    audit(tree)
    assert work.read == ["pkg/constants.py"]
    assert "tools/probe.py" not in work.judged
    assert "train.py" in work.judged or "pkg/devices.py" in work.judged


def test_lines_that_move_are_followed(cached: Path, tree: Path, work: Work) -> None:
    """What was found elsewhere names lines of the file, and is not looked for again."""
    file = "pkg/helpers.py"

    def named() -> set[int]:
        report = json.loads(audit(tree)[0])
        return {
            step["line"]
            for row in report["findings"] + report["references"]
            for step in row["related"]
            if row["path"] != file and step["path"] == file
        }

    before = named()
    work.clear()
    (tree / file).write_text("import os\n\n\n" + FILES[file])
    assert named() == {line + 3 for line in before}
    assert before
    assert work.judged == [file]
    assert audit(tree) == audit(tree, "--no-cache")


def test_a_condition_elsewhere_that_moves_is_named_where_it_is(
    cached: Path, tree: Path, work: Work
) -> None:
    files = {
        "pkg/only.py": "import torch\ndef _stop():\n    torch.cuda.synchronize()\n",
        "caller.py": "import torch\nfrom pkg.only import _stop\n"
        "if torch.cuda.is_available():\n    _stop()\n",
    }
    for name, text in files.items():
        (tree / name).write_text(text)
    assert "line 3 of caller.py" in audit(tree)[0]
    (tree / "caller.py").write_text("N = 1\n\n" + files["caller.py"])
    work.clear()
    assert "line 5 of caller.py" in audit(tree)[0]
    assert "pkg/only.py" not in work.judged
    assert audit(tree) == audit(tree, "--no-cache")


def test_what_a_step_named_is_gone(cached: Path, tree: Path) -> None:
    """A line that nothing names any more is not guessed."""
    audit(tree)
    for edit in ("lines of a caller move", "change an argument", "lose the loop"):
        EDITS[edit](tree, random.Random(1))
        EDITS["lines of a helper move"](tree, random.Random(1))
        assert audit(tree) == audit(tree, "--no-cache")


def test_targets_and_rules_do_not_mix(
    cached: Path, tree: Path, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    from neuronport.audit_cache import memory

    for options in ((), ("--target=xla",), ("--target=native", "--target=xla")):
        work.clear()
        assert audit(tree, *options) == audit(tree, *options, "--no-cache")
        assert "train.py" in work.judged
    work.clear()
    audit(tree)
    assert work.judged == []
    with monkeypatch.context() as patch:
        patch.setattr(memory, "rules_digest", lambda: b"other rules")
        audit(tree)
        assert work.read == []
        assert "train.py" in work.judged
    work.clear()
    monkeypatch.setattr(memory, "code_digest", lambda: b"other code")
    audit(tree)
    assert sorted(work.read) == sorted(FILES)


def test_roles_are_judged_apart(cached: Path, tree: Path) -> None:
    audit(tree)
    (tree / "train.py").rename(tree / "test_train.py")
    assert audit(tree) == audit(tree, "--no-cache")


def damage(file: Path, how: str) -> None:
    if how == "not a database":
        file.write_bytes(b"nonsense" * 1000)
    elif how == "empty":
        file.write_bytes(b"")
    elif how == "cut off":
        file.write_bytes(file.read_bytes()[:5000])
    elif how == "zeros inside":
        data = bytearray(file.read_bytes())
        data[len(data) // 3 : len(data) // 3 * 2] = bytes(len(data) // 3)
        file.write_bytes(data)
    else:
        with sqlite3.connect(file) as connection:
            if how == "blobs changed":
                for rowid, data in connection.execute("select rowid, data from entry").fetchall():
                    changed = bytearray(data)
                    changed[-1] ^= 1
                    connection.execute(
                        "update entry set data = ? where rowid = ?", (bytes(changed), rowid)
                    )
            elif how == "rows exchanged":
                (data,) = connection.execute(
                    "select data from entry where kind = 'judged' limit 1"
                ).fetchone()
                connection.execute("update entry set data = ? where kind = 'judged'", (data,))
            elif how == "other types":
                connection.execute("update entry set data = 'text'")
            elif how == "no table":
                connection.execute("drop table entry")
            elif how == "other table":
                connection.execute("drop table entry")
                connection.execute("create table entry (a, b)")
            else:
                connection.execute(f"delete from entry where kind = '{how}'")
        connection.close()


@pytest.mark.parametrize(
    "how",
    [
        "not a database",
        "empty",
        "cut off",
        "zeros inside",
        "blobs changed",
        "rows exchanged",
        "other types",
        "no table",
        "other table",
        "facts",
        "summary",
        "calls",
        "edges",
        "edges needs",
        "judged needs",
        "together",
        "together needs",
        "shared",
        "read",
    ],
)
def test_a_damaged_file_changes_nothing(cached: Path, tree: Path, how: str) -> None:
    cold = audit(tree)
    (file,) = cached.glob("*.sqlite")
    damage(file, how)
    assert audit(tree) == cold
    EDITS["change a constant"](tree, random.Random(1))
    EDITS["where it moved to"](tree, random.Random(1))
    damage(file, how) if file.exists() and how not in ("no table", "other table") else None
    assert audit(tree) == audit(tree, "--no-cache")


def test_a_file_that_is_no_database_is_made_again(cached: Path, tree: Path, work: Work) -> None:
    audit(tree)
    (file,) = cached.glob("*.sqlite")
    damage(file, "not a database")
    audit(tree)
    audit(tree)
    work.clear()
    audit(tree)
    assert work.read == []


def test_a_folder_that_cannot_be_written(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    cold = audit(tree, "--no-cache")
    monkeypatch.setattr(caches, "folder", lambda: blocked / "below")
    assert audit(tree) == cold
    monkeypatch.setattr(caches, "folder", lambda: None)
    assert audit(tree) == cold


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="POSIX permissions")
def test_a_read_only_folder(cached: Path, tree: Path) -> None:
    cold = audit(tree)
    for path in (*cached.iterdir(), cached):
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        assert audit(tree) == cold
        EDITS["change a constant"](tree, random.Random(1))
        assert audit(tree) == audit(tree, "--no-cache")
    finally:
        for path in (cached, *cached.iterdir()):
            path.chmod(0o700 if path.is_dir() else 0o600)


def test_a_locked_file(cached: Path, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from neuronport.audit_cache import store

    monkeypatch.setattr(store, "_WAIT", 0.05)
    audit(tree)
    EDITS["change a constant"](tree, random.Random(1))
    (file,) = cached.glob("*.sqlite")
    other = sqlite3.connect(file)
    other.execute("begin exclusive")
    try:
        assert audit(tree) == audit(tree, "--no-cache")
    finally:
        other.close()


def test_no_cache_leaves_no_trace(cached: Path, tree: Path) -> None:
    audit(tree, "--no-cache")
    assert not cached.exists()


def test_processes_share_it(
    cached: Path, tree: Path, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cold and warm, and with much and little to do, in two processes as in one."""
    monkeypatch.setattr(pool, "_WORTH_IT", 0)
    two = ("-j2",)
    cold = audit(tree, "--no-cache")
    assert audit(tree, *two) == cold
    assert audit(tree, *two) == cold
    assert audit(tree) == cold
    assert work.judged.count("train.py") == 1, "only without the cache, in this process"
    for seed, name in enumerate(sorted(EDITS)):
        EDITS[name](tree, random.Random(seed))
        assert audit(tree, *two) == audit(tree, "--no-cache"), name
    for options in (("--target=xla", "-j2"), ("--target=xla", "-j1")):
        assert audit(tree, *options) == audit(tree, "--target=xla", "--no-cache")


def test_what_a_process_needs_is_gone(
    cached: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found out in a process that judges: the audit starts over."""
    monkeypatch.setattr(pool, "_WORTH_IT", 0)
    audit(tree, "-j2")
    (file,) = cached.glob("*.sqlite")
    damage(file, "facts")
    cold = audit(tree, "--target=xla", "--no-cache")
    assert audit(tree, "--target=xla", "-j2") == cold


def test_runs_at_the_same_time(tmp_path: Path, tree: Path) -> None:
    environment = {**os.environ, "NEURONPORT_CACHE_DIR": str(tmp_path / "cache")}
    words = [sys.executable, "-m", "neuronport", "audit", str(tree), "--no-config"]
    words += ["--format=json", "--fail-on=none"]
    cold = subprocess.run(
        [*words, "--no-cache"], env=environment, capture_output=True, check=True
    ).stdout
    for _ in range(2):
        runs = [subprocess.Popen(words, env=environment, stdout=subprocess.PIPE) for _ in range(3)]
        assert [run.communicate()[0] for run in runs] == [cold] * 3
    assert list((tmp_path / "cache" / "audit").glob("*.sqlite"))


def test_a_file_that_changes_while_it_is_judged_is_not_kept(
    cached: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tree / "train.py"
    text = file.read_text()
    settle = PythonAuditor.settle

    def changing(auditor: PythonAuditor, *args: object) -> object:
        file.write_text("# é\n" * 30)
        return settle(auditor, *args)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(PythonAuditor, "settle", changing)
        audit(tree)
    file.write_text(text)
    assert audit(tree) == audit(tree, "--no-cache")


def test_the_file_stays_small(cached: Path, tree: Path) -> None:
    audit(tree)
    store = open_store()
    assert store is not None
    for i in range(200):
        store.put(i.to_bytes(4, "big"), "filler", random.Random(i).randbytes(20_000))
    store.flush()
    file = store.file
    assert file.stat().st_size + Path(f"{file}-wal").stat().st_size > 4_000_000
    with sqlite3.connect(file) as connection:
        connection.execute("update entry set used = used - 100 where kind = 'filler'")
    connection.close()
    store.sweep(most=2_000_000)
    store.close()
    assert file.stat().st_size < 2_000_000
    kept = Store(file)
    assert kept.get((1).to_bytes(4, "big"), "filler") is None
    kept.close()


def test_what_is_not_used_is_forgotten(cached: Path, tree: Path, work: Work) -> None:
    audit(tree)
    (file,) = cached.glob("*.sqlite")
    with sqlite3.connect(file) as connection:
        connection.execute("update entry set used = used - 20 * 86400")
        connection.execute("pragma user_version = 0")
    connection.close()
    audit(tree)  # used: young again
    with sqlite3.connect(file) as connection:
        connection.execute("insert into entry select x'00', 'old', 0, x'00'")
        connection.execute("update entry set used = used - 20 * 86400")
        connection.execute("pragma user_version = 0")
    connection.close()
    work.clear()
    audit(tree)
    assert work.read == work.judged == []
    with sqlite3.connect(file) as connection:
        assert connection.execute("select count(*) from entry where kind = 'old'").fetchone() == (
            0,
        )
    connection.close()


def test_what_was_found_together_is_not_what_was_found_later(cached: Path, tree: Path) -> None:
    """One file is judged anew when another is edited, and then that is as it was."""
    name = "what a function returns"
    before = {path: path.read_bytes() for path in tree.rglob("*.py")}
    cold = audit(tree)
    for seed in range(3):
        EDITS[name](tree, random.Random(seed))
        assert audit(tree) == audit(tree, "--no-cache")
        for path, data in before.items():
            path.write_bytes(data)
        assert audit(tree) == cold
