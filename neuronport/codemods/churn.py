"""Churn: what a port changed, counted; between two trees, whoever made the change.

Lines are those of text files. A line is *changed* where removed and added lines face each other in
one hunk of a file's diff, *moved* where a removed line comes back elsewhere in the same file or in
another changed file (blank lines and lines of two characters do not count as moved), else *added*
or *removed*. Findings are those of the audit of both trees: converted are those that are gone from
files that are still there. What is left is told apart as the port tells it: what it would still
write, what it keeps for CUDA, what is done already, and what is left to people; only what asks for
something costs hours. Divergence is the code-base investigation's: the mean Jaccard distance
between the sets of lines that each pair of platforms uses.
"""

from __future__ import annotations

import ast
import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from neuronport.audit import parse
from neuronport.codemods.engine.model import (
    DONE,
    KEPT_FOR_CUDA,
    STANDINGS,
    TO_PEOPLE,
    TO_REVIEW,
    TO_WRITE,
)
from neuronport.findings import Effort, Finding, FixSafety
from neuronport.workspace import (
    Undecodable,
    Workspace,
    WorkspaceError,
    decode_text,
    read_source,
    split_lines,
)

PLATFORMS = ("cuda", "neuron", "cpu")
HOURS: Mapping[Effort, tuple[float, float]] = {
    Effort.MINUTES: (0.05, 0.5),
    Effort.HOURS: (1.0, 8.0),
    Effort.DAYS: (8.0, 40.0),
    Effort.REDESIGN: (40.0, 200.0),
}
"""What each word of effort stands for per cause, in hours of a person: conventions, not measured."""
_RUNS = frozenset({"control", "operators", "shapes", "slowness"})
"""Areas of how a program runs: what is found there names no device."""
_FREE = frozenset({"kept_for_cuda", "done", "not_selected"})
_BY_REASON = {KEPT_FOR_CUDA: "kept_for_cuda", DONE: "done"}


@dataclass(slots=True)
class Lines:
    added: int = 0
    removed: int = 0
    changed: int = 0
    moved: int = 0
    bytes_changed: int = 0

    def add(self, other: Lines) -> None:
        self.added += other.added
        self.removed += other.removed
        self.changed += other.changed
        self.moved += other.moved
        self.bytes_changed += other.bytes_changed

    @property
    def touched(self) -> int:
        return self.added + self.removed + self.changed + self.moved

    def as_json(self) -> dict[str, int]:
        return {
            "added": self.added,
            "removed": self.removed,
            "changed": self.changed,
            "moved": self.moved,
            "bytes_changed": self.bytes_changed,
        }


@dataclass(slots=True)
class FileChurn:
    path: str
    status: str
    """added, removed or changed"""
    lines: Lines
    converted: int = 0
    left: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "status": self.status,
            "lines": self.lines.as_json(),
            "references_converted": self.converted,
            "references_left": self.left,
        }


@dataclass(slots=True)
class Side:
    """One of the two trees: its texts, its findings and what was not looked at."""

    name: str
    texts: Mapping[str, str]
    findings: Sequence[Finding]
    references: Sequence[Finding] = ()
    standings: Mapping[str, str] = field(default_factory=dict)
    """Fingerprint of a finding → how it stands; what is missing is left to people."""

    def standing(self, finding: Finding) -> str:
        return self.standings.get(finding.fingerprint, TO_PEOPLE)

    def safety(self, finding: Finding) -> str:
        """How the port would write it in this tree."""
        known = {TO_WRITE: str(FixSafety.SAFE), TO_REVIEW: str(FixSafety.REVIEW)}
        return known.get(self.standing(finding), str(FixSafety.MANUAL))


