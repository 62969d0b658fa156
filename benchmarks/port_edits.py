"""How many of the lines that people changed when they ported get a written edit, and which edits.

    python benchmarks/port_edits.py --cases CASES --trees TREES [--keep FILE] [--json FILE]
    python benchmarks/port_edits.py --read FILE --show 100 [--seed N] [--after TREES]

CASES/ports/CASE/truth.tsv names the lines that people changed (see ``accuracy.py``), and
TREES/CASE/before/SEGMENT/ holds the repositories before each port. Each is ported whole, as
``neuronport port --review`` would, and nothing is written. A line *gets a written edit* when the
text of that line is not what it was; places that are left to people do not count. A line is *dealt
with* also when what answers it is written beside it: a branch for Neuron after the one for CUDA. Lines
graded ``g1`` name something device-bound themselves; ``rename`` lines are names and texts and not
counted.

``--show`` prints a random choice of the written edits (drawn with ``--seed`` from all of them, one per
place, files that people changed only), each with what stands around it, what the tool wrote, and what
people wrote there (TREES/CASE/after/SEGMENT/), to be judged by eye. With ``--distinct`` edits that
make the same of the same lines count once.
"""

from __future__ import annotations

import argparse
import difflib
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))


@dataclass(frozen=True, slots=True)
class Line:
    """A line that people changed."""

    case: str
    path: str
    """Below the segments of a case: ``SEGMENT/…``."""
    line: int
    kind: str
    grade: str
    hunk: str


def truth(cases: Path) -> Iterator[Line]:
    for file in sorted(cases.glob("ports/*/truth.tsv")):
        for row in file.read_text(encoding="utf-8").splitlines()[1:]:
            path, line, kind, note = row.split("\t")
            match = re.search(r"hunk=(\d+)", note)
            if " rename" in note or match is None:
                continue
            yield Line(file.parent.name, path, int(line), kind, note.split()[0], match[1])


def port(folder: Path) -> dict[str, Any]:
    """What the port of a tree would write."""
    from neuronport.codemods.engine.plan import Options, make_plan
    from neuronport.codemods.engine.project import Project
    from neuronport.findings import FixSafety
    from neuronport.targets import default_target
    from neuronport.workspace import open_workspace

    project = Project(open_workspace([str(folder)]), [default_target()], lambda _: None)
    both = frozenset({FixSafety.SAFE, FixSafety.REVIEW})
    plan = make_plan(project, Options(safeties=both))
    files = {}
    for item in plan.rewritten:
        if item.before is None:
            continue
        source = project.source(item.path)
        changes = []
        for change in item.changes:
            assert source is not None
            spans = [(source.line_of(e.start), source.line_of(e.end)) for e in change.edits]
            changes.append(
                {
                    "line": change.finding.location.line,
                    "rule": change.finding.rule,
                    "codemod": change.codemod,
                    "safety": str(change.safety),
                    "lines": sorted({n for a, b in spans for n in range(a, b + 1)}),
                    "covers": sorted({source.line_of(a) for a, _ in change.covers}),
                }
            )
        files[item.path] = {"before": item.before, "after": item.after, "changes": changes}
    left = defaultdict(list)
    for rest in plan.left:
        place = rest.finding.location
        left[place.path].append([place.line, rest.finding.rule, rest.reason, rest.says])
    return {"files": files, "left": left, "failed": [f.as_json() for f in plan.failed]}


def touched(before: str, after: str) -> set[int]:
    """The lines of the old text that the new one has otherwise."""
    a, b = before.splitlines(), after.splitlines()
    found: set[int] = set()
    for tag, i, j, _, _ in difflib.SequenceMatcher(None, a, b, False).get_opcodes():
        if tag in ("replace", "delete"):
            found.update(range(i + 1, j + 1))
    return found


