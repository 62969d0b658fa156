"""Processes and pipes: the same bytes from one or two, nobody left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from neuronport import pool
from tests.cli.running import ROOT, environment, neuronport

SOURCE = (ROOT / "samples" / "gpt_trainer" / "model.py").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """So much Python that processes are worth starting."""
    tree = tmp_path_factory.mktemp("large")
    copies = (pool._WORTH_IT + 100_000) // len(SOURCE) + 1
    for number in range(copies):
        folder = tree / f"p{number % 7}"
        folder.mkdir(exist_ok=True)
        text = SOURCE if number % 5 else "def f(:\n" + SOURCE
        (folder / f"m{number}.py").write_text(
            f"import flash_attn\nfrom m{number + 1} import x\nx.cuda()\n{text}", encoding="utf-8"
        )
    return tree


@pytest.mark.parametrize("format_", ["json", "sarif", "text"])
def test_the_same_bytes_whatever_the_number_of_processes(large, format_):
    one, two = (neuronport("audit", large, "-j", n, "--format", format_, timeout=300) for n in "12")
    assert one.returncode == two.returncode == 1
    assert len(one.stdout) > 1_000
    assert one.stdout == two.stdout


def test_the_cache_changes_nothing(large, tmp_path):
    cache = {"NEURONPORT_CACHE_DIR": str(tmp_path / "cache")}
    part = large / "p1"
    cold = neuronport("audit", part, "--format", "json", env=cache)
    assert list((tmp_path / "cache").rglob("*.json"))
    warm = neuronport("audit", part, "--format", "json", env=cache)
    off = neuronport("audit", part, "--format", "json", env={"NEURONPORT_CACHE_DIR": ""})
    assert cold.stdout == warm.stdout == off.stdout
    for file in (tmp_path / "cache").rglob("*.json"):
        file.write_bytes(file.read_bytes()[:-100])
    assert neuronport("audit", part, "--format", "json", env=cache).stdout == cold.stdout


def children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("group", [True, False], ids=["as a terminal does", "only the parent"])
def test_an_interrupt_ends_it_soon_and_leaves_nobody(large, group):
    code = (
        "import neuronport.audit as audit, signal, time\n"
        # ignored where the tests themselves run in the background of a shell
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "read = audit.PythonAuditor.read\n"
        "def slowly(self, file):\n    time.sleep(0.2)\n    return read(self, file)\n"
        "audit.PythonAuditor.read = slowly\n"
        "from neuronport.cli import main\n"
        "main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "audit", str(large), "-j", "2", "--no-cache"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=environment(),
        start_new_session=True,
    )
    workers: list[int] = []
    give_up = time.monotonic() + 60
    while len(workers) < 2 and time.monotonic() < give_up and process.poll() is None:
        time.sleep(0.05)
        workers = children(process.pid)
    assert len(workers) == 2
    time.sleep(0.3)
    if group:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == b""
    assert err.strip() == b"neuronport: interrupted"
    give_up = time.monotonic() + 5
    while any(map(alive, workers)) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not any(map(alive, workers))


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
@pytest.mark.parametrize("format_", ["json", "full"])
def test_a_reader_that_goes_away_is_no_error_to_tell_of(large, format_):
    process = subprocess.Popen(
        [sys.executable, "-m", "neuronport", "audit", str(large), "--format", format_, "-j", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=120) == 141
    assert err == b""
