"""How much of what people had to change the audit finds, and how much it reports that nobody needs.

    python benchmarks/accuracy.py [--cases CASES [--trees TREES]] [--audits DIR] [--keep DIR]

Without arguments: the project's own samples, by ``samples/NAME.expected.tsv`` (file, part of a line,
the verdicts that would be right there; ``-`` where a finding may stand and need not).

CASES holds more labelled programs:

* ``bugs/`` and ``rewrites/``: programs and an ``expected.json`` with the lines where a finding
  belongs and the verdicts that would be right there. Every other line deserves no finding above
  confidence ``possible``.
* ``ports/CASE/``: ``truth.tsv``, lines that people changed when they ported a public repository,
  graded ``g1`` (the line names something device-bound), ``g2`` (it needs context), ``g3`` (other
  lines of the statement); ``untouched.tsv``, device words they left alone.

TREES/CASE/before/SEGMENT/ are the repositories before each port. Only the line where a finding
starts counts. ``--audits DIR`` reads ready audits (``DIR/samples/NAME.json``, ``DIR/bugs.json``,
``DIR/rewrites.json``, ``DIR/CASE/SEGMENT.json``) instead of running the audit; ``--keep DIR`` writes them there.

For ports a finding anywhere on a hunk's lines finds the hunk's lines. *Pooled* weighs every line
the same, *macro* every case. People port what they need, so a finding on a line they left is not
wrong: precision over ports is a lower bound, given per rule with what was left apart.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ("native", "xla")
REFERENCES = {"benign", "portable"}
COUNTED = ("g1", "g2")
"""Grades that recall is measured on; g3 lines only keep findings from counting as stray."""


@dataclass(frozen=True, slots=True)
class Found:
    rule: str
    area: str
    path: str
    line: int
    confidence: str
    verdicts: Mapping[str, str]
    """Path (``native``) → verdict, references left out."""


@dataclass(slots=True)
class Share:
    hit: int = 0
    total: int = 0

    def add(self, ok: bool) -> None:
        self.hit += ok
        self.total += 1

    @property
    def value(self) -> float | None:
        return self.hit / self.total if self.total else None

    def __str__(self) -> str:
        value = self.value
        return f"{self.hit}/{self.total}" + ("" if value is None else f" = {value:.3f}")

    def as_json(self) -> dict[str, Any]:
        return {"hit": self.hit, "total": self.total, "share": self.value}


@dataclass(slots=True)
class Tally:
    """Where the findings of one rule or area stand, those of confidence ``possible`` left out."""

    right: int = 0
    """On a line that deserves one, with a right verdict (programs) or that people changed (ports)."""
    other_verdict: int = 0
    """On such a line, with a verdict that is none of the right ones."""
    left: int = 0
    """On a device word that people left alone, or where a finding may stand and need not."""
    stray: int = 0

    @property
    def precision(self) -> float | None:
        judged = self.right + self.other_verdict + self.stray
        return self.right / judged if judged else None

    def as_json(self) -> dict[str, Any]:
        return {
            "right": self.right,
            "other_verdict": self.other_verdict,
            "left": self.left,
            "stray": self.stray,
            "precision": self.precision,
        }


def tallies() -> defaultdict[str, Tally]:
    return defaultdict(Tally)


def shares() -> defaultdict[str, Share]:
    return defaultdict(Share)


@dataclass(slots=True)
class ProgramScore:
    """A sample, ``bugs/`` or ``rewrites/``."""

    recall: Share = field(default_factory=Share)
    sure: Share = field(default_factory=Share)
    """The same without findings of confidence ``possible``, on lines that are not mere information."""
    by_category: defaultdict[str, Share] = field(default_factory=shares)
    by_rule: defaultdict[str, Tally] = field(default_factory=tallies)
    by_area: defaultdict[str, Tally] = field(default_factory=tallies)
    misses: list[dict[str, Any]] = field(default_factory=list)
    false: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class PortScore:
    by_case: dict[str, defaultdict[str, Share]] = field(default_factory=dict)
    group_of: dict[str, str] = field(default_factory=dict)
    by_kind: defaultdict[str, Share] = field(default_factory=shares)
    found_by_area: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Counted lines on whose hunk a finding of the area stands."""
    by_rule: defaultdict[str, Tally] = field(default_factory=tallies)
    by_area: defaultdict[str, Tally] = field(default_factory=tallies)
    misses: list[dict[str, Any]] = field(default_factory=list)
    stray: list[dict[str, Any]] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    """Listed files that the trees lack: their lines count as missed."""

    def pooled(self, grade: str) -> Share:
        counts = [score[grade] for score in self.by_case.values()]
        return Share(sum(s.hit for s in counts), sum(s.total for s in counts))

    def macro(self, grade: str, groups: Iterable[str] | None = None) -> float | None:
        values = [
            score[grade].value
            for case, score in self.by_case.items()
            if groups is None or self.group_of[case] in groups
        ]
        known = [v for v in values if v is not None]
        return sum(known) / len(known) if known else None


