"""From findings to rewritten texts: ask the codemods, settle conflicts, add what is needed.

Nothing is written here. Order and outcome do not depend on anything but the tree and the options.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from neuronport.audit import parse
from neuronport.codemods import codemods_for
from neuronport.codemods.engine import imports, patterns, processes
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
    jobs: int = 1
    """Processes; the plan is the same whatever their number."""


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
        self.groups: dict[str, set[str]] = {}
        """For each group, the fingerprints of the findings its members deal with."""
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
    for late in (False, True):
        answers = _late if late else _early
        proposals: list[Change] = []
        for finding, answer in answers(project, state, findings, broken, options):
            for change in answer if isinstance(answer, list) else [answer]:
                if isinstance(change, Left):
                    left[finding.fingerprint] = change
                elif isinstance(change, Change):
                    if change.group:
                        members = state.groups.setdefault(change.group, set())
                        members |= {change.finding.fingerprint, *change.rests_on}
                    if change.safety not in options.safeties:
                        held[change.finding.fingerprint] = change
                    else:
                        proposals.append(change)
        _settle(proposals, state, left)
    failed = {path: Failed(path, "codemod-failed", detail) for path, detail in broken.items()}
    _leave(failed, state, left)
    _drop_halves(state, left)
    _ask_person(state, options.accept, left)
    _rewrite(project, state, plan, failed, left, options)
    plan.changes = [change for changes in state.accepted.values() for change in changes]
    plan.failed = list(failed.values())
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


def _codemods(finding: Finding, late: bool) -> list[Any]:
    """What may rewrite a finding now."""
    asked = codemods_for(finding.rule, finding.fix.codemod) if finding.fix else ()
    return [c for c in asked if bool(getattr(c, "late", False)) is late]


def _ask_all(
    asked: Iterable[Any],
    finding: Finding,
    project: Project,
    state: State,
    broken: dict[str, str],
) -> Any:
    """The first change that one of the codemods has, or else the first answer."""
    answer: Any = None
    for codemod in asked:
        found = _ask(codemod, finding, project, state, broken)
        if isinstance(found, Change | list):
            return found
        answer = found if answer is None else answer
    return answer


def _early(
    project: Project,
    state: State,
    findings: Sequence[Finding],
    broken: dict[str, str],
    options: Options,
) -> Iterator[tuple[Finding, Any]]:
    """What codemods say that need nothing but the project: file by file, in any order."""
    by_path: dict[str, list[int]] = {}
    for i, finding in enumerate(findings):
        if finding.fix:
            by_path.setdefault(finding.location.path, []).append(i)

    def ask(path: str) -> tuple[list[tuple[int, Any]], dict[str, str]]:
        failed: dict[str, str] = {}
        answers = []
        for i in by_path[path]:
            asked = _codemods(findings[i], late=False)
            if asked and path not in failed:
                answers.append((i, _ask_all(asked, findings[i], project, state, failed)))
        return answers, failed

    paths = _heaviest_first(project, by_path)
    jobs = options.jobs if _worth_it(project, paths) else 1
    done = processes.each(
        paths, ask, jobs, lambda: options.progress("plan"), project.in_new_process
    )
    all_answers: list[tuple[int, Any]] = []
    for path, given in zip(paths, done, strict=True):
        if isinstance(given, processes.Died):
            broken[path] = "the process that looked at it ended"
            continue
        all_answers += given[0]
        broken |= given[1]
    for i, answer in sorted(all_answers, key=lambda pair: pair[0]):
        yield findings[i], answer


def _late(
    project: Project,
    state: State,
    findings: Sequence[Finding],
    broken: dict[str, str],
    options: Options,
) -> Iterator[tuple[Finding, Any]]:
    """What codemods say that look at what the others have settled."""
    for finding in findings:
        asked = _codemods(finding, late=True)
        if not asked or state.is_converted(finding) or finding.location.path in broken:
            continue
        yield finding, _ask_all(asked, finding, project, state, broken)


def _heaviest_first(project: Project, paths: Iterable[str]) -> list[str]:
    return sorted(paths, key=lambda p: (-project.files[p].size, p))


def _worth_it(project: Project, paths: Iterable[str]) -> bool:
    return sum(project.files[p].size for p in paths) >= processes.WORTH_IT


def _ask(
    codemod: Any, finding: Finding, project: Project, state: State, broken: dict[str, str]
) -> Any:
    path = finding.location.path
    if not project.rewritable(path):
        return Left(finding, "vendored", "copied from elsewhere: mend it at its source")
    try:
        source = project.source(path)
        if source is None:
            changed = project.is_changed(path)
            why = "it was changed meanwhile" if changed else "it cannot be written back exactly"
            return Left(finding, "not-rewritable", why)
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


def _settle(proposals: Iterable[Change], state: State, left: dict[str, Left]) -> None:
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
        state.converted |= _dealt_with(change, state.project)


def _dealt_with(change: Change, project: Project) -> set[str]:
    """The fingerprints of the findings whose places a change rewrites or covers."""
    done = {change.finding.fingerprint}
    source = project.source(change.file)
    spans = [(e.start, e.end) for e in change.edits if e.end > e.start] + list(change.covers)
    for finding in project.findings.get(change.file, ()) if source is not None else ():
        assert source is not None
        start, end = source.place(finding.location)
        if any(a <= start and end <= b for a, b in spans):
            done.add(finding.fingerprint)
    return done


def _all_dealt_with(state: State) -> set[str]:
    accepted = [change for changes in state.accepted.values() for change in changes]
    return set().union(*(_dealt_with(change, state.project) for change in accepted))


def _drop_halves(state: State, left: dict[str, Left]) -> None:
    """Take back what makes no sense without something that is not done: never half a change."""
    while True:
        # What a change that was taken back had dealt with may have been another group's.
        before = sum(map(len, state.accepted.values()))
        state.converted = _all_dealt_with(state)
        _drop_half_moves(state, left)
        _drop_half_groups(state, left)
        if sum(map(len, state.accepted.values())) == before:
            return


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


def _drop_half_groups(state: State, left: dict[str, Left]) -> None:
    """A group of which anything is not done is taken back."""
    unfinished = {g for g, findings in state.groups.items() if not findings <= state.converted}
    half = (state.refused | unfinished) - {""}
    for path, changes in state.accepted.items():
        for change in changes:
            if change.group in half:
                left[change.finding.fingerprint] = Left(
                    change.finding, "part-of-a-group", "belongs to a rewrite that is not made"
                )
        state.accepted[path] = [c for c in changes if c.group not in half]


def _leave(paths: Iterable[str], state: State, left: dict[str, Left]) -> None:
    """Take back what was to be done in files that stay as they were."""
    for path in paths:
        for change in state.accepted.pop(path, ()):
            left[change.finding.fingerprint] = Left(
                change.finding, "not-rewritable", "the file could not be rewritten"
            )


def _ask_person(state: State, accept: Callable[[Change], bool], left: dict[str, Left]) -> None:
    declined: set[str] = set()
    for path in sorted(state.accepted):
        kept = []
        for change in sorted(state.accepted[path], key=_order):
            if change.group in declined or accept(change):
                kept.append(change)
                continue
            left[change.finding.fingerprint] = Left(change.finding, "declined", "you said no")
            if change.group:
                declined.add(change.group)
        state.accepted[path] = kept
    if declined:
        state.refused |= declined
        _drop_halves(state, left)


def _recount(state: State, plan: Plan, findings: Sequence[Finding]) -> None:
    """Which findings the accepted changes deal with."""
    state.converted = _all_dealt_with(state)
    for path, spans in state.dropped.items():
        source = state.project.source(path)
        for finding in state.project.findings.get(path, ()) if source is not None else ():
            if source is not None and source.place(finding.location) in spans:
                state.converted.add(finding.fingerprint)
    plan.converted = [f for f in findings if state.is_converted(f)]


class _Text(NamedTuple):
    """What came of rewriting a file."""

    after: str = ""
    dropped: tuple[tuple[int, int], ...] = ()
    reason: str = ""
    """Why there is none; empty: there is."""
    detail: str = ""


def _rewrite(
    project: Project,
    state: State,
    plan: Plan,
    failed: dict[str, Failed],
    left: dict[str, Left],
    options: Options,
) -> None:
    """The texts of all files with changes. Where one of them cannot be, the others do without it: its
    groups are taken back, its helper is not asked for."""
    seams = Seams(project)
    texts: dict[tuple[Any, ...], _Text] = {}
    while True:
        accepted, helpers = by_helpers(project, state.accepted)
        accepted = {path: changes for path, changes in accepted.items() if changes}
        needs = {path: names for path, changes in accepted.items() if (names := _needs(changes))}
        try:
            places = seams.place(needs)
        except ValueError as error:
            lost = {path: Failed(path, "no-seam", str(error)) for path in needs}
        else:
            made = _texts(project, accepted, seams, places, needs, texts, options)
            lost = {p: Failed(p, t.reason, t.detail) for p, t in made.items() if t.reason}
        if not lost:
            break
        failed |= lost
        _leave(lost, state, left)
        _drop_halves(state, left)
    state.accepted = dict(accepted)
    wanted: dict[str, set[str]] = {}
    there = {seam.path for seam in places.values() if seam.exists}
    results: list[Rewritten] = []
    home = {f.fingerprint: f.location.path for f in project.part.findings}
    for path in sorted(made):
        source = project.source(path)
        state.dropped[path] = list(made[path].dropped)
        if source is None or made[path].after == source.text:
            continue
        needed = {home[f] for change in accepted[path] for f in change.rests_on} - {path}
        needed |= {helpers[path]} if path in helpers else set()
        if path in needs:
            wanted.setdefault(places[path].path, set()).update(needs[path])
            needed.add(places[path].path)
        results.append(
            Rewritten(path, source.text, made[path].after, accepted[path], frozenset(needed))
        )
    for path, names in sorted(wanted.items()):
        if path in there:
            decoded = decode_python(read_source(project.files[path]))
            newline = "\n" if decoded.newline == "mixed" else decoded.newline
            after = extended(decoded.text, names, newline)
            if after != decoded.text:
                plan.rewritten.append(Rewritten(path, decoded.text, after))
        else:
            plan.rewritten.append(Rewritten(path, None, new_module(names)))
    plan.rewritten += results


def _needs(changes: Iterable[Change]) -> set[str]:
    """The functions of the seam that changes ask for."""
    return {
        name.removeprefix("seam:")
        for change in changes
        for name in change.names()
        if name.startswith("seam:")
    }


def _texts(
    project: Project,
    accepted: Mapping[str, Sequence[Change]],
    seams: Seams,
    places: Mapping[str, Seam],
    needs: Mapping[str, set[str]],
    known: dict[tuple[Any, ...], _Text],
    options: Options,
) -> dict[str, _Text]:
    """The new text of each file; ``known`` has what was found out before."""
    keys = {
        path: (path, places.get(path), *((c.edits, c.drops) for c in changes))
        for path, changes in accepted.items()
    }
    paths = _heaviest_first(project, (path for path, key in keys.items() if key not in known))

    def rewrite(path: str) -> _Text:
        own = needs.get(path, set())
        return _rewritten(project, path, accepted[path], seams, places.get(path), own)

    jobs = options.jobs if _worth_it(project, paths) else 1
    done = processes.each(
        paths, rewrite, jobs, lambda: options.progress("rewrite"), project.in_new_process
    )
    for path, text in zip(paths, done, strict=True):
        if isinstance(text, processes.Died):
            text = _Text(reason="not-rewritable", detail="the process that rewrote it ended")
        known[keys[path]] = text
    return {path: known[key] for path, key in keys.items()}


def _rewritten(
    project: Project,
    path: str,
    changes: Sequence[Change],
    seams: Seams,
    seam: Seam | None,
    needs: set[str],
) -> _Text:
    dropped: list[tuple[int, int]] = []
    try:
        source = project.source(path)
        if source is None:
            raise _Refused("not-rewritable", "it was changed meanwhile")
        after = rewritten_text(source, changes, seams, seam, needs, dropped)
        check(source, after)
    except _Refused as error:
        return _Text(reason=error.reason, detail=str(error))
    except Exception as error:  # one bad file must not cost the others
        return _Text(reason="codemod-failed", detail=f"{type(error).__name__}: {error}")
    return _Text(after, tuple(dropped))


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
        raise _Refused("not-encodable", error.detail) from None


def comments(text: str) -> list[str]:
    """The comments of a program, in order."""
    return [comment for _, comment in comments_of(text) or ()]


def why_left(finding: Finding, project: Project) -> Left:
    """Why a finding that no codemod writes is left, from what its rule knows."""
    if finding.verdict in (Verdict.LOCKS_IN, Verdict.FALLS_BACK) and finding.context.guarded_by:
        says = f"runs only where {finding.context.guarded_by}: CUDA keeps it, Neuron skips it"
        return Left(finding, "cuda-only", says)
    return Left(finding, "by-hand", finding.message)