@dataclass(slots=True)
class Churn:
    before: str
    after: str
    files: list[FileChurn]
    files_before: int
    lines_before: int
    lines_after: int
    bytes_before: int
    total: Lines = field(default_factory=Lines)
    by_rule: dict[str, dict[str, int]] = field(default_factory=dict)
    by_area: dict[str, dict[str, int]] = field(default_factory=dict)
    by_safety: dict[str, dict[str, int]] = field(default_factory=dict)
    new_findings: int = 0
    left_as: dict[str, int] = field(default_factory=dict)
    """How what is left or new stands; the numbers add up to both."""
    remaining_hours: tuple[float, float] = (0.0, 0.0)
    device_lines: dict[str, dict[str, int]] = field(default_factory=dict)
    divergence: dict[str, float] = field(default_factory=dict)

    @property
    def converted(self) -> int:
        return sum(row["converted"] for row in self.by_area.values())

    @property
    def left(self) -> int:
        return sum(row["left"] for row in self.by_area.values())

    def as_json(self) -> dict[str, Any]:
        references = self.converted + self.left
        return {
            "schema": "neuronport/churn/1",
            "before": self.before,
            "after": self.after,
            "files": [f.as_json() for f in self.files],
            "code_base": {
                "files": self.files_before,
                "files_touched": len(self.files),
                "lines_before": self.lines_before,
                "lines_after": self.lines_after,
                "bytes_before": self.bytes_before,
                "share_of_lines": _share(self.total.touched, self.lines_before),
                "share_of_bytes": _share(self.total.bytes_changed, self.bytes_before),
            },
            "lines": self.total.as_json(),
            "references": {
                "converted": self.converted,
                "left": self.left,
                "new": self.new_findings,
                "left_as": self.left_as,
                "share_converted": _share(self.converted, references),
                "by_rule": self.by_rule,
                "by_area": self.by_area,
                "by_safety": self.by_safety,
            },
            "remaining_hours": {
                "low": round(self.remaining_hours[0], 2),
                "high": round(self.remaining_hours[1], 2),
                "basis": "what is not kept for CUDA, done or not selected: one cause per rule and file, by "
                "the rule's word of effort; conventions, not measured",
            },
            "device_lines": self.device_lines,
            "divergence": self.divergence,
        }


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def texts_of(workspace: Workspace) -> dict[str, str]:
    """The texts of a tree; what is no text is left out."""
    found: dict[str, str] = {}
    for file in workspace.files:
        try:
            found[file.path] = decode_text(read_source(file)).text
        except (WorkspaceError, Undecodable):
            continue
    return found


def of_plan(project: Any, plan: Any) -> Churn:
    """The churn of a port that the tool makes, before it is written."""
    before = texts_of(project.workspace)
    after = dict(before)
    for item in plan.rewritten:
        after[item.path] = item.after
    done = {f.fingerprint for f in plan.converted}
    findings = project.part.findings
    left = [f for f in findings if f.fingerprint not in done]
    references = project.part.references
    standings = standings_of(plan, findings)
    return churn(
        Side("before", before, findings, references, standings),
        Side("after", after, left, references, standings),
    )


def standings_of(plan: Any, findings: Iterable[Finding]) -> dict[str, str]:
    """How each finding stands by a plan of the port."""
    found = {f.fingerprint: "not_selected" for f in findings}
    found |= {f.fingerprint: TO_WRITE for f in plan.converted}
    for change in (*plan.held_back, *plan.changes):
        safe = change.safety is FixSafety.SAFE
        found[change.finding.fingerprint] = TO_WRITE if safe else TO_REVIEW
    for rest in plan.left:
        found[rest.finding.fingerprint] = _BY_REASON.get(rest.reason, TO_PEOPLE)
    return found


# ---- lines ----------------------------------------------------------------------------------------


def compare(before: Mapping[str, str], after: Mapping[str, str]) -> list[FileChurn]:
    """The churn of each file that differs."""
    files: list[FileChurn] = []
    removed: dict[str, list[str]] = {}
    added: dict[str, list[str]] = {}
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        a, b = split_lines(old or ""), split_lines(new or "")
        lines = Lines()
        gone: list[str] = []
        come: list[str] = []
        for tag, i, j, k, m in difflib.SequenceMatcher(None, a, b, False).get_opcodes():
            if tag == "equal":
                continue
            pairs = min(j - i, m - k)
            lines.changed += pairs
            lines.bytes_changed += sum(
                _bytes_changed(x, y) for x, y in zip(a[i:j], b[k:m], strict=False)
            )
            gone += a[i + pairs : j]
            come += b[k + pairs : m]
        lines.removed, lines.added = len(gone), len(come)
        lines.bytes_changed += sum(len(x.encode("utf-8", "replace")) for x in (*gone, *come))
        removed[path], added[path] = gone, come
        status = "added" if old is None else "removed" if new is None else "changed"
        files.append(FileChurn(path, status, lines))
    _find_moved(files, removed, added)
    return files


