"""How long the audit takes on public packages, beside ruff, torchfix and a bare `ast.parse`.

    python benchmarks/speed.py --cache FOLDER [--package NAME] [--torchfix PATH] [--json FILE]

Downloads the packages below with pip into FOLDER once (``--sources`` names a folder that holds them
unpacked). All tools run in the same session, one after the other and round after round, so that a
busy machine slows all of them; the table gives medians and ratios. Tools that are not installed are
named and left out. torchfix needs minutes, so it runs once and only on the smallest package.

Peak memory is the largest sum of the resident sizes of a process and its descendants, sampled in a
run of its own that is not timed. Pages that processes share count once for each, so it is an upper
bound. The audit is run with one and two processes, each without a cache and with an empty and a filled
one, and all outputs have to be the same, byte for byte; if they are not, the exit code is 1.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {"transformers": "5.24.0", "accelerate": "1.15.0", "timm": "1.0.31"}
TORCHFIX_ON = "accelerate"
PARSE = """\
import ast, pathlib, sys, warnings
warnings.simplefilter("ignore")
for file in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    ast.parse(file.read_bytes())
"""


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    good: tuple[int, ...] = (0,)
    """Exit codes of a run that did its work."""
    speaks: str = ""
    """What its output contains when it did: an exit code of 1 may mean findings or a crash."""
    faults: str = ""
    """What its output contains when it did not do all of it."""
    repeats: int = 0
    """Timed runs; 0: as many as asked for."""
    cold: bool = False
    """Whether the audit's cache is emptied before each run."""


@dataclass(slots=True)
class Measure:
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak: int | None = None
    digests: set[str] = field(default_factory=set)
    failed: str = ""


class ToolError(Exception):
    """A run that did not do its work: its time says nothing."""


def children() -> dict[int, list[int]]:
    """Parent → children, of every process now; empty where there is no /proc."""
    tree: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            # the name in parentheses may hold anything, parentheses and blanks too
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        tree.setdefault(parent, []).append(int(entry.name))
    return tree


def resident(root: int) -> int:
    """Bytes that a process and its descendants hold now."""
    tree = children()
    pending, total = [root], 0
    while pending:
        pid = pending.pop()
        pending += tree.get(pid, [])
        try:
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except (OSError, IndexError):
            continue
        total += pages * os.sysconf("SC_PAGE_SIZE")
    return total


def run(tool: Tool, cache: Path, timeout: float, sample: bool) -> tuple[float, float, int, str]:
    """Seconds, processor seconds, peak bytes (when sampled) and the digest of stdout."""
    if tool.cold:
        shutil.rmtree(cache, ignore_errors=True)
    env = {**os.environ, "NEURONPORT_CACHE_DIR": str(cache), **tool.env}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        process = subprocess.Popen(tool.command, stdout=out, stderr=err, env=env)
        timer = threading.Timer(timeout, process.kill)
        timer.start()
        peak = 0
        try:
            if sample:
                while (
                    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
                ):
                    peak = max(peak, resident(process.pid))
                    time.sleep(0.02)
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.perf_counter() - begin
        finally:
            in_time = timer.is_alive()
            timer.cancel()
        process.returncode = code = os.waitstatus_to_exitcode(status)
        if not in_time:
            raise ToolError(f"not done after {timeout:.0f} s")
        if code not in tool.good:
            err.seek(0)
            raise ToolError(f"ended with {code}: {err.read().decode(errors='replace')[-500:]}")
        out.seek(0)
        said_all = out.read()
        if tool.faults and tool.faults.encode() in said_all:
            raise ToolError(f"said {tool.faults}: files were left out")
        if tool.speaks and tool.speaks.encode() not in said_all:
            err.seek(0)
            said = err.read().decode(errors="replace")[-500:]
            raise ToolError(f"wrote no {tool.speaks}: {said}")
        out.seek(0)
        digest = hashlib.file_digest(out, "sha256").hexdigest()
    # ru_utime of wait4 holds the process and the descendants it waited for
    return wall, usage.ru_utime + usage.ru_stime, peak, digest


