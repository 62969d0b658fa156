"""``if torch.cuda.is_available():`` becomes ``if is_accelerated():`` where all it guards is ported.

The guard and what it guards are one rewrite: if one finding in the guarded code cannot be written,
the guard stays and CUDA keeps its branch. With CUDA and on the CPU the condition is what it was.
A switch (``use_cuda = torch.cuda.is_available()``) is under review: what else reads it is not
judged. ``x.is_cuda`` and ``device.type == "cuda"`` ask for CUDA or Neuron where the same holds. A
project that asks several vendors one after the other gets a branch for Neuron in its own
pattern.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from neuronport.codemods import codemods, device_seam
from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import DONE, MOVES, Change, Edit, Left, seam
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Confidence, Finding, FixSafety

TITLE = "Ask for a device instead of CUDA"
late = True
_QUIET = frozenset(["cuda-availability-gate", "accelerator-branch", "cuda-flag"])
"""Rules that speak of the guard, not of what it guards."""

_GUARDED_DEVICE = "hardcoded-cuda-device"
"""``possible`` under a guard, because the guard is what is wrong; rewritten with it all the same."""

_HARMLESS = ("api/env:", "api/torch.backends.", "pinned-memory")
"""Settings for CUDA that say nothing elsewhere: memory that is asked to be pinned does no harm."""


def fix(finding: Finding, source: Source, project: Project, state: Any) -> Any:
    if finding.rule == "cuda-device-gate":
        return _gate(finding, source, project, state)
    if finding.rule == "api/torch.Tensor.is_cuda":
        return _lies_on_cuda(finding, source, project, state)
    if finding.rule == "cuda-required":
        return _required(finding, source)
    if finding.rule != "api/torch.cuda.is_available":
        return None
    call = source.at(finding, ast.Call)
    if call is None or not patterns.is_available(source, call):
        return Left(finding, "unclear", "the function is handed on, not called", _WAYS)
    top: ast.AST = call
    positive = True
    if _only_raises(source, call):
        asked = next(n for n in source.above(call) if not isinstance(n, ast.UnaryOp))
        if isinstance(asked, ast.BoolOp) and patterns.mentions_request(asked.values):
            return Left(finding, DONE, "CUDA by name needs CUDA, on every host", ())
        edit = patterns.replace(source, call, f"{seam('is_accelerated')}()")
        return Change(finding, "cuda-guard", FixSafety.REVIEW, TITLE, (edit,))
    parent = source.parent(top)
    beside: list[ast.expr] = []
    while isinstance(parent, ast.UnaryOp | ast.BoolOp):
        if isinstance(parent, ast.BoolOp):
            # What stands behind it in the condition is guarded too.
            beside += parent.values[parent.values.index(top) + 1 :]  # type: ignore[arg-type]
        if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.Or) is positive:
            return Left(finding, "unclear", "the condition has alternatives", _WAYS)
        if isinstance(parent, ast.UnaryOp):
            if not isinstance(parent.op, ast.Not):
                return Left(finding, "unclear", "", _WAYS)
            positive = not positive
        if isinstance(parent, ast.BoolOp) and patterns.mentions_request(parent.values):
            return Left(
                finding,
                "needs-a-person",
                "a device that was asked for is looked at too",
                (patterns.ASKED_FIRST,),
            )
        top, parent = parent, source.parent(parent)
    if isinstance(parent, ast.If) and parent.test is top:
        return _if(finding, source, project, state, call, parent, positive, beside)
    if isinstance(parent, ast.IfExp) and parent.test is top:
        guarded = [parent.body if positive else parent.orelse, *beside]
        return _guard(finding, source, project, state, _asks(source, call), guarded)
    if isinstance(parent, ast.keyword) and parent.arg == "pin_memory":
        return Left(finding, "cuda-only", "memory is pinned for CUDA; Neuron does without", _WAYS)
    if positive and isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        return _switch(finding, source, project, state, call, parent.targets[0])
    return Left(finding, "needs-a-person", "what depends on the answer is not followed", _WAYS)


_WAYS = (
    "is_accelerated() of the project's seam, where what depends on it runs on Neuron too",
    "leave it, where it guards what only CUDA has",
)


_GATE_WAYS = (
    'device.type != "cpu", or a test for the ability that is meant',
    "torch.device(name).type: no list of names, no cutting of the text",
)


def _if(
    finding: Finding,
    source: Source,
    project: Project,
    state: Any,
    call: ast.Call,
    node: ast.If,
    positive: bool,
    beside: list[ast.expr],
) -> Any:
    if _asks_others(source, node):
        return _branch(finding, source, node, call)
    guarded = [*(node.body if positive else node.orelse), *beside]
    return _guard(finding, source, project, state, _asks(source, call), guarded)


def _asks(source: Source, call: ast.Call) -> tuple[Edit, ...]:
    return (patterns.replace(source, call, f"{seam('is_accelerated')}()"),)


def _only_raises(source: Source, call: ast.Call) -> bool:
    """``if args.cuda and not torch.cuda.is_available(): raise …``."""
    asked = source.parent(call)
    if not isinstance(asked, ast.UnaryOp) or not isinstance(asked.op, ast.Not):
        return False
    top: ast.AST = asked
    parent = source.parent(top)
    if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And):
        top, parent = parent, source.parent(parent)
    return (
        isinstance(parent, ast.If)
        and parent.test is top
        and not parent.orelse
        and all(isinstance(s, ast.Raise) for s in parent.body)
    )


def _required(finding: Finding, source: Source) -> Any:
    """``if not torch.cuda.is_available(): raise …``: any device will do, once the rest is ported."""
    start, end = source.place(finding.location)
    asked = [
        node
        for node in source.nodes
        if isinstance(node, ast.Call)
        and start <= source.span(node)[0]
        and source.span(node)[1] <= end
        and patterns.is_available(source, node)
    ]
    if len(asked) != 1:
        return Left(finding, "needs-a-person", "where CUDA is asked for is not clear", _WAYS)
    note = "what comes after it runs on Neuron too, now: look whether it can"
    edits = _asks(source, asked[0])
    return Change(finding, "cuda-guard", FixSafety.REVIEW, TITLE, edits, note=note)


# ---- gates ----------------------------------------------------------------------------------------


def _gate(finding: Finding, source: Source, project: Project, state: Any) -> Any:
    """``if device.type == "cuda":`` lets Neuron in, where all that it guards is ported.

    CUDA's answer and that of every other device stay what they were.
    """
    ways = _GATE_WAYS
    node = source.at(finding, ast.Constant)
    if node is None or node.value != "cuda":
        return Left(finding, "by-hand", "what the branch is for is not known", ways)
    asked = source.parent(node)
    if isinstance(asked, ast.Compare) and patterns.is_seam(source, asked.left):
        return Left(finding, "done", "the seam is asked: somebody has decided", ())
    quoted = source.text_of(node)
    both = f"({quoted}, {quoted.replace('cuda', 'neuron')})"
    edits: tuple[Edit, ...]
    if isinstance(asked, ast.Compare) and len(asked.ops) == 1 and asked.comparators[0] is node:
        if not isinstance(asked.ops[0], ast.Eq):
            return Left(finding, "by-hand", "the branch is for what is not CUDA", ways)
        _, left = source.span(asked.left)
        _, end = source.span(node)
        if ")" in source.text[left : source.span(node)[0]]:
            return Left(finding, "by-hand", "", ways)
        edits = (Edit(left, end, f" in {both}"),)
    elif (
        isinstance(asked, ast.Call)
        and isinstance(asked.func, ast.Attribute)
        and asked.func.attr == "startswith"
        and asked.args == [node]
    ):
        edits = (patterns.replace(source, node, both),)
    else:
        return Left(finding, "by-hand", "what the branch is for is not known", ways)
    top: ast.AST = asked
    parent = source.parent(top)
    while isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And):
        top, parent = parent, source.parent(parent)
    if isinstance(parent, ast.IfExp) and parent.test is top:
        inside = _inside(source, project, [parent.body])
        if {f.rule for f in inside} - MOVES:
            return _together(finding, source, project, state, edits, inside, FixSafety.SAFE)
        if _is_move(parent.orelse):
            return Left(finding, DONE, "the other branch moves it to any other device", ())
        return Left(finding, "by-hand", "the other branch is for every other device", ways)
    if not isinstance(parent, ast.If) or parent.test is not top:
        return Left(finding, "by-hand", "what depends on the answer is not followed", ways)
    return _guard(finding, source, project, state, edits, parent.body)


def _lies_on_cuda(finding: Finding, source: Source, project: Project, state: Any) -> Any:
    """``if x.is_cuda and not y.is_cuda:`` lets Neuron in, where all that it guards is ported."""
    ways = _GATE_WAYS
    node = source.at(finding, ast.Attribute)
    top: ast.AST | None = node
    parent = source.parent(node) if node is not None else None
    while isinstance(parent, ast.UnaryOp | ast.BoolOp):
        if isinstance(parent, ast.UnaryOp) and not isinstance(parent.op, ast.Not):
            break
        top, parent = parent, source.parent(parent)
    if node is None or not isinstance(parent, ast.If) or parent.test is not top:
        return Left(finding, "by-hand", "what depends on the answer is not followed", ways)
    asked = _all_asked(parent.test)
    if asked is None:
        return Left(finding, "by-hand", "the condition has alternatives", ways)
    if all(negated for _, negated in asked):
        return Left(finding, "by-hand", "the branch is for what is not on CUDA", ways)
    edits: list[Edit] = []
    for other, negated in asked:
        first, last = patterns.attribute_name(source, other)
        told = "not in" if negated else "in"
        edits.append(Edit(first, last, f'device.type {told} ("cuda", "neuron")'))
        if negated:
            above = source.parent(other)
            assert above is not None
            start, _ = source.span(above)
            if source.text[start : source.span(other)[0]].strip() != "not":
                return Left(finding, "unclear", "parentheses in the condition", ways)
            edits.append(Edit(start, source.span(other)[0], ""))
    answer = _guard(finding, source, project, state, tuple(edits), parent.body)
    if isinstance(answer, list):
        answer[0] = replace(answer[0], covers=tuple(source.span(o) for o, _ in asked))
    return answer


def _all_asked(test: ast.expr) -> list[tuple[ast.Attribute, bool]] | None:
    """Each ``x.is_cuda`` of a condition and whether it is denied; None: one is part of more."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    found: list[tuple[ast.Attribute, bool]] = []
    for part in parts:
        inner = part.operand if isinstance(part, ast.UnaryOp) else part
        if isinstance(inner, ast.Attribute) and inner.attr == "is_cuda":
            found.append((inner, inner is not part))
        elif any(isinstance(n, ast.Attribute) and n.attr == "is_cuda" for n in ast.walk(part)):
            return None
    return found