def score(lines: Sequence[Line], ports: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Per case, kind and codemod."""
    by_hunk: dict[tuple[str, str, str], bool] = defaultdict(bool)
    edited: dict[Line, str] = {}
    dealt: set[Line] = set()
    cache: dict[tuple[str, str], tuple[set[int], Mapping[int, str], set[int]]] = {}
    for line in lines:
        segment, _, path = line.path.partition("/")
        key = (line.case, line.path)
        if key not in cache:
            item = ports.get(f"{line.case}/{segment}", {"files": {}})["files"].get(path)
            codemods: dict[int, str] = {}
            if item is not None:
                for change in item["changes"]:
                    for number in change["lines"]:
                        codemods.setdefault(number, change["codemod"])
            covered = (
                {n for c in item["changes"] for n in (c["line"], *c["covers"])} if item else set()
            )
            cache[key] = (
                touched(item["before"], item["after"]) if item is not None else set(),
                codemods,
                covered,
            )
        found, names, covered = cache[key]
        if line.line in covered | found:
            dealt.add(line)
        if line.line in found:
            edited[line] = names.get(line.line, "imports")
            by_hunk[line.case, line.path, line.hunk] = True
    table: dict[str, dict[str, list[int]]] = {
        "case": defaultdict(lambda: [0, 0, 0, 0]),
        "kind": defaultdict(lambda: [0, 0, 0, 0]),
    }
    total = [0, 0, 0, 0]
    for line in lines:
        if line.grade != "g1":
            continue
        hit = line in edited
        hunk = by_hunk[line.case, line.path, line.hunk]
        for row in (total, table["case"][line.case], table["kind"][line.kind]):
            row[0] += hit
            row[1] += line in dealt
            row[2] += hunk
            row[3] += 1
    by_codemod = Counter(edited[x] for x in lines if x.grade == "g1" and x in edited)
    return {
        "g1": total,
        **{k: dict(v) for k, v in table.items()},
        "codemod": dict(by_codemod),
        "missed": [
            [x.case, x.path, x.line, x.kind] for x in lines if x.grade == "g1" and x not in edited
        ],
    }


def show(
    ports: Mapping[str, Mapping[str, Any]],
    lines: Sequence[Line],
    trees: Path,
    count: int,
    seed: int,
    distinct: bool,
) -> None:
    """A random choice of written edits, each beside what people wrote."""
    ported = {(x.case, x.path) for x in lines}
    pool = []
    seen: set[tuple[str, ...]] = set()
    for name in sorted(ports):
        case, _, segment = name.partition("/")
        for path, item in sorted(ports[name]["files"].items()):
            if (case, f"{segment}/{path}") not in ported:
                continue
            old = item["before"].splitlines()
            for change in item["changes"]:
                place = (
                    change["codemod"],
                    *(old[n - 1].strip() for n in change["lines"] if n <= len(old)),
                )
                if distinct and place in seen:
                    continue
                seen.add(place)
                pool.append((case, segment, path, change))
    chosen = random.Random(seed).sample(range(len(pool)), min(count, len(pool)))
    print(f"{len(chosen)} of {len(pool)} edits in files that people ported, seed {seed}")
    for number, index in enumerate(chosen, 1):
        case, segment, path, change = pool[index]
        item = ports[f"{case}/{segment}"]["files"][path]
        people = trees / case / "after" / segment / path
        text = people.read_text(encoding="utf-8", errors="replace") if people.is_file() else ""
        print(f"\n#{number} {case} {segment}/{path}:{change['line']}")
        print(f"   {change['rule']} by {change['codemod']} [{change['safety']}]")
        wanted = set(change["lines"])
        print(_hunks("  was |", "tool |", item["before"], item["after"], wanted))
        print(_hunks("", "they |", item["before"], text, wanted))


def _hunks(old: str, new: str, before: str, after: str, wanted: set[int]) -> str:
    """The hunks between two texts that touch some lines of the first."""
    a, b = before.splitlines(), after.splitlines()
    out = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, a, b, False).get_opcodes():
        if tag == "equal" or not wanted & set(range(i + 1, max(j, i + 1) + 1)):
            continue
        if old:
            out += [f"{old} {x}" for x in (*a[max(0, i - 2) : j], *a[j : j + 1])]
        out += [f"{new} {x}" for x in b[k : min(m, k + 12)]] or [f"{new} (gone)"]
    return "\n".join(out) or f"{new} (as it was)"


def _share(hit: int, total: int) -> str:
    return f"{hit}/{total} = {hit / total:.1%}" if total else "0/0"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--case", action="append", help="only these cases")
    parser.add_argument("--keep", type=Path, help="write what would be written into this file")
    parser.add_argument("--read", type=Path, help="take what would be written from this file")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--missed", action="store_true", help="list the lines without an edit")
    parser.add_argument("--show", type=int, metavar="N", help="print N edits to be judged")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--distinct", action="store_true")
    options = parser.parse_args(arguments)
    lines = [x for x in truth(options.cases) if not options.case or x.case in options.case]
    if options.read:
        ports = json.loads(options.read.read_text(encoding="utf-8"))
    else:
        ports = {}
        for name in sorted({f"{x.case}/before/{x.path.partition('/')[0]}" for x in lines}):
            folder = options.trees / name
            if not folder.is_dir():
                raise SystemExit(f"{folder} is missing")
            print(f"porting {name}", file=sys.stderr)
            ports[name.replace("/before/", "/")] = port(folder)
    if options.keep:
        options.keep.write_text(json.dumps(ports), encoding="utf-8")
    if options.show:
        show(ports, lines, options.trees, options.show, options.seed, options.distinct)
        return 0
    result = score(lines, ports)
    hit, dealt, hunk, total = result["g1"]
    print(
        f"g1 lines with a written edit: {_share(hit, total)}; dealt with: {_share(dealt, total)}; "
        f"with an edit in their hunk: {_share(hunk, total)}"
    )
    for name in ("case", "kind"):
        print(f"by {name}:")
        for key, (a, b, c, d) in sorted(result[name].items()):
            print(
                f"  {key:24s} {_share(a, d):18s} dealt with {_share(b, d):18s} hunk {_share(c, d)}"
            )
    print("by codemod: " + ", ".join(f"{k} {v}" for k, v in sorted(result["codemod"].items())))
    if options.missed:
        for case, path, line, kind in result["missed"]:
            segment, _, below = path.partition("/")
            item = ports[f"{case}/{segment}"]
            text = (options.trees / case / "before" / path).read_text(errors="replace")
            why = [x[1:] for x in item["left"].get(below, []) if x[0] == line]
            print(f"- {case} {path}:{line} [{kind}] {text.splitlines()[line - 1].strip()}")
            for reason in why:
                print(f"      {reason}")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
