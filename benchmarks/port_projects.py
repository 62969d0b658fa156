"""Whether public projects do on the CPU after a port what they did before.

    python benchmarks/port_projects.py --projects DIR [--python PROJECT_PYTHON] [--only NAME]
        [--json FILE] [--patience FACTOR]

``port_projects.toml`` names the projects, their revisions and what of each runs on a CPU in a minute;
DIR/NAME holds a checkout of each. Nothing is fetched and the checkouts are not touched: each is
copied, what it needs is made (small data, tiny configurations), and every run is done three times: as
it was, after ``neuronport port --write``, and after ``neuronport port --write --review``.

Compared are

* **tests**: every test that passed before passes after;
* **losses**: the value on which each ``backward()`` of a training run was called, all its bits (the
  run is seeded, has one thread and one process); after the changes under review within
  ``TOLERANCE``;
* **texts**: every file parses, no comment is gone or new, no string but those that name devices,
  backends, precisions, attention and padding, and a second port changes nothing.

A test or a run that fails before the port, or whose losses are not finite there, proves nothing and is
counted as such. PROJECT_PYTHON is
the interpreter that has what the projects import; the default is this one.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import io
import json
import math
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tokenize
import tomllib
import warnings
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(__file__).with_suffix(".toml")
TOLERANCE = 1e-6
"""Relative, on each loss, after the changes under review."""

DRIVER = '''\
"""Run a program with seeds, and write down what each backward() starts from."""
import os, random, runpy, sys

import torch

torch.manual_seed(0)
random.seed(0)
try:
    import numpy
except ImportError:
    pass
else:
    numpy.random.seed(0)
torch.set_num_threads(1)
backward = torch.Tensor.backward
out = open(os.environ["PORT_PROJECTS_LOSSES"], "a", encoding="utf-8")


def recorded(self, *args, **kwargs):
    value = self.detach().double().mean().item()
    out.write(value.hex() + "\\n")
    out.flush()
    return backward(self, *args, **kwargs)


torch.Tensor.backward = recorded
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
runpy.run_path(sys.argv[0], run_name="__main__")
'''

STRINGS = re.compile(
    r"(?:cuda|neuron|cpu|gpu|mps|xpu|hpu|npu|xla)(?::(?:\d+|%[dsi]|\{\w*\})?)?"
    r"|nccl|gloo|inductor|float16|bfloat16|float32|fp16|bf16|fp32|no|half"
    r"|none|tanh|eager|sdpa|flash_attention_[23]|flash_attn|max_length"
)
"""Devices, backends, precisions, attention, forms of GELU, how far is padded: the strings that a port may touch."""


@dataclass(slots=True)
class Outcome:
    """What one run did."""

    ok: bool
    passed: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    losses: Sequence[float] = ()
    seconds: float = 0.0
    tail: str = ""


@dataclass(slots=True)
class Texts:
    """What a port did to the text of a tree."""

    rewritten: int = 0
    new: int = 0
    lines: int = 0
    unparsed: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)


# ---- the texts ------------------------------------------------------------------------------------


def tokens(text: str, kinds: frozenset[int]) -> list[str]:
    return [
        t.string
        for t in tokenize.generate_tokens(io.StringIO(text, newline="").readline)
        if t.type in kinds
    ]


def strings(text: str) -> Counter[str]:
    """The texts that a program writes down, the fixed parts of f-strings among them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    return Counter(
        n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    )


def odd_strings(before: str, after: str) -> list[str]:
    """Strings that are gone or new and do not name what a port is about."""
    old, new = strings(before), strings(after)
    changed = (old - new) + (new - old)
    return sorted(x for x in changed if STRINGS.fullmatch(x) is None)


def parse(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError):
            return False
    return True


def read(path: Path) -> str | None:
    try:
        with tokenize.open(path) as file:
            return file.read()
    except (SyntaxError, UnicodeDecodeError, OSError):
        return None


def compare_texts(before: Path, after: Path) -> Texts:
    """What differs between the Python files of two trees."""
    result = Texts()
    for path in sorted(after.rglob("*.py")):
        name = path.relative_to(after).as_posix()
        old_path = before / name
        if old_path.is_file() and old_path.read_bytes() == path.read_bytes():
            continue
        new = read(path)
        if new is None or not parse(new):
            result.unparsed.append(name)
            continue
        if not old_path.is_file():
            result.new += 1
            continue
        result.rewritten += 1
        old = read(old_path)
        assert old is not None
        matcher = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), False)
        result.lines += sum(
            max(j - i, m - k) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal"
        )
        kinds = frozenset({tokenize.COMMENT})
        if tokens(old, kinds) != tokens(new, kinds):
            result.comments.append(name)
        result.strings += [f"{name}: {x}" for x in odd_strings(old, new)]
    return result


# ---- running --------------------------------------------------------------------------------------