def measure(
    tools: Sequence[Tool], repeats: int, timeout: float, memory: bool, scratch: Path
) -> dict[str, Measure]:
    """Every tool in turn, then again, so that no tool has a quiet hour for itself."""
    result = {tool.name: Measure() for tool in tools}
    for number in range(repeats):
        for tool in tools:
            m = result[tool.name]
            if m.failed or number >= (tool.repeats or repeats):
                continue
            try:
                wall, cpu, _, digest = run(tool, scratch / tool.name, timeout, sample=False)
            except ToolError as error:
                m.failed = str(error).strip()
                print(f"{tool.name}: {m.failed}", file=sys.stderr)
                continue
            m.wall.append(wall)
            m.cpu.append(cpu)
            m.digests.add(digest)
    if memory:
        for tool in tools:
            m = result[tool.name]
            if m.failed or tool.repeats:
                continue
            try:
                m.peak = run(tool, scratch / tool.name, timeout * 2, sample=True)[2]
            except ToolError as error:
                m.failed = f"while its memory was sampled: {error}".strip()
    return result


def neuronport(python: str, *arguments: str) -> list[str]:
    return [python, "-P", "-m", "neuronport", *arguments]


def own_env() -> dict[str, str]:
    """This checkout first, so that it needs no installing."""
    known = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": f"{ROOT}{os.pathsep}{known}" if known else str(ROOT)}


def audits(python: str, package: Path, jobs: Sequence[int], installed: bool) -> Iterator[Tool]:
    for state in ("no cache", "cold", "warm"):
        for count in jobs:
            words = ["audit", str(package), "--format", "json", "-j", str(count)]
            if state == "no cache":
                words.append("--no-cache")
            yield Tool(
                f"audit {state} -j{count}",
                neuronport(python, *words),
                {} if installed else own_env(),
                good=(0, 1),
                speaks='"findings"',
                faults='"internal-error"',
                cold=state == "cold",
            )


def others(python: str, package: Path, ruff: str | None, torchfix: str | None) -> Iterator[Tool]:
    yield Tool("ast.parse", [python, "-c", PARSE, str(package)])
    if ruff:
        yield Tool(
            "ruff",
            [
                *(ruff, "check", "--isolated", "--select", "ALL", "--no-cache", "--quiet"),
                *("--exit-zero", str(package)),
            ],
        )
    if torchfix and package.name == TORCHFIX_ON:
        # it ends with 1 when it found something; its default is a process for each core
        command = [torchfix, "--select", "ALL", str(package)]
        yield Tool("torchfix", command, good=(0, 1), speaks=" TOR", repeats=1)


def start_up(python: str, repeats: int, scratch: Path, installed: bool) -> dict[str, Measure]:
    tools = [
        Tool("python -c pass", [python, "-c", "pass"]),
        Tool(
            "neuronport --version",
            neuronport(python, "--version"),
            {} if installed else own_env(),
        ),
    ]
    return measure(tools, repeats, 60, False, scratch)