class AuditError(Exception):
    """An audit that is missing or did not end well: no score may be given without it."""


def audit(folder: Path) -> dict[str, Any]:
    """The JSON of ``neuronport audit`` on ``folder``, paths relative to it."""
    command = [sys.executable, "-P", "-m", "neuronport", "audit", ".", "--format", "json"]
    # what the tree says to leave out, it is still judged on
    command += ["--no-config", "--include-ignored"]
    for target in TARGETS:
        command += ["--target", target]
    # -P: the audited tree must not be importable, whatever its files are called
    known = os.environ.get("PYTHONPATH")
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{known}" if known else str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise AuditError(
            f"audit of {folder} ended with {done.returncode}: {done.stderr.decode(errors='replace')}"
        )
    try:
        result: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        # a crash ends with 1 too
        said = done.stderr.decode(errors="replace")
        raise AuditError(f"audit of {folder} wrote no JSON: {said}") from error
    return result


def findings(report: Mapping[str, Any]) -> Iterator[Found]:
    for row in report["findings"]:
        verdicts = {
            re.split("[@:]", target)[0]: verdict
            for target, verdict in row["verdict"].items()
            if verdict not in REFERENCES
        }
        if verdicts and row.get("suppressed") is None:
            path = row["path"].removeprefix("./")
            yield Found(row["rule"], row["area"], path, row["line"], row["confidence"], verdicts)


class Audits:
    """Audits by name (``bugs``, ``CASE/SEGMENT``), ready or made now."""

    def __init__(self, ready: Path | None, keep: Path | None) -> None:
        self.ready = ready
        self.keep = keep

    def of(self, name: str, folder: Path) -> list[Found]:
        if self.ready is not None:
            file = self.ready / f"{name}.json"
            if not file.is_file():
                raise AuditError(f"no audit of {name}: {file} is missing")
            return list(findings(json.loads(file.read_text(encoding="utf-8"))))
        print(f"auditing {name}", file=sys.stderr)
        report = audit(folder)
        if self.keep is not None:
            file = self.keep / f"{name}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(report), encoding="utf-8")
        return list(findings(report))


@dataclass(frozen=True, slots=True)
class Wanted:
    """A line where a finding belongs."""

    path: str
    line: int
    category: str
    any_of: frozenset[str]
    """The verdicts that are right there."""
    targets: tuple[str, ...]
    must: bool = True
    """Whether a missing finding is a miss."""
    info: bool = False
    """Whether confidence ``possible`` is all it deserves."""
    says: str = ""

    def met_by(self, finding: Found) -> bool:
        return any(finding.verdicts.get(target) in self.any_of for target in self.targets)


def wanted_in_cases(folder: Path) -> tuple[list[Wanted], set[str]]:
    """What ``expected.json`` says, and the files it speaks of."""
    expected: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    rows = [
        Wanted(
            name,
            row["line"],
            row["category"],
            frozenset(row["any_of"]),
            TARGETS if case["path"] == "both" else (case["path"],),
            info=row["severity"] == "info",
            says=row["verdict"],
        )
        for name, case in sorted(expected.items())
        for row in case["expect"]
    ]
    return rows, set(expected)


