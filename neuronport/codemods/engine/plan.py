"""From findings to rewritten texts: ask the codemods, settle conflicts, add what is needed.

Nothing is written here. Order and outcome do not depend on anything but the tree and the options.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from neuronport.audit import parse
from neuronport.codemods import codemods_for
from neuronport.codemods.engine import imports, patterns
from neuronport.codemods.engine.comments import comments as comments_of
from neuronport.codemods.engine.helper import by_helpers
from neuronport.codemods.engine.model import (
    MOVES,
    QUESTIONS,
    Change,
    Edit,
    Failed,
    Left,
    Rewritten,
    apply,
    overlaps,
    resolve,
)
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.seam import Seam, Seams, extended, new_module
from neuronport.codemods.engine.source import Source
from neuronport.codemods.engine.ways import with_ways
from neuronport.findings import Finding, FixSafety, Verdict
from neuronport.workspace import Undecodable, WorkspaceError, decode_python, encode, read_source


@dataclass(slots=True)
class Options:
    wants: Callable[[Finding], bool] = lambda finding: True
    safeties: frozenset[FixSafety] = frozenset({FixSafety.SAFE})
    accept: Callable[[Change], bool] = lambda change: True
    """Asked for each change in the end: ``--interactive``."""
    annotate: bool = False
    progress: Callable[[str], None] = lambda phase: None
    """Told of each file that is ``plan``ned, and of each that is ``rewrite``-n."""


@dataclass(slots=True)
class Plan:
    rewritten: list[Rewritten] = field(default_factory=list)
    """Seams first, so that what needs them never comes before them."""
    changes: list[Change] = field(default_factory=list)
    converted: list[Finding] = field(default_factory=list)
    held_back: list[Change] = field(default_factory=list)
    """What could be written but was not asked for."""
    left: list[Left] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)

    def sort(self) -> None:
        self.changes.sort(key=_order)
        self.held_back.sort(key=_order)
        self.converted.sort(key=lambda f: (f.location, f.rule))
        self.left.sort(key=lambda x: (x.finding.location, x.finding.rule))
        self.failed.sort(key=lambda f: f.path)


class State:
    """What is settled so far; codemods that come late (``late = True``) may look at it."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.accepted: dict[str, list[Change]] = {}
        self.refused: set[str] = set()
        """Groups of which a member did not fit."""
        self.converted: set[str] = set()
        """Fingerprints of findings that are dealt with."""
        self.dropped: dict[str, list[tuple[int, int]]] = {}
        """For each file, where imported names stood that nothing needs any more."""

    def is_converted(self, finding: Finding) -> bool:
        return finding.fingerprint in self.converted


def make_plan(project: Project, options: Options) -> Plan:
    """What is to be rewritten in a project, and what is left."""
    plan = Plan()
    state = State(project)
    left: dict[str, Left] = {}
    held: dict[str, Change] = {}
    broken: dict[str, str] = {}
    findings = [f for f in project.part.findings if options.wants(f)]
    begun: set[str] = set()
    for late in (False, True):
        proposals: list[Change] = []
        for finding in findings:
            if finding.fix and finding.location.path not in begun:
                begun.add(finding.location.path)
                options.progress("plan")
            if state.is_converted(finding) or finding.location.path in broken:
                continue
            asked = codemods_for(finding.rule, finding.fix.codemod) if finding.fix else ()
            answer: Any = None
            for codemod in asked:
                if bool(getattr(codemod, "late", False)) is not late:
                    continue
                found = _ask(codemod, finding, project, state, broken)
                if answer is None or isinstance(found, Change | list):
                    answer = found
                if isinstance(found, Change | list):
                    break
            for change in answer if isinstance(answer, list) else [answer]:
                if isinstance(change, Left):
                    left[finding.fingerprint] = change
                elif isinstance(change, Change):
                    if change.safety not in options.safeties:
                        held[change.finding.fingerprint] = change
                    else:
                        proposals.append(change)
        _settle(proposals, state, left, findings)
    _drop_half_moves(state, left)
    _drop_half_groups(state, left, held)
    if options.accept is not None:
        _ask_person(state, options.accept, left)
    state.accepted = by_helpers(project, state.accepted)
    _rewrite(project, state, plan, broken, options.progress)
    failed_paths = {f.path for f in plan.failed}
    for path, changes in state.accepted.items():
        if path not in failed_paths:
            plan.changes += changes
    plan.failed += [
        Failed(path, "codemod-failed", detail)
        for path, detail in broken.items()
        if path not in failed_paths
    ]
    _recount(state, plan, findings)
    done = {f.fingerprint for f in plan.converted}
    plan.held_back = [c for k, c in held.items() if k not in done]
    waiting = {c.finding.fingerprint for c in plan.held_back}
    for finding in findings:
        if finding.fingerprint not in done | waiting:
            plan.left.append(with_ways(left.get(finding.fingerprint) or why_left(finding, project)))
    if options.annotate:
        from neuronport.codemods.engine.annotate import annotate

        annotate(project, plan)
    plan.sort()
    return plan