def environment(folder: Path, python_path: Sequence[str], losses: Path) -> dict[str, str]:
    return {
        **{k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "CUDA"))},
        "PYTHONPATH": os.pathsep.join(str(folder / p) for p in python_path),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "HF_HOME": str(folder / ".hf"),
        "WANDB_MODE": "disabled",
        "YOLO_CONFIG_DIR": str(folder / ".yolo"),
        "MPLBACKEND": "Agg",
        "TOKENIZERS_PARALLELISM": "false",
        "PORT_PROJECTS_LOSSES": str(losses),
    }


def prepare(folder: Path, project: Mapping[str, Any], python: str) -> None:
    """Make what the runs of a project need besides the project."""
    for name, text in project.get("files", {}).items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    if "prepare" in project:
        env = environment(folder, [], folder / "unused")
        subprocess.run(
            [python, "-c", project["prepare"]], cwd=folder, env=env, check=True, timeout=300
        )


def run(
    folder: Path, step: Mapping[str, Any], python: str, scratch: Path, patience: float = 1.0
) -> Outcome:
    losses = scratch / "losses"
    losses.unlink(missing_ok=True)
    report = scratch / "report.xml"
    report.unlink(missing_ok=True)
    where = folder / step.get("folder", "")
    env = environment(folder, step.get("path", [""]), losses) | step.get("env", {})
    if "tests" in step:
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
        command += step["tests"]
    else:
        driver = scratch / "driver.py"
        driver.write_text(DRIVER, encoding="utf-8")
        command = [python, str(driver), *step["program"]]
    began = time.monotonic()
    try:
        done = subprocess.run(
            command,
            cwd=where,
            env=env,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=step.get("timeout", 300) * patience,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome(False, tail="timed out")
    took = time.monotonic() - began
    tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
    if "tests" in step:
        passed, failed = results(report)
        return Outcome(bool(passed), passed, failed, seconds=took, tail=tail)
    words = losses.read_text(encoding="utf-8").split() if losses.is_file() else []
    values = [float.fromhex(w) for w in words]
    return Outcome(
        done.returncode == 0 and bool(values) and all(map(math.isfinite, values)),
        losses=values,
        seconds=took,
        tail=tail,
    )


def results(report: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The tests that passed, and those that did not, of a report in JUnit's format."""
    passed, failed = set(), set()
    if report.is_file():
        for case in ET.parse(report).getroot().iter("testcase"):
            name = f"{case.get('classname')}::{case.get('name')}"
            kinds = {child.tag for child in case}
            if kinds & {"failure", "error"}:
                failed.add(name)
            elif "skipped" not in kinds:
                passed.add(name)
    return frozenset(passed - failed), frozenset(failed)


def port(folder: Path, review: bool) -> tuple[dict[str, Any], float]:
    """Port a tree in place, as a user would; what the command says."""
    began = time.monotonic()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "neuronport", "port", str(folder), "--write", "--allow-dirty"),
            *("--no-config", "--format", "json", "-q", "--review" if review else "--safe"),
        ],
        cwd=folder.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"port failed on {folder}: {done.stderr[-2000:]}")
    return json.loads(done.stdout), time.monotonic() - began


def close(before: Outcome, after: Outcome, exact: bool) -> float | None:
    """The largest relative difference of two loss curves; None: not the same number of steps."""
    if len(before.losses) != len(after.losses):
        return None
    if exact and list(before.losses) == list(after.losses):
        return 0.0
    return max(
        (
            0.0 if a == b else abs(a - b) / max(abs(a), abs(b))
            for a, b in zip(before.losses, after.losses, strict=True)
        ),
        default=0.0,
    )


def judge(before: Outcome, after: Outcome, step: Mapping[str, Any], review: bool) -> dict[str, Any]:
    """One run before and after."""
    if "tests" in step:
        lost = sorted(before.passed - after.passed)
        return {"passed": len(before.passed), "lost": lost, "ok": not lost}
    difference = close(before, after, not review)
    limit = TOLERANCE if review else 0.0
    ok = after.ok and difference is not None and difference <= limit
    return {"steps": len(before.losses), "difference": difference, "ok": ok}


def copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(".git"))