def wanted_in_sample(sample: Path) -> tuple[list[Wanted], set[str]]:
    """What ``NAME.expected.tsv`` says of every line that holds a row's text."""
    rows = []
    labels = sample.with_name(f"{sample.name}.expected.tsv")
    for text in labels.read_text(encoding="utf-8").splitlines()[1:]:
        path, part, any_of = text.split("\t")
        must = any_of != "-"
        for number, line in enumerate((sample / path).read_text(encoding="utf-8").splitlines(), 1):
            if part in line:
                right = frozenset(any_of.split()) if must else frozenset()
                rows.append(Wanted(path, number, path, right, TARGETS, must))
    return rows, {row.path for row in rows}


def score_programs(
    folder: Path, wanted: Iterable[Wanted], files: set[str], found: Iterable[Found]
) -> ProgramScore:
    by_place: defaultdict[tuple[str, int], list[Found]] = defaultdict(list)
    for finding in found:
        by_place[finding.path, finding.line].append(finding)

    score = ProgramScore()
    listed = {(row.path, row.line): row for row in wanted if not row.must}
    for row in wanted:
        if not row.must:
            continue
        listed[row.path, row.line] = row
        here = by_place.get((row.path, row.line), [])
        right = [f for f in here if row.met_by(f)]
        score.recall.add(bool(right))
        score.by_category[row.category].add(bool(right))
        if not row.info:
            score.sure.add(any(f.confidence != "possible" for f in right))
        if not right:
            score.misses.append(
                {
                    "path": row.path,
                    "line": row.line,
                    "category": row.category,
                    "any_of": sorted(row.any_of),
                    "wanted": row.says,
                    "saw": sorted({f"{f.rule}: {v}" for f in here for v in f.verdicts.values()}),
                    "text": line_of(folder / row.path, row.line),
                }
            )
    for place, here in sorted(by_place.items()):
        if place[0] not in files:
            continue
        label = listed.get(place)
        for f in sure(here):
            if label is None:
                kind = "stray"
                score.false.append(
                    {
                        "path": f.path,
                        "line": f.line,
                        "rule": f.rule,
                        "confidence": f.confidence,
                        "verdicts": dict(f.verdicts),
                        "text": line_of(folder / f.path, f.line),
                    }
                )
            elif not label.must:
                kind = "left"
            else:
                kind = "right" if label.met_by(f) else "other_verdict"
            for tally in (score.by_rule[f.rule], score.by_area[f.area]):
                setattr(tally, kind, getattr(tally, kind) + 1)
    return score


@dataclass(frozen=True, slots=True)
class Truth:
    path: str
    """SEGMENT/path/in/the/tree"""
    line: int
    kind: str
    grade: str
    rename: bool
    hunk: str