def _is_move(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "to"
    )


def _guard(
    finding: Finding,
    source: Source,
    project: Project,
    state: Any,
    edits: tuple[Edit, ...],
    guarded: Any,
) -> Any:
    inside = _inside(source, project, guarded)
    return _together(finding, source, project, state, edits, inside, FixSafety.SAFE)


def _inside(source: Source, project: Project, nodes: Any) -> list[Finding]:
    """The findings in some nodes."""
    spans = [source.span(node) for node in nodes]
    found = []
    for finding in project.findings.get(source.path, ()):
        start, end = source.place(finding.location)
        if any(a <= start and end <= b for a, b in spans):
            found.append(finding)
    return found


def _together(
    finding: Finding,
    source: Source,
    project: Project,
    state: Any,
    edits: tuple[Edit, ...],
    inside: list[Finding],
    safety: FixSafety,
) -> Any:
    ways = _GATE_WAYS if finding.rule in ("cuda-device-gate", "api/torch.Tensor.is_cuda") else _WAYS
    group = f"{finding.rule}:{finding.fingerprint}"
    changes: list[Change] = []
    dealt: set[str] = set()
    for other in inside:
        if other.rule in _QUIET or other.rule == finding.rule:
            continue
        if state.is_converted(other):
            dealt.add(other.fingerprint)
            continue
        if other.rule.startswith(_HARMLESS):
            continue
        change = _unguarded(other, project) or _by_switch(other, project)
        if not isinstance(change, Change):
            covered = any(_covers(c, other, project) for c in changes)
            unsure = other.confidence is Confidence.POSSIBLE
            if covered or (unsure and other.rule != _GUARDED_DEVICE):
                continue
            place = other.location
            return Left(
                finding,
                "guards-cuda-code",
                f"guards {other.rule} ({place.path}:{place.line}), which is not rewritten",
                ways,
            )
        changes.append(change)
    if not changes and not dealt:
        return Left(finding, "needs-a-person", "nothing it guards is known to need a device", ways)
    if any(c.safety is not FixSafety.SAFE for c in changes):
        safety = FixSafety.REVIEW
    rests_on = frozenset(dealt)
    own = Change(finding, "cuda-guard", safety, TITLE, edits, group, rests_on=rests_on)
    return [own, *(replace(c, group=group, safety=safety) for c in changes)]


