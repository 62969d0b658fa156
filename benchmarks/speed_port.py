"""How long a port takes, and what holds for every file that it rewrites.

    python benchmarks/speed_port.py TREE... [--safe] [--json FILE]

Each TREE is ported into a copy (``neuronport port TREE --review --out COPY``), nothing is written into
it. Given are the seconds by the clock and of the processors, the lines of the files that have a
finding with a fix, and of all Python files. Then the copy is looked at: every rewritten file parses,
no comment is gone or new, no string but those that name devices, backends, precisions and attention,
and a second port of the copy changes nothing. Files that did not parse before are not rewritten and
not counted. The exit code is 1 where one of these does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(Path(__file__).resolve().parent))

from port_projects import compare_texts  # noqa: E402

PROMISES = ("unparsed", "comments", "strings", "second_run", "failed")


def port(tree: Path, out: Path | None, mode: str) -> tuple[dict[str, Any], float, float]:
    """What the command says, its seconds by the clock and of the processors."""
    command = [sys.executable, "-m", "neuronport", "port", str(tree), mode, "--no-config", "-q"]
    command += ["--format", "json"]
    if out is not None:
        command += ["--out", str(out)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    took = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise SystemExit(f"port failed on {tree}: {done.stderr[-2000:]}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout), took, used


def count(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def measure(tree: Path, mode: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="speed-port-") as temporary:
        copy = Path(temporary) / "copy"
        data, seconds, cpu = port(tree, copy, mode)
        fixable = {c["path"] for c in (*data["changes"], *data["held_back"])}
        fixable |= {x["path"] for x in data["left"]}
        found = compare_texts(tree, copy)
        again, _, _ = port(copy, None, mode)
        return {
            "tree": tree.name,
            "seconds": round(seconds, 1),
            "cpu_seconds": round(cpu, 1),
            "lines": sum(count(p) for p in copy.rglob("*.py")),
            "lines_with_findings": sum(count(tree / p) for p in fixable if (tree / p).is_file()),
            "lines_of_rewritten": sum(
                count(tree / f["path"]) for f in data["files"] if not f["new"]
            ),
            "changes": len(data["changes"]),
            **{k: v for k, v in asdict(found).items() if k != "lines"},
            "failed": data["failed"],
            "second_run": [f["path"] for f in again["files"]],
        }


def good(row: Mapping[str, Any]) -> bool:
    return not any(row[key] for key in PROMISES)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--safe", action="store_true", help="only the safe changes")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    rows = []
    print(
        "| tree | lines | in files with findings | rewritten files | changes | s | CPU s | holds |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for tree in options.trees:
        row = measure(tree.resolve(), "--safe" if options.safe else "--review")
        rows.append(row)
        broken = [f"{key}: {row[key][:5]}" for key in PROMISES if row[key]]
        print(
            f"| {row['tree']} | {row['lines']} | {row['lines_with_findings']} | {row['rewritten']} "
            f"| {row['changes']} | {row['seconds']} | {row['cpu_seconds']} "
            f"| {'; '.join(broken) or 'yes'} |",
            flush=True,
        )
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0 if all(good(row) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