def read_truth(case: Path) -> list[Truth]:
    rows = []
    for text in (case / "truth.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        path, line, kind, note = text.split("\t")
        words = note.split()
        hunk = next(w.removeprefix("hunk=") for w in words if w.startswith("hunk="))
        rows.append(Truth(path, int(line), kind, words[0], "rename" in words, hunk))
    return rows


def read_untouched(case: Path) -> set[tuple[str, int]]:
    rows = (case / "untouched.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return {(path, int(line)) for path, line in (row.split("\t")[:2] for row in rows)}


def score_ports(folder: Path, trees: Path, audits: Audits, only: set[str]) -> PortScore:
    score = PortScore()
    for case in sorted(p.parent for p in folder.glob("*/truth.tsv")):
        before = trees / case.name / "before"
        if only and case.name not in only:
            continue
        if not before.is_dir():
            print(f"{case.name}: no tree in {trees}, left out", file=sys.stderr)
            continue
        meta = json.loads((case / "meta.json").read_text(encoding="utf-8"))
        score.group_of[case.name] = meta["cls"]
        found: defaultdict[tuple[str, int], list[Found]] = defaultdict(list)
        for segment in sorted(p for p in before.iterdir() if p.is_dir()):
            for f in audits.of(f"{case.name}/{segment.name}", segment):
                found[f"{segment.name}/{f.path}", f.line].append(f)
        score_case(score, case, before, found)
    return score


def score_case(
    score: PortScore,
    case: Path,
    before: Path,
    found: Mapping[tuple[str, int], list[Found]],
) -> None:
    truth = read_truth(case)
    listed = {t.path for t in truth}
    score.absent += sorted(f"{case.name}/{p}" for p in listed if not (before / p).is_file())
    # renames are no hints of where a finding belongs: they neither find a hunk nor count in it
    real = [t for t in truth if not t.rename]
    hunks: defaultdict[tuple[str, str], set[tuple[str, int]]] = defaultdict(set)
    for t in real:
        hunks[t.path, t.hunk].add((t.path, t.line))

    grades = score.by_case[case.name] = shares()
    for t in real:
        if t.grade not in COUNTED:
            continue
        here = [f for place in hunks[t.path, t.hunk] for f in found.get(place, ())]
        grades[t.grade].add(bool(here))
        score.by_kind[t.kind].add(bool(here))
        for area in {f.area for f in here}:
            score.found_by_area[area] += 1
        if not here:
            score.misses.append(
                {
                    "case": case.name,
                    "path": t.path,
                    "line": t.line,
                    "kind": t.kind,
                    "grade": t.grade,
                    "hunk": t.hunk,
                    "text": line_of(before / t.path, t.line),
                }
            )

    changed = {(t.path, t.line) for t in truth}
    untouched = read_untouched(case)
    for place, here in sorted(found.items()):
        if place[0] not in listed:
            continue
        for f in sure(here):
            if place in changed:
                kind = "right"
            elif place in untouched:
                kind = "left"
            else:
                kind = "stray"
                score.stray.append(
                    {
                        "case": case.name,
                        "path": place[0],
                        "line": place[1],
                        "rule": f.rule,
                        "confidence": f.confidence,
                        "text": line_of(before / place[0], place[1]),
                    }
                )
            for tally in (score.by_rule[f.rule], score.by_area[f.area]):
                setattr(tally, kind, getattr(tally, kind) + 1)


def sure(found: Iterable[Found]) -> Iterator[Found]:
    """Those that precision is measured on: `possible` says itself that it may be wrong."""
    return (f for f in found if f.confidence != "possible")


def line_of(file: Path, line: int) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()[line - 1].strip()
    except (OSError, IndexError):
        return ""


def as_json(programs: Mapping[str, ProgramScore], ports: PortScore | None) -> dict[str, Any]:
    result: dict[str, Any] = {"targets": list(TARGETS)}
    for name, p in programs.items():
        result[name] = {
            "recall": p.recall.as_json(),
            "recall_above_possible": p.sure.as_json(),
            "by_category": {k: v.as_json() for k, v in sorted(p.by_category.items())},
            "by_rule": {k: v.as_json() for k, v in sorted(p.by_rule.items())},
            "by_area": {k: v.as_json() for k, v in sorted(p.by_area.items())},
            "misses": p.misses,
            "false": p.false,
        }
    if ports is not None:
        result["ports"] = {
            "pooled": {g: ports.pooled(g).as_json() for g in COUNTED},
            "macro": {g: ports.macro(g) for g in COUNTED},
            "macro_neuron_xla_g2": ports.macro("g2", ("neuron", "xla")),
            "by_case": {c: {g: s[g].as_json() for g in COUNTED} for c, s in ports.by_case.items()},
            "by_kind": {k: v.as_json() for k, v in sorted(ports.by_kind.items())},
            "found_by_area": dict(sorted(ports.found_by_area.items())),
            "by_rule": {k: v.as_json() for k, v in sorted(ports.by_rule.items())},
            "by_area": {k: v.as_json() for k, v in sorted(ports.by_area.items())},
            "misses": ports.misses,
            "stray": ports.stray,
            "absent": ports.absent,
        }
    return result


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def print_tallies(title: str, rows: Mapping[str, Tally]) -> None:
    if not rows:
        return
    width = max(len(title), *map(len, rows))
    print(f"  {title:{width}}  right  other  left  stray  precision")
    order = sorted(rows.items(), key=lambda item: (-item[1].stray, -item[1].right, item[0]))
    for name, t in order:
        print(
            f"  {name:{width}}  {t.right:5}  {t.other_verdict:5}  {t.left:4}  {t.stray:5}  "
            f"{number(t.precision):>9}"
        )


def print_some(label: str, rows: list[dict[str, Any]], limit: int, form: str) -> None:
    shown = rows[:limit] if limit else rows
    for row in shown:
        print(f"  {label} " + form.format(**row))
    if len(shown) < len(rows):
        print(f"  … {len(rows) - len(shown)} more {label} (--limit 0 shows all, --json has all)")


def print_programs(name: str, score: ProgramScore, limit: int) -> None:
    print(
        f"{name}: {score.recall} expected lines found; above `possible`, information left out: "
        f"{score.sure}; {len(score.false)} findings nobody expects"
    )
    print_some(
        "miss ", score.misses, limit, "{path}:{line} {category} wants {any_of}, saw {saw}: {text}"
    )
    print_some("false", score.false, limit, "{path}:{line} {rule} ({confidence}): {text}")
    for category, share in sorted(score.by_category.items()):
        print(f"  recall {category}: {share}")
    print_tallies("rule", score.by_rule)
    print_tallies("area", score.by_area)
    print()


def print_ports(score: PortScore, limit: int) -> None:
    width = max(map(len, score.by_case), default=0)
    print(f"ports: {len(score.by_case)} cases, lines found by hunk")
    for case, grades in score.by_case.items():
        print(f"  {case:{width}}  " + "  ".join(f"{g} {grades[g]}" for g in COUNTED))
    for kind, share in sorted(score.by_kind.items(), key=lambda item: (-item[1].total, item[0])):
        print(f"  recall {kind}: {share}")
    for area, lines in sorted(score.found_by_area.items()):
        print(f"  lines found by area {area}: {lines}")
    print("  " + ", ".join(f"pooled {g} {score.pooled(g)}" for g in COUNTED))
    print(
        "  "
        + ", ".join(f"macro {g} {number(score.macro(g))}" for g in COUNTED)
        + f", macro g2 of Neuron and XLA ports {number(score.macro('g2', ('neuron', 'xla')))}"
    )
    print_some("miss ", score.misses, limit, "{case} {path}:{line} {grade} {kind}: {text}")
    print_some("stray", score.stray, limit, "{case} {path}:{line} {rule} ({confidence}): {text}")
    print("  precision on the files people changed (a lower bound: they port what they need)")
    print_tallies("rule", score.by_rule)
    print_tallies("area", score.by_area)
    for path in score.absent:
        print(f"  not in the trees: {path}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=Path, help="folder of more labelled cases")
    parser.add_argument("--trees", type=Path, help="folder of the ports' rebuilt trees")
    parser.add_argument("--audits", type=Path, help="read ready audits from this folder")
    parser.add_argument("--keep", type=Path, help="write the audits made into this folder")
    parser.add_argument("--case", action="append", default=[], help="only this port; repeatable")
    parser.add_argument("--limit", type=int, default=40, help="lines shown per list; 0: all")
    parser.add_argument("--json", type=Path, help="write everything as JSON into this file")
    args = parser.parse_args()

    audits = Audits(args.audits, args.keep)
    programs: dict[str, ProgramScore] = {}
    ports: PortScore | None = None
    try:
        if not args.case and (args.audits is None or (args.audits / "samples").is_dir()):
            for labels in sorted((ROOT / "samples").glob("*.expected.tsv")):
                sample = labels.with_name(labels.name.removesuffix(".expected.tsv"))
                name = f"samples/{sample.name}"
                rows, files = wanted_in_sample(sample)
                programs[name] = score_programs(sample, rows, files, audits.of(name, sample))
        for name in ("bugs", "rewrites"):
            folder = args.cases / name if args.cases else None
            if folder is not None and folder.is_dir() and not args.case:
                rows, files = wanted_in_cases(folder)
                programs[name] = score_programs(folder, rows, files, audits.of(name, folder))
        if args.cases and args.trees and (args.cases / "ports").is_dir():
            ports = score_ports(args.cases / "ports", args.trees, audits, set(args.case))
    except AuditError as error:
        print(error, file=sys.stderr)
        return 2
    if not programs and (ports is None or not ports.by_case):
        print("nothing to score", file=sys.stderr)
        return 2

    for name, score in programs.items():
        print_programs(name, score, args.limit)
    if ports is not None:
        print_ports(ports, args.limit)
    if args.json is not None:
        text = json.dumps(as_json(programs, ports), indent=1, ensure_ascii=False)
        args.json.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