def _covers(change: Change, other: Finding, project: Project) -> bool:
    source = project.source(change.file)
    if source is None or change.file != other.location.path:
        return False
    start, end = source.place(other.location)
    return any(e.start <= start and end <= e.end for e in change.edits if e.end > e.start)


def _unguarded(finding: Finding, project: Project) -> Any:
    """What the codemod of a guarded finding would write if there were no guard."""
    codemod = codemods().get(finding.fix.codemod) if finding.fix else None
    if codemod is None or getattr(codemod, "late", False):
        return None
    source = project.source(finding.location.path)
    if source is None or not project.rewritable(finding.location.path):
        return None
    bare = replace(finding, context=replace(finding.context, guarded_by=""))
    change = codemod.fix(bare, source, project)
    return replace(change, finding=finding) if isinstance(change, Change) else None


def _by_switch(finding: Finding, project: Project) -> Change | None:
    """``"cuda" if use_cuda else "cpu"``, where the switch is rewritten with it."""
    source = project.source(finding.location.path)
    if finding.rule != "cuda-or-cpu-choice" or source is None:
        return None
    return device_seam.by_switch(finding, source)


# ---- switches -------------------------------------------------------------------------------------


def _switch(
    finding: Finding,
    source: Source,
    project: Project,
    state: Any,
    call: ast.Call,
    target: ast.expr,
) -> Any:
    """``use_cuda = torch.cuda.is_available()``: everything that it guards, and the choices by it."""
    if isinstance(target, ast.Name):
        name, paths = target.id, [source.path]
    elif isinstance(target, ast.Attribute):
        name, paths = target.attr, project.python
    else:
        return Left(finding, "needs-a-person", "", _WAYS)
    words = name
    folder = source.path.rpartition("/")[0]
    paths = [p for p in paths if p == source.path or not folder or p.startswith(f"{folder}/")]
    inside = [
        f
        for path in paths
        for f in project.findings.get(path, ())
        if f.context.guarded_by and words in _words(f.context.guarded_by)
    ]
    inside += _choices_by(name, paths, project)
    inside += _devices_by(name, paths, project)
    inside = list({f.fingerprint: f for f in inside}.values())
    return _together(finding, source, project, state, _asks(source, call), inside, FixSafety.REVIEW)