def _ask(
    codemod: Any, finding: Finding, project: Project, state: State, broken: dict[str, str]
) -> Any:
    path = finding.location.path
    if not project.rewritable(path):
        return Left(finding, "vendored", "copied from elsewhere: mend it at its source")
    try:
        source = project.source(path)
        if source is None:
            return Left(finding, "not-rewritable", "its encoding cannot be written back exactly")
        if getattr(codemod, "late", False):
            return codemod.fix(finding, source, project, state)
        asked = patterns.written_guard(source, finding) if not finding.context.guarded_by else ""
        if asked:
            # What the value is that is asked for may not be known, and be known after the port: what
            # is written behind the question is for CUDA either way, and follows the question.
            seen = replace(finding, context=replace(finding.context, guarded_by=asked))
            answer = codemod.fix(seen, source, project)
            return replace(answer, finding=finding) if isinstance(answer, Change | Left) else answer
        return codemod.fix(finding, source, project)
    except RecursionError:
        broken[path] = "its expressions are nested too deeply"
    except Exception as error:  # one bad file or codemod must not cost the others
        broken[path] = f"{type(error).__name__}: {error}"
    return None


def _order(change: Change) -> tuple[Any, ...]:
    return (change.file, min(e.start for e in change.edits), change.codemod, change.finding.rule)


def _width(change: Change) -> int:
    return max(e.end - e.start for e in change.edits)


def _settle(
    proposals: Iterable[Change],
    state: State,
    left: dict[str, Left],
    findings: Sequence[Finding],
) -> None:
    """Accept what fits: the widest edit wins, then the first."""
    for change in sorted(proposals, key=lambda c: (-_width(c), _order(c))):
        source = state.project.source(change.file)
        if source is None:
            left[change.finding.fingerprint] = Left(change.finding, "not-rewritable")
            state.refused.add(change.group)
            continue
        if state.is_converted(change.finding):
            continue
        if any(source.has_comment(e.start, e.end) for e in change.edits if e.end > e.start):
            left[change.finding.fingerprint] = Left(
                change.finding, "comment-inside", "a comment stands in what would be replaced"
            )
            state.refused.add(change.group)
            continue
        accepted = state.accepted.setdefault(change.file, [])
        if any(overlaps(change.edits, other.edits) for other in accepted):
            left[change.finding.fingerprint] = Left(
                change.finding,
                "overlaps",
                "another rewrite of the same place comes first; run again",
            )
            state.refused.add(change.group)
            continue
        accepted.append(change)
        _mark(change, source, state, findings)


def _mark(change: Change, source: Source, state: State, findings: Sequence[Finding]) -> None:
    state.converted.add(change.finding.fingerprint)
    spans = [(e.start, e.end) for e in change.edits if e.end > e.start] + list(change.covers)
    for finding in state.project.findings.get(change.file, ()):
        start, end = source.place(finding.location)
        if any(a <= start and end <= b for a, b in spans):
            state.converted.add(finding.fingerprint)


def _drop_half_moves(state: State, left: dict[str, Left]) -> None:
    """Where a file keeps a move for CUDA, Neuron is not let in by its other questions: the model
    would stay on the CPU, and what it works on would not."""
    for path, changes in state.accepted.items():
        findings = state.project.findings.get(path, ())
        asked: dict[int, set[bool]] = {}
        for f in findings:
            if f.rule in QUESTIONS:
                asked.setdefault(f.location.line, set()).add(state.is_converted(f))
        kept = [
            f
            for f in findings
            if f.rule in MOVES
            and f.verdict is Verdict.FALLS_BACK
            and f.context.guarded_by
            and (
                not state.is_converted(f)
                # It is rewritten, and a question around it goes on keeping Neuron out.
                or any(r.path == path and asked.get(r.line) == {False} for r in f.related)
            )
        ]
        if not kept:
            continue
        moving = {c.group for c in changes if c.group and c.finding.rule in MOVES}
        for change in [c for c in changes if c.group in moving or c.chooses]:
            changes.remove(change)
            state.refused.add(change.group)
            left[change.finding.fingerprint] = Left(
                change.finding,
                "part-of-a-group",
                f"line {kept[0].location.line} moves for CUDA alone, and stays",
            )