def _bytes_changed(old: str, new: str) -> int:
    matcher = difflib.SequenceMatcher(None, old, new, False)
    return sum(max(j - i, m - k) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal")


def _find_moved(
    files: Sequence[FileChurn],
    removed: Mapping[str, Sequence[str]],
    added: Mapping[str, Sequence[str]],
) -> None:
    """Lines that went in one place and came in another are moved: counted once, where they came."""
    pool: Counter[str] = Counter()
    homes: dict[str, list[FileChurn]] = {}
    for file in files:
        for line in removed[file.path]:
            if len(line.strip()) > 2:
                pool[line.strip()] += 1
                homes.setdefault(line.strip(), []).append(file)
    for file in files:
        for line in added[file.path]:
            key = line.strip()
            if pool[key] > 0:
                pool[key] -= 1
                file.lines.added -= 1
                file.lines.moved += 1
                homes[key].pop(0).lines.removed -= 1


# ---- references -----------------------------------------------------------------------------------


def churn(before: Side, after: Side) -> Churn:
    """What changed between two trees, and what it means for the port."""
    files = compare(before.texts, after.texts)
    result = Churn(
        before.name,
        after.name,
        files,
        len(before.texts),
        sum(len(split_lines(t)) for t in before.texts.values()),
        sum(len(split_lines(t)) for t in after.texts.values()),
        sum(len(t.encode("utf-8", "replace")) for t in before.texts.values()),
    )
    for file in files:
        result.total.add(file.lines)
    old, new = _by_key(before.findings), _by_key(after.findings)
    by_path = {f.path: f for f in files}
    standing = Counter(after.standing(f) for f in after.findings)
    result.left_as = {name: standing[name] for name in STANDINGS}
    for key in sorted({*old, *new}):
        was, now = old.get(key, []), new.get(key, [])
        if not was:
            result.new_findings += len(now)
            continue
        left = min(len(was), len(now))
        result.new_findings += len(now) - left
        if key[0] not in after.texts:
            # The file is gone: its references were removed, not converted.
            continue
        stays = {f.fingerprint for f in now}
        # What is known again is left; of what is not, first what the port would not write.
        was.sort(key=lambda f: (f.fingerprint not in stays, before.safety(f) != "manual"))
        for number, finding in enumerate(was):
            word = "left" if number < left else "converted"
            for table, name in (
                (result.by_rule, finding.rule),
                (result.by_area, finding.area),
                (result.by_safety, before.safety(finding)),
            ):
                table.setdefault(name, {"converted": 0, "left": 0})[word] += 1
        if key[0] in by_path:
            by_path[key[0]].converted += len(was) - left
            by_path[key[0]].left += left
    result.remaining_hours = remaining(f for f in after.findings if after.standing(f) not in _FREE)
    for name, side in (("before", before), ("after", after)):
        platforms = platform_lines(side)
        cuda, neuron = platforms["cuda"], platforms["neuron"]
        result.device_lines[name] = {
            "cuda_only": len(cuda - neuron),
            "neuron_only": len(neuron - cuda),
            "naming_a_device": len(
                {
                    (f.location.path, f.location.line)
                    for f in (*side.findings, *side.references)
                    if f.area not in _RUNS
                }
            ),
        }
        result.divergence[name] = round(divergence(platforms.values()), 4)
    return result


def _by_key(findings: Iterable[Finding]) -> dict[tuple[str, str], list[Finding]]:
    found: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        found.setdefault((finding.location.path, finding.rule), []).append(finding)
    return found


def remaining(findings: Iterable[Finding]) -> tuple[float, float]:
    """What is left, in hours of a person: one cause per rule and file, as a range."""
    low = high = 0.0
    causes = {(f.location.path, f.group or f.rule): f.effort for f in findings}
    for effort in causes.values():
        low += HOURS[effort][0]
        high += HOURS[effort][1]
    return low, high


# ---- platforms ------------------------------------------------------------------------------------


def platform_lines(side: Side) -> dict[str, set[tuple[str, int]]]:
    """The code lines of Python files that each platform can reach: all but those behind a
    condition that names another platform."""
    used: dict[str, set[tuple[str, int]]] = {p: set() for p in PLATFORMS}
    for path, text in side.texts.items():
        if not path.endswith(".py"):
            continue
        try:
            tree = parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        _reach(tree.body, path, frozenset(PLATFORMS), used)
    return used


def _reach(
    body: Sequence[ast.stmt],
    path: str,
    platforms: frozenset[str],
    used: Mapping[str, set[tuple[str, int]]],
) -> None:
    for stmt in body:
        inner = [
            (name, value)
            for name, value in ast.iter_fields(stmt)
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt)
        ]
        end = min((v[0].lineno for _, v in inner), default=(stmt.end_lineno or stmt.lineno) + 1)
        for line in range(stmt.lineno, max(end, stmt.lineno + 1)):
            for platform in platforms:
                used[platform].add((path, line))
        only = _named(stmt.test) if isinstance(stmt, ast.If) else None
        for name, value in inner:
            allowed = platforms
            if only is not None:
                allowed = platforms & only if name == "body" else platforms - only
            _reach(value, path, allowed or platforms, used)
        for handler in getattr(stmt, "handlers", ()):
            _reach(handler.body, path, platforms, used)
        for case in getattr(stmt, "cases", ()):
            _reach(case.body, path, platforms, used)