def _words(text: str) -> set[str]:
    cleaned = "".join(c if c.isalnum() or c == "_" else " " for c in text)
    return set(cleaned.split())


def _choices_by(name: str, paths: Any, project: Project) -> list[Finding]:
    """``"cuda" if use_cuda else "cpu"``."""
    found = []
    for path in paths:
        for finding in project.findings.get(path, ()):
            if finding.rule != "cuda-or-cpu-choice":
                continue
            source = project.source(path)
            node = source.at(finding, ast.IfExp) if source is not None else None
            if node is None:
                continue
            names = {n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)} | {
                n.attr for n in ast.walk(node.test) if isinstance(n, ast.Attribute)
            }
            if name in names:
                found.append(finding)
    return found


def _devices_by(name: str, paths: Any, project: Project) -> list[Finding]:
    """``if use_cuda: device = torch.device("cuda")``, where what ``use_cuda`` is was not known."""
    found: list[Finding] = []
    for path in paths:
        if path not in project.findings:
            continue
        source = project.source(path)
        if source is None or name not in source.text:
            continue
        bodies = [
            stmt
            for node in source.each(ast.If)
            if _last_name(node.test) == name
            for stmt in node.body
        ]
        if bodies:
            found += [
                f for f in _inside(source, project, bodies) if f.rule == "hardcoded-cuda-device"
            ]
    return found


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