def get_sources(cache: Path, names: Sequence[str]) -> Path:
    """A folder with the packages unpacked, downloaded if they are not there."""
    wheels, sources = cache / "wheels", cache / "sources"
    for name in names:
        if has(sources, name):
            continue
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
                *("--only-binary", ":all:", "--dest", str(wheels), f"{name}=={PACKAGES[name]}"),
            ],
            check=True,
        )
        for wheel in wheels.glob(f"{name}-{PACKAGES[name]}-*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(sources)
    return sources


def has(sources: Path, name: str) -> bool:
    """Whether the package is there, and in the version that the numbers are about."""
    info = sources / f"{name}-{PACKAGES[name]}.dist-info"
    return (sources / name).is_dir() and info.is_dir()


def size(package: Path) -> tuple[int, int]:
    """Python files and their lines."""
    files = list(package.rglob("*.py"))
    return len(files), sum(file.read_bytes().count(b"\n") for file in files)


def identical(measures: Mapping[str, Measure]) -> bool | None:
    """Whether every audit wrote the same; None when none ran."""
    ran = [m for name, m in measures.items() if name.startswith("audit")]
    if not ran or any(m.failed for m in ran):
        return None
    return len(set[str]().union(*(m.digests for m in ran))) == 1


def as_json(measures: Mapping[str, Measure]) -> dict[str, Any]:
    return {
        name: {"failed": m.failed}
        if m.failed
        else {
            "wall": m.wall,
            "cpu": m.cpu,
            "wall_median": statistics.median(m.wall),
            "cpu_median": statistics.median(m.cpu),
            "peak_bytes": m.peak,
        }
        for name, m in measures.items()
    }


def print_table(measures: Mapping[str, Measure]) -> None:
    bases = [b for b in ("ast.parse", "ruff", "torchfix") if b in measures and measures[b].wall]
    head = "".join(f"  x {base:9}" for base in bases)
    print(f"  {'':22} {'wall s':>8} {'cpu s':>8} {'peak MiB':>9}{head}")
    for name, m in measures.items():
        if m.failed:
            print(f"  {name:22} no time: the run did not do its work, see above")
            continue
        wall, cpu = statistics.median(m.wall), statistics.median(m.cpu)
        peak = f"{m.peak / 2**20:9.0f}" if m.peak else f"{'-':>9}"
        ratios = "".join(f"  {wall / statistics.median(measures[b].wall):11.2f}" for b in bases)
        print(f"  {name:22} {wall:8.2f} {cpu:8.2f} {peak}{ratios}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--cache", type=Path, help="download the packages into this folder")
    where.add_argument("--sources", type=Path, help="folder that holds the packages unpacked")
    parser.add_argument(
        "--package", action="append", choices=list(PACKAGES), help="only this one; repeatable"
    )
    parser.add_argument("--repeat", type=int, default=3, help="timed runs of each tool")
    parser.add_argument(
        "--jobs", type=int, nargs="+", default=[1, 2], help="processes of the audit"
    )
    parser.add_argument("--timeout", type=float, default=900, help="seconds for one run")
    parser.add_argument("--python", default=sys.executable, help="interpreter of audit and parse")
    parser.add_argument(
        "--installed",
        action="store_true",
        help="time the neuronport that is installed for it, compiled or not, not this checkout",
    )
    parser.add_argument(
        "--ruff", default=tool_beside("ruff"), help="the ruff to compare with; empty: leave out"
    )
    parser.add_argument(
        "--torchfix", default=tool_beside("torchfix"), help="likewise; empty: leave out"
    )
    parser.add_argument("--no-memory", dest="memory", action="store_false")
    parser.add_argument("--json", type=Path, help="write everything as JSON into this file")
    args = parser.parse_args()
    if not hasattr(os, "wait4"):
        print("needs os.wait4, which this system lacks", file=sys.stderr)
        return 2
    memory = args.memory and Path("/proc/self/statm").exists()

    names = args.package or list(PACKAGES)
    sources = args.sources or get_sources(args.cache, names)
    missing = [f"{name} {PACKAGES[name]}" for name in names if not has(sources, name)]
    if missing:
        print(f"not in {sources}: {', '.join(missing)}", file=sys.stderr)
        return 2
    for other in ("ruff", "torchfix"):
        path = getattr(args, other)
        if not path:
            print(f"{other} is not installed, left out")
        else:
            version = subprocess.run(
                [path, "--version"], capture_output=True, text=True, check=True
            )
            print(f"{other} {version.stdout.split()[-1]}")
    print(
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}"
    )

    result: dict[str, Any] = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        "packages": {},
    }
    good = True
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        first = start_up(args.python, max(10, args.repeat), scratch, args.installed)
        result["start_up"] = as_json(first)
        print("\nstart-up")
        for name, m in first.items():
            wall = f"{statistics.median(m.wall) * 1e3:.0f} ms" if m.wall else m.failed
            print(f"  {name:22} {wall}")
            good &= not m.failed

        for name in names:
            package = sources / name
            files, lines = size(package)
            tools = [*others(args.python, package, args.ruff, args.torchfix)]
            tools += audits(args.python, package, args.jobs, args.installed)
            # reads every file once, so that the first tool does not pay for the disk; fills caches
            for tool in tools:
                if "warm" in tool.name or tool.name == "ast.parse":
                    try:
                        run(tool, scratch / tool.name, args.timeout, sample=False)
                    except ToolError:
                        break  # the timed runs report it
            measures = measure(tools, args.repeat, args.timeout, memory, scratch)
            same = identical(measures)
            print(f"\n{name} {PACKAGES[name]}: {files} Python files, {lines:,} lines")
            print_table(measures)
            said = {True: "the same, byte for byte", False: "DIFFERENT", None: "not compared"}[same]
            print(f"  outputs of the audit: {said}")
            good &= same is True
            result["packages"][name] = {
                "version": PACKAGES[name],
                "files": files,
                "lines": lines,
                "identical": same,
                "tools": as_json(measures),
            }
            for tool in tools:
                shutil.rmtree(scratch / tool.name, ignore_errors=True)
    if args.json is not None:
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if good else 1


def tool_beside(name: str) -> str | None:
    """A tool of this interpreter's environment, else of the PATH."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)


if __name__ == "__main__":
    sys.exit(main())
