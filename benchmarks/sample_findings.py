"""Draw findings at random, with their source, to be read one by one.

    python -m neuronport audit REPOSITORY --target native --target xla --format json > REPOSITORY.json
    python benchmarks/sample_findings.py --seed 1 --size 200 --size control,shapes,slowness=50 \
        REPOSITORY.json ...

Precision is what a person says after reading findings in their context; this only chooses them so
that nobody can choose. Each repository is drawn from alike (a large one would otherwise fill the
sample), as far as it has findings; what is missing is drawn from all that is left. The same files,
seed and sizes give the same sample. ``--size AREAS=N`` draws from those areas alone, ``--size
RULE_OR_GLOB=N`` from those rules. Findings of confidence ``possible`` are left out unless asked for.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Finding = dict[str, Any]


def load(path: Path, possible: bool) -> list[Finding]:
    """The findings of one audit, each with the name and the root of its tree."""
    report = json.loads(path.read_text("utf-8"))
    root = report["tree"]["root"]
    return [
        f | {"tree": path.stem, "root": root}
        for f in report["findings"]
        if possible or f["confidence"] != "possible"
    ]


def wanted(finding: Finding, patterns: Sequence[str]) -> bool:
    return any(finding["area"] == p or fnmatch.fnmatch(finding["rule"], p) for p in patterns)


def draw(trees: Sequence[Sequence[Finding]], size: int, seed: int) -> list[Finding]:
    """``size`` findings, as evenly over the trees as they have them."""
    chance = random.Random(seed)
    shuffled = [chance.sample(list(tree), len(tree)) for tree in trees]
    share = size // max(1, sum(1 for tree in trees if tree))
    chosen = [finding for tree in shuffled for finding in tree[:share]]
    rest = [finding for tree in shuffled for finding in tree[share:]]
    return (chosen + chance.sample(rest, min(len(rest), max(0, size - len(chosen)))))[:size]


def show(number: int, finding: Finding, context: int) -> str:
    head = (
        f"#{number} {finding['tree']}/{finding['path']}:{finding['line']}:{finding['column']}"
        f"  {finding['rule']}  [{finding['area']}]"
    )
    where = finding["context"]
    facts = [where["role"], where["scope"]] + (["hot"] if where["hot"] else [])
    if where["guarded_by"]:
        facts.append(f"guarded by {where['guarded_by']}")
    lines = [head, "  " + " | ".join(filter(None, facts)), "  says: " + finding["message"]]
    for target, judged in finding["by_target"].items():
        evidence = judged["evidence"][0]
        lines.append(
            f"  {target}: {judged['verdict']} ({judged['confidence']}), {evidence['kind']}:"
            f" {evidence['says']}"
        )
        if judged.get("replacement"):
            lines.append(f"      instead: {judged['replacement']}")
    lines += [f"  came by {r['path']}:{r['line']}: {r['says']}" for r in finding["related"]]
    text = (Path(finding["root"]) / finding["path"]).read_text("utf-8", "replace").splitlines()
    at = finding["line"] - 1
    for number_, line in enumerate(text):
        if at - context <= number_ <= at + context:
            lines.append(f"  {'>' if number_ == at else ' '}{number_ + 1:5} {line[:160]}")
    return "\n".join(lines)


def size(text: str) -> tuple[tuple[str, ...], int]:
    patterns, _, count = text.rpartition("=")
    return tuple(p for p in patterns.split(",") if p), int(count)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("audits", nargs="+", type=Path, help="JSON reports of the audit")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--size", action="append", type=size, required=True)
    parser.add_argument("--context", type=int, default=6, help="lines shown around each place")
    parser.add_argument("--possible", action="store_true", help="draw from the unsure ones too")
    options = parser.parse_args()
    trees = [load(path, options.possible) for path in sorted(options.audits)]
    for patterns, count in options.size:
        kept = [[f for f in tree if not patterns or wanted(f, patterns)] for tree in trees]
        sample = draw(kept, count, options.seed)
        of = sum(len(tree) for tree in kept)
        print(f"==== {len(sample)} of {of}: {', '.join(patterns) or 'every area'}\n")
        for number, finding in enumerate(sample, 1):
            print(show(number, finding, options.context), end="\n\n")


if __name__ == "__main__":
    main()