# ---- several vendors ------------------------------------------------------------------------------


def _asks_others(source: Source, node: ast.If) -> bool:
    """Whether a chain of conditions asks for other accelerators too."""
    current: ast.AST | None = node
    while isinstance(current, ast.If):
        text = source.text_of(current.test)
        if any(
            f".{v}." in f".{text}." for v in ("mps", "xpu", "npu", "hpu", "mlu", "musa", "neuron")
        ):
            return True
        current = current.orelse[0] if len(current.orelse) == 1 else None
    return False


def _branch(finding: Finding, source: Source, node: ast.If, call: ast.Call) -> Any:
    """A branch for Neuron after CUDA's, written like CUDA's."""
    if "neuron" in source.text_of(node):
        return Left(finding, "done", "Neuron has its branch", ())
    ways = ('elif hasattr(torch, "neuron") and torch.neuron.is_available(): …',)
    if node.test is not call:
        return Left(finding, "needs-a-person", "the branch has further conditions", ways)
    func = call.func
    if not (isinstance(func, ast.Attribute) and isinstance(func.value, ast.Attribute)):
        return Left(finding, "needs-a-person", "", ways)
    torch = source.text_of(func.value.value)
    spots = _chosen(source, node.body, node.lineno)
    if not spots:
        return Left(finding, "needs-a-person", "the branch does more than choose", ways)
    first = node.body[0]
    indent = source.text[source.line_start(node.lineno) : source.span(node)[0]]
    deep = source.text[source.line_start(first.lineno) : source.span(first)[0]]
    if indent.strip() or deep.strip():
        return Left(finding, "needs-a-person", "", ways)
    newline = source.newline
    at = source.line_start((node.body[-1].end_lineno or 0) + 1)
    head = "" if source.text[at - 1 : at] in ("\n", "\r") else newline
    text_ = (
        f'{head}{indent}elif hasattr({torch}, "neuron") and {torch}.neuron.is_available():{newline}'
    )
    start = source.line_start(first.lineno)
    block = source.text[start:at]
    if source.has_comment(start, at):
        return Left(finding, "comment-inside", "the branch is explained by comments", ways)
    for a, b, new in sorted(spots, reverse=True):
        block = block[: a - start] + new + block[b - start :]
    text_ += block if block.endswith(("\n", "\r")) else block + newline
    spans = tuple(source.span(n) for n in (*node.body, call))
    others: list[ast.AST] = []
    current: ast.AST | None = node.orelse[0] if len(node.orelse) == 1 else None
    while isinstance(current, ast.If):
        others.append(current.test)
        current = current.orelse[0] if len(current.orelse) == 1 else None
    return Change(
        finding,
        "cuda-guard",
        FixSafety.SAFE,
        "a branch for Neuron in the project's own pattern",
        (Edit(at, at, text_),),
        covers=(*spans, *(source.span(o) for o in others)),
        chooses=True,
    )


def _chosen(source: Source, body: list[ast.stmt], line: int) -> list[tuple[int, int, str]] | None:
    """What to write for Neuron in a copy of a branch that only chooses; None: it does more."""
    spots: list[tuple[int, int, str]] = []
    for stmt in body:
        if isinstance(stmt, ast.If) and not patterns.mentions_request([stmt.test]):
            for part in (stmt.body, stmt.orelse):
                inner = _chosen(source, part, stmt.lineno)
                if inner is None:
                    return None
                spots += inner
            continue
        value = getattr(stmt, "value", None)
        if not isinstance(stmt, ast.Assign | ast.AnnAssign | ast.Return) or value is None:
            return None
        inner_value = value.args[0] if patterns.is_device_call(source, value) else value
        text = patterns.cuda_text(source, inner_value)
        if text is None or stmt.lineno == line:
            return None
        quote = "'" if "'" in source.text_of(inner_value)[:2] else '"'
        spots.append((*source.span(inner_value), f"{quote}neuron{quote}"))
    return spots