def _named(test: ast.expr) -> frozenset[str] | None:
    """The platforms for which a condition holds; None: it is not about platforms."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _named(test.operand)
        return None if inner is None else frozenset(PLATFORMS) - inner
    if isinstance(test, ast.BoolOp):
        parts = [_named(v) for v in test.values]
        known = [p for p in parts if p is not None]
        if not known:
            return None
        if isinstance(test.op, ast.And):
            return frozenset.intersection(*known)
        return frozenset.union(*known) if len(known) == len(parts) else None
    if isinstance(test, ast.Call):
        name = ast.unparse(test.func)
        if name.endswith("cuda.is_available"):
            return frozenset({"cuda"})
        if name.endswith(("neuron.is_available", "is_neuron_available")):
            return frozenset({"neuron"})
        if name.endswith(("is_accelerated", "accelerator.is_available")):
            return frozenset({"cuda", "neuron"})
        if name == "hasattr" and ast.unparse(test).endswith(("'neuron')", '"neuron")')):
            return frozenset({"neuron"})
        if name.endswith(".startswith") and test.args:
            return _words(test.args[0])
        return None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        found = _words(test.comparators[0])
        if isinstance(test.ops[0], ast.In) and found is None:
            found = _words(test.left)
        if found is None:
            return None
        if isinstance(test.ops[0], ast.Eq | ast.In):
            return found
        if isinstance(test.ops[0], ast.NotEq | ast.NotIn):
            return frozenset(PLATFORMS) - found
    return None


def _words(node: ast.expr) -> frozenset[str] | None:
    """The platforms that a text, or a list of texts, names."""
    items = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    names = [i.value for i in items if isinstance(i, ast.Constant) and isinstance(i.value, str)]
    if len(names) < len(items):
        return None
    found = frozenset(n for n in names if n in PLATFORMS)
    return found or None


def divergence(platforms: Iterable[set[tuple[str, int]]]) -> float:
    """Code divergence: the mean over pairs of platforms of ``1 - |A ∩ B| / |A ∪ B|``."""
    sets = list(platforms)
    distances = []
    for i, a in enumerate(sets):
        for b in sets[i + 1 :]:
            union = a | b
            distances.append(1 - len(a & b) / len(union) if union else 0.0)
    return sum(distances) / len(distances) if distances else 0.0


# ---- for people -----------------------------------------------------------------------------------


def as_text(result: Churn) -> str:
    """The churn in a few lines."""
    data = result.as_json()
    base, lines, references = data["code_base"], data["lines"], data["references"]
    out = [
        f"churn {result.before} → {result.after}",
        f"files       {base['files_touched']} touched of {base['files']}",
        f"lines       {lines['added']} added, {lines['removed']} removed, {lines['changed']} changed, "
        f"{lines['moved']} moved; {base['share_of_lines']:.1%} of {base['lines_before']}",
        f"bytes       {lines['bytes_changed']}; {base['share_of_bytes']:.1%} of {base['bytes_before']}",
        f"references  {references['converted']} converted, {references['left']} left "
        f"({references['share_converted']:.1%}), {references['new']} new",
        "of those    " + standings_text(references["left_as"]),
        f"left to do  {data['remaining_hours']['low']:g} to {data['remaining_hours']['high']:g} hours "
        f"({data['remaining_hours']['basis']})",
        "divergence  "
        + ", ".join(f"{value:.3f} {name}" for name, value in data["divergence"].items()),
    ]
    for name, row in data["device_lines"].items():
        out.append(
            f"lines {name}: {row['cuda_only']} for CUDA only, {row['neuron_only']} for Neuron only, "
            f"{row['naming_a_device']} naming a device"
        )
    for title, table in (
        ("by area", result.by_area),
        ("by safety, as the port would have written it before", result.by_safety),
        ("by rule", result.by_rule),
    ):
        out.append(f"{title}:")
        for key, row in sorted(table.items(), key=lambda r: (-r[1]["converted"], r[0])):
            out.append(f"  {row['converted']:5d} converted {row['left']:5d} left  {key}")
    out.append("files:")
    for file in result.files:
        out.append(
            f"  {file.path}: {file.status}, +{file.lines.added} -{file.lines.removed} "
            f"~{file.lines.changed} moved {file.lines.moved}; "
            f"{file.converted} converted, {file.left} left"
        )
    return "\n".join(out) + "\n"


def standings_text(left_as: Mapping[str, int]) -> str:
    """How what is left or new stands, in words."""
    said = [f"{n} {STANDINGS[name]}" for name, n in left_as.items() if n]
    return ", ".join(said) or "nothing is left"