def _drop_half_groups(state: State, left: dict[str, Left], held: Mapping[str, Change]) -> None:
    """A group whose other members were refused is taken back: never half a change."""
    members: dict[str, list[Change]] = {}
    for changes in state.accepted.values():
        for change in changes:
            if change.group:
                members.setdefault(change.group, []).append(change)
    refused = {c.group for c in held.values() if c.group} | state.refused
    for group in refused & members.keys():
        for change in members[group]:
            state.accepted[change.file].remove(change)
            left[change.finding.fingerprint] = Left(
                change.finding, "part-of-a-group", "belongs to a rewrite that is not made"
            )


def _ask_person(state: State, accept: Callable[[Change], bool], left: dict[str, Left]) -> None:
    for path in sorted(state.accepted):
        kept = []
        for change in sorted(state.accepted[path], key=_order):
            if accept(change):
                kept.append(change)
            else:
                left[change.finding.fingerprint] = Left(change.finding, "declined", "you said no")
        state.accepted[path] = kept


def _recount(state: State, plan: Plan, findings: Sequence[Finding]) -> None:
    """Which findings the accepted changes deal with."""
    state.converted = set()
    for change in plan.changes:
        source = state.project.source(change.file)
        if source is not None:
            _mark(change, source, state, findings)
    for path, spans in state.dropped.items():
        source = state.project.source(path)
        for finding in state.project.findings.get(path, ()) if source is not None else ():
            if source is not None and source.place(finding.location) in spans:
                state.converted.add(finding.fingerprint)
    plan.converted = [f for f in findings if state.is_converted(f)]


def _rewrite(
    project: Project,
    state: State,
    plan: Plan,
    broken: Mapping[str, str],
    progress: Callable[[str], None],
) -> None:
    seams = Seams(project)
    needs: dict[str, set[str]] = {}
    for path, changes in state.accepted.items():
        names = {
            name.removeprefix("seam:")
            for change in changes
            for name in change.names()
            if name.startswith("seam:")
        }
        if names and path not in broken:
            needs[path] = names
    try:
        places = seams.place(needs)
    except ValueError as error:
        plan.failed += [Failed(path, "no-seam", str(error)) for path in needs]
        places = {}
    wanted: dict[Seam, set[str]] = {}
    results: list[Rewritten] = []
    for path in sorted(state.accepted):
        changes = state.accepted[path]
        if not changes or path in broken or (path in needs and path not in places):
            continue
        source = project.source(path)
        assert source is not None
        progress("rewrite")
        try:
            after = rewritten_text(
                source,
                changes,
                seams,
                places.get(path),
                needs.get(path, set()),
                state.dropped.setdefault(path, []),
            )
            check(source, after)
        except _Refused as error:
            plan.failed.append(Failed(path, error.reason, str(error)))
            continue
        if after == source.text:
            continue
        results.append(Rewritten(path, source.text, after, changes))
        if path in needs:
            wanted.setdefault(places[path], set()).update(needs[path])
    for seam, names in sorted(wanted.items()):
        if seam.exists:
            decoded = decode_python(read_source(project.files[seam.path]))
            newline = "\n" if decoded.newline == "mixed" else decoded.newline
            after = extended(decoded.text, names, newline)
            if after != decoded.text:
                plan.rewritten.append(Rewritten(seam.path, decoded.text, after))
        else:
            plan.rewritten.append(Rewritten(seam.path, None, new_module(names)))
    plan.rewritten += results