def measure(
    project: Mapping[str, Any], checkouts: Path, python: str, patience: float = 1.0
) -> dict[str, Any]:
    name = project["name"]
    result: dict[str, Any] = {
        "name": name,
        "repository": project["repository"],
        "revision": project["revision"],
        "runs": [],
    }
    with tempfile.TemporaryDirectory(prefix="port-projects-") as temporary:
        scratch = Path(temporary)
        trees = {"before": scratch / "before" / name}
        copy(checkouts / name, trees["before"])
        texts: dict[str, Texts] = {}
        for mode in ("safe", "review"):
            trees[mode] = scratch / mode / name
            copy(trees["before"], trees[mode])
            data, seconds = port(trees[mode], mode == "review")
            found = compare_texts(trees["before"], trees[mode])
            texts[mode] = found
            again, _ = port(trees[mode], mode == "review")
            result[mode] = {
                "seconds": round(seconds, 1),
                "files": found.rewritten,
                "new_files": found.new,
                "lines": found.lines,
                "changes": len(data["changes"]),
                "converted": data["churn"]["references"]["converted"],
                "left": data["churn"]["references"]["left"],
                "failed": data["failed"],
                "unparsed": found.unparsed,
                "comments": found.comments,
                "strings": found.strings,
                "second_run": [f["path"] for f in again["files"]],
            }
        for tree in trees.values():
            prepare(tree, project, python)
        for step in project.get("run", []):
            outcomes = {}
            for key, tree in trees.items():
                print(f"  {step['name']}: {key}", file=sys.stderr, flush=True)
                outcomes[key] = run(tree, step, python, scratch, patience)
                if key == "before" and not outcomes[key].ok:
                    break
            before = outcomes["before"]
            row: dict[str, Any] = {
                "name": step["name"],
                "kind": "tests" if "tests" in step else "losses",
                "seconds": round(before.seconds, 1),
                "ran": before.ok,
                "failing_before": len(before.failed),
            }
            if before.ok:
                for mode in ("safe", "review"):
                    row[mode] = judge(before, outcomes[mode], step, mode == "review")
                    if not row[mode]["ok"]:
                        row[mode]["tail"] = outcomes[mode].tail
            else:
                row["tail"] = before.tail
            result["runs"].append(row)
    return result


def good(result: Mapping[str, Any]) -> bool:
    """Whether a project holds all that is promised."""
    texts = all(
        not result[mode][key]
        for mode in ("safe", "review")
        for key in ("failed", "unparsed", "comments", "strings", "second_run")
    )
    runs = [r for r in result["runs"] if r["ran"]]
    return texts and bool(runs) and all(r[m]["ok"] for r in runs for m in ("safe", "review"))


def table(results: Sequence[Mapping[str, Any]]) -> str:
    out = [
        "| project | files, lines changed (safe) | (review) | run on the CPU | safe | review |",
        "|---|---|---|---|---|---|",
    ]
    for result in results:
        first = [
            f"[{result['name']}](https://github.com/{result['repository']}) "
            f"`{result['revision'][:7]}`",
            f"{result['safe']['files']}, {result['safe']['lines']}",
            f"{result['review']['files']}, {result['review']['lines']}",
        ]
        for row in result["runs"]:
            if not row["ran"]:
                cells = [row["name"], "does not run before", ""]
            elif row["kind"] == "tests":
                cells = [
                    f"{row['name']}: {row['safe']['passed']} tests pass",
                    *(_tests(row[m]) for m in ("safe", "review")),
                ]
            else:
                cells = [
                    f"{row['name']}: {row['safe']['steps']} losses",
                    *(_losses(row[m]) for m in ("safe", "review")),
                ]
            out.append("| " + " | ".join([*first, *cells]) + " |")
            first = ["", "", ""]
    return "\n".join(out)


def _tests(row: Mapping[str, Any]) -> str:
    return "all pass" if row["ok"] else f"{len(row['lost'])} lost"


def _losses(row: Mapping[str, Any]) -> str:
    if row["difference"] is None:
        return "other number of steps"
    return "equal" if not row["difference"] else f"{row['difference']:.1e} apart"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--projects", type=Path, required=True, metavar="DIR")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--json", type=Path)
    parser.add_argument(
        "--patience", type=float, default=1.0, help="times the seconds a run may take"
    )
    options = parser.parse_args(arguments)
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    wanted = [p for p in data["project"] if not options.only or p["name"] in options.only]
    missing = [p for p in wanted if not (options.projects / p["name"]).is_dir()]
    for project in missing:
        print(
            f"{project['name']}: no checkout of {project['repository']} at "
            f"{project['revision']} in {options.projects}",
            file=sys.stderr,
        )
    collected = []
    for project in wanted:
        if project in missing:
            continue
        print(project["name"], file=sys.stderr, flush=True)
        collected.append(
            measure(project, options.projects.resolve(), options.python, options.patience)
        )
        if options.json:
            options.json.write_text(json.dumps(collected, indent=1), encoding="utf-8")
    print(table(collected))
    torch = subprocess.run(
        [options.python, "-c", "import torch; print(torch.__version__)"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    print(f"\nPyTorch {torch}, Python {platform.python_version()}, tolerance {TOLERANCE:g}")
    bad = [r["name"] for r in collected if not good(r)]
    if bad:
        print(f"not as promised: {', '.join(bad)}")
    return 1 if bad or not collected else 0


if __name__ == "__main__":
    sys.exit(main())
