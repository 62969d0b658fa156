"""``--annotate``: a comment in the code for what has to be done by hand."""

from __future__ import annotations

import ast

from neuronport.audit import parse
from neuronport.codemods.engine.imports import sole_on_line
from neuronport.codemods.engine.model import Left, Rewritten
from neuronport.codemods.engine.plan import Plan, comments
from neuronport.codemods.engine.project import Project
from neuronport.workspace import split_lines

MARK = "# TODO(neuronport)"
_BY_HAND = frozenset({"by-hand", "needs-a-person", "unclear"})


def annotate(project: Project, plan: Plan) -> None:
    """Add to the plan a comment above each statement with a finding that is left to people."""
    by_file: dict[str, list[Left]] = {}
    for left in plan.left:
        if left.reason in _BY_HAND:
            by_file.setdefault(left.finding.location.path, []).append(left)
    rewritten = {item.path: item for item in plan.rewritten}
    failed = {f.path for f in plan.failed}
    for path, lefts in sorted(by_file.items()):
        source = project.source(path)
        if source is None or path in failed or not project.rewritable(path):
            continue
        item = rewritten.get(path)
        after = item.after if item else source.text
        lines = split_lines(after)
        old = split_lines(source.text)
        # The line a statement has after the rewrite: statements are neither added nor removed
        # below the imports, so that the distance from the end is the same.
        moved = len(lines) - len(old)
        notes: dict[int, list[str]] = {}
        for left in lefts:
            node = source.first_at_line(left.finding.location.line)
            if node is None or not sole_on_line(source, node):
                continue
            line = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            way = left.ways[0] if left.ways else left.says
            note = " ".join(f"{MARK} {left.finding.rule}: {way}".split())[:200]
            if note not in notes.setdefault(line, []):
                notes[line].append(note)
        for line in sorted(notes, reverse=True):
            at = line - 1 + moved
            if not 0 <= at < len(lines) or lines[at].strip() == "" or old[line - 1] is None:
                continue
            indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
            above = {text.strip() for text in _comments_above(lines, at)}
            new = [f"{indent}{n}{source.newline}" for n in notes[line] if n not in above]
            if at and lines[at - 1].rstrip("\r\n").endswith("\\"):
                continue
            lines[at:at] = new
        text = "".join(lines)
        if text == after or not _same_program(after, text):
            continue
        if item is None:
            plan.rewritten.append(Rewritten(path, source.text, text))
        else:
            item.after = text


def _comments_above(lines: list[str], at: int) -> list[str]:
    found = []
    while at and lines[at - 1].lstrip().startswith("#"):
        at -= 1
        found.append(lines[at])
    return found


def _same_program(before: str, after: str) -> bool:
    """Whether two texts differ in comments only, and none that was there is gone."""
    try:
        if ast.dump(parse(before)) != ast.dump(parse(after)):
            return False
    except (SyntaxError, ValueError, RecursionError):
        return False
    kept = comments(after)
    return all(text in kept for text in comments(before))