class _Refused(Exception):  # noqa: N818 - a reason, not an error
    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def rewritten_text(
    source: Source,
    changes: Sequence[Change],
    seams: Seams,
    seam: Seam | None,
    needs: set[str],
    dropped: list[tuple[int, int]] | None = None,
) -> str:
    """The text of a file with its changes and imports made; ``dropped`` gets the places of imported
    names that are no longer there."""
    edits = [e for c in changes for e in c.edits]
    first = min(source.line_of(e.start) for e in edits)
    names: dict[str, str] = {}
    lines: list[str] = []
    torch = imports.torch_name(source)
    if any("torch" in c.names() for c in changes):
        if torch is None:
            if source.binds("torch"):
                raise _Refused("name-taken", "the name torch is something else here")
            lines.append("import torch")
        names["torch"] = torch or "torch"
    if seam is not None and needs:
        module = seams.import_from(source.path, seam, imports.is_relative(source))
        known = _imported(source, module)
        items = []
        for name in sorted(needs):
            if name in known:
                names[f"seam:{name}"] = known[name]
                continue
            local = name if not source.binds(name) else f"port_{name}"
            if source.binds(local):
                raise _Refused(
                    "name-taken", f"the names {name} and {local} are something else here"
                )
            names[f"seam:{name}"] = local
            items.append(name if local == name else f"{name} as {local}")
        if items:
            lines.append(_import_line(module, items))
    resolved = [_apart(source, Edit(e.start, e.end, resolve(e.text, names))) for e in edits]
    gone = [(e.start, e.end) for e in edits if e.end > e.start]
    if gone:
        packages = frozenset(p for c in changes for p in c.drops)
        edited, removed = imports.removals(
            source,
            gone,
            lambda name: seams.project.imported_by_others(source.path, name),
            packages,
        )
        resolved += edited
        if dropped is not None:
            dropped += [source.span(alias) for alias in removed]
    if lines:
        at, blank = imports.insertion_point(source, first)
        inline = imports.inline_point(source, at)
        if inline is not None:
            joined = "; ".join(line.rstrip("\n") for line in lines).replace("\n", source.newline)
            resolved.append(Edit(inline, inline, f"{joined}; "))
            lines = []
    if lines:
        newline = _newline_before(source, at)
        text = ("\n".join(lines) + "\n").replace("\n", newline)
        if at and source.text[at - 1 : at] not in ("\n", "\r"):
            text = newline + text
        if blank:
            text = newline + text
        elif not has_imports(source) and source.text[at : at + 1].strip():
            text += newline
        resolved.append(Edit(at, at, text))
    try:
        return apply(source.text, resolved)
    except ValueError as error:
        raise _Refused("overlaps", str(error)) from None


def _apart(source: Source, edit: Edit) -> Edit:
    """Keep words apart: ``return"cuda"`` needs no blank, ``return device_name()`` does."""
    text = edit.text
    if text and edit.end > edit.start:
        if _is_word(text[0]) and edit.start and _is_word(source.text[edit.start - 1]):
            text = f" {text}"
        if _is_word(text[-1]) and _is_word(source.text[edit.end : edit.end + 1]):
            text = f"{text} "
    return Edit(edit.start, edit.end, text)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def has_imports(source: Source) -> bool:
    return any(isinstance(s, ast.Import | ast.ImportFrom) for s in source.tree.body)


def _newline_before(source: Source, at: int) -> str:
    """How the line before a place ends: a file may end its lines in several ways."""
    line = source.lines[source.line_of(at) - 2] if at else ""
    for newline in ("\r\n", "\n", "\r"):
        if line.endswith(newline):
            return newline
    return source.newline


def _import_line(module: str, items: Sequence[str]) -> str:
    line = f"from {module} import {', '.join(items)}"
    if len(line) <= 100:
        return line
    inner = "".join(f"    {item},\n" for item in items)
    return f"from {module} import (\n{inner})"


def _imported(source: Source, module: str) -> dict[str, str]:
    """What a file already imports from its seam, by the names it has there."""
    found: dict[str, str] = {}
    level = len(module) - len(module.lstrip("."))
    for stmt in source.tree.body:
        if (
            isinstance(stmt, ast.ImportFrom)
            and stmt.level == level
            and (stmt.module or "") == module.lstrip(".")
        ):
            for alias in stmt.names:
                found[alias.name] = alias.asname or alias.name
    return found


def check(source: Source, after: str) -> None:
    """Refuse a text that does not parse, has lost or changed a comment, or cannot be encoded."""
    try:
        parse(after)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _Refused("does-not-parse", f"the rewritten file would not parse: {error}") from None
    if comments(after) != [comment for _, comment in source.comments or ()]:
        raise _Refused("comment-changed", "a comment would change")
    try:
        encode(replace(source.decoded, text=after))
    except (Undecodable, WorkspaceError) as error:
        raise _Refused("not-encodable", str(error)) from None


def comments(text: str) -> list[str]:
    """The comments of a program, in order."""
    return [comment for _, comment in comments_of(text) or ()]


def why_left(finding: Finding, project: Project) -> Left:
    """Why a finding that no codemod writes is left, from what its rule knows."""
    if finding.verdict in (Verdict.LOCKS_IN, Verdict.FALLS_BACK) and finding.context.guarded_by:
        says = f"runs only where {finding.context.guarded_by}: CUDA keeps it, Neuron skips it"
        return Left(finding, "cuda-only", says)
    return Left(finding, "by-hand", finding.why)
