"""Whether a compiled neuronport finds what one of pure Python finds.

    python benchmarks/compiled_same.py PURE COMPILED [TREE ...] [--jobs N]

PURE and COMPILED are the Python interpreters of two environments, of the same Python version, with
a neuronport of this revision installed: one built as it is, one with ``NEURONPORT_COMPILE=1``. Both
audit every TREE, and the files that the tests keep to break an audit with, for both paths and
without a cache. The exit codes and all of the JSON have to be the same; the exit code is 1 if they
are not, and what differs is named.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_FORMS = ("pure Python", "compiled")
_SHOWN = 10
"""Differences that are named for a tree."""


@dataclass(frozen=True, slots=True)
class Run:
    code: int
    data: Any


def form(python: str) -> str:
    """What ``--version`` says that an interpreter's neuronport is, compiled or not."""
    done = subprocess.run(
        [python, "-m", "neuronport", "--version"],
        capture_output=True, text=True, check=True, cwd="/",
    )  # fmt: skip
    return done.stdout.strip().rpartition("(")[2].rstrip(")")


def audit(python: str, tree: Path, jobs: int) -> Run:
    done = subprocess.run(
        [
            python, "-m", "neuronport", "audit", ".", "--no-cache", "--format", "json",
            "--target", "native", "--target", "xla", "--jobs", str(jobs),
        ],
        capture_output=True, check=False, cwd=tree,
    )  # fmt: skip
    if done.returncode not in (0, 1):
        raise SystemExit(f"{python}: {tree}: {done.stderr.decode(errors='replace')}")
    data = json.loads(done.stdout)
    # A digest of the code, which may be installed with or without its sources.
    del data["tool"]["rules"]
    return Run(done.returncode, data)


def differences(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """The places where two JSON values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(k for k in other if k not in one)]:
            if key in one and key in other:
                yield from differences(one[key], other[key], f"{place}.{key}")
            else:
                yield f"{place}.{key}: only in {'the first' if key in one else 'the second'}"
        if list(one) != list(other) and one.keys() == other.keys():
            yield f"{place}: the same keys in another order"
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(left, right, f"{place}[{i}]")
    elif type(one) is not type(other) or one != other:
        yield f"{place}: {str(one)[:200]} / {str(other)[:200]}"


def write_broken(folder: Path) -> None:
    """Everything the tests try to break an audit with, in one tree."""
    sys.path.insert(0, str(ROOT))
    from tests.audit import broken

    programs: dict[str, bytes] = {
        **{f"not_python/{k}.py": v for k, v in broken.NOT_PYTHON.items()},
        **{f"deep/{k}.py": v for k, v in broken.DEEP.items()},
        **{f"strange/{k}.py": v for k, v in broken.STRANGE.items()},
        **{f"encoding/{k}.py": broken.encoded(k) for k in broken.ENCODINGS},
        **{
            f"circles/{name}/{path}": text.encode()
            for name, files in broken.TREES.items()
            for path, text in files.items()
        },
    }
    for name, data in programs.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def compare(pythons: Sequence[str], name: str, tree: Path, jobs: int) -> bool:
    pure, compiled = (audit(python, tree, jobs) for python in pythons)
    found = list(differences(pure.data, compiled.data))
    if pure.code != compiled.code:
        found.insert(0, f"exit code: {pure.code} / {compiled.code}")
    summary, looked_at = pure.data["summary"], pure.data["tree"]["looked_at"]
    said = f"{len(found)} differences" if found else "the same"
    print(f"{name}: {looked_at} files, {summary['findings']} findings: {said}", flush=True)
    for line in found[:_SHOWN]:
        print(f"  {line}")
    return not found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pure")
    parser.add_argument("compiled")
    parser.add_argument("trees", nargs="*", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(arguments)
    pythons = [options.pure, options.compiled]
    for python, expected in zip(pythons, _FORMS, strict=True):
        if form(python) != expected:
            print(f"{python}: its neuronport is not {expected} but {form(python)}")
            return 2
    same = True
    for tree in options.trees:
        same &= compare(pythons, str(tree), tree.resolve(), options.jobs)
    with tempfile.TemporaryDirectory() as folder:
        write_broken(Path(folder))
        same &= compare(pythons, "what breaks audits", Path(folder), options.jobs)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
