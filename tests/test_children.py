from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from neuronport import children

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="Linux only")


def run(code: str, folder: Path, seconds: float = 20, megabytes: int = 0) -> children.Ended:
    return children.run([sys.executable, "-c", code], folder / "output", seconds, megabytes)


def gone(file: Path) -> bool:
    pid = int(file.read_text(encoding="utf-8"))
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split(") ")[1][0] == "Z":
                return True  # dead; whoever adopts orphans here does not wait for them
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_one_that_ends_well(tmp_path: Path) -> None:
    ended = run("print('a'); print('b')", tmp_path)
    assert (ended.why, ended.tail) == ("", ("a", "b"))


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise SystemExit(7)", "ended with status 7"),
        ("import os; os.abort()", "ended by SIGABRT"),
        ("import time; time.sleep(60)", "not finished after 1 s"),
        (
            "import time; x = b'x' * (300 << 20); time.sleep(60)",
            "more than 200 MB were used by 1 processes",
        ),
        (
            "import os, time\nfor _ in range(300):\n    if not os.fork(): time.sleep(60)\ntime.sleep(60)",
            "more than 256 processes were started",
        ),
    ],
)
def test_how_one_ends(code: str, why: str, tmp_path: Path) -> None:
    seconds = 1 if "not finished" in why else 30
    ended = run(code, tmp_path, seconds, 200 if "MB" in why else 0)
    assert ended.why == why
    assert ended.seconds < 25


@pytest.mark.parametrize("leave", ["", "os.setsid()"])
def test_what_it_started_ends_with_it(leave: str, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    code = f"""
import os, time
if os.fork() == 0:
    {leave or "pass"}
    open({str(file)!r}, "w").write(str(os.getpid()))
    time.sleep(120)
while not os.path.exists({str(file)!r}) or not os.path.getsize({str(file)!r}): time.sleep(.01)
"""
    assert run(code, tmp_path).why == ""
    assert gone(file)


def test_a_tail_is_short(tmp_path: Path) -> None:
    ended = run("print('x' * 5000)\nfor n in range(100): print(n)", tmp_path)
    assert ended.tail[-1] == "99"
    assert len(ended.tail) == 12
    assert run("print('x' * 5000)", tmp_path).tail == ("x" * 400,)


def test_idle(tmp_path: Path) -> None:
    code = [sys.executable, "-c", "import time; time.sleep(60)"]
    ended = children.run(code, tmp_path / "output", 20, idle=lambda: True)
    assert ended.why == "idle"


def test_what_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(children.NotStartedError, match="No such file"):
        children.run([os.fspath(tmp_path / "none")], tmp_path / "output", 5)


def test_one_that_prints_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "_PRINTED", 1)
    ended = run("import sys\nwhile True: sys.stdout.write('x' * 4096)", tmp_path)
    assert ended.why == "more than 1 MB were printed"


def test_the_folder_the_text_and_the_peak(tmp_path: Path) -> None:
    code = "import os, time; x = b'x' * (80 << 20); print(os.getcwd(), flush=True); time.sleep(1.5)"
    ended = children.run([sys.executable, "-c", code], tmp_path / "out", 20, folder=tmp_path)
    assert ended.text.strip() == str(tmp_path)
    assert 80 << 20 < ended.peak < 400 << 20
