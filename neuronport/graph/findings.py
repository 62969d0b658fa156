"""From nodes to findings, of the same form as the audit's, and merged with them."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from neuronport.data import data_folder
from neuronport.findings import (
    CONFIDENCE_ORDER,
    VERDICT_ORDER,
    Confidence,
    Context,
    Effort,
    Evidence,
    EvidenceKind,
    Finding,
    Related,
    TargetVerdict,
    Verdict,
    fingerprinted,
)
from neuronport.graph import source
from neuronport.graph.lowering.evidence import contradicts, less_sure, was_measured
from neuronport.graph.record import Failure, Graph, Node, Record, Site
from neuronport.graph.verdicts import Judged, NodeVerdicts, stage_of
from neuronport.operators import DEFAULT_STAGE, Status, workarounds
from neuronport.rulebook.load import rulebook
from neuronport.rulebook.model import Spec
from neuronport.targets import Target, resolve

_OPERATOR_RULE, _BRANCH_RULE, _READ_RULE = "operator-support", "tensor-branch", "host-read"
_LONG = 60
_UNBACKED = re.compile(r"\bu\d+\b")
_READS = ("aten::item", "aten::_local_scalar_dense", "aten::is_nonzero")
_MERGED_AREAS = frozenset(("operators", "shapes", "control"))
"""Areas whose findings can be about the same thing as a node."""


@dataclass
class _Group:
    """The nodes of one line that one rule speaks of."""

    rule: str
    area: str
    effort: Effort
    why: str
    about: str
    site: Site | None
    graphs: dict[str, None] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    judged: dict[str, dict[str, dict[str, list[Judged]]]] = field(default_factory=dict)
    """Target → stage → direction → answers."""
    deciding: dict[str, list[Judged]] = field(default_factory=dict)
    """Target → answers at the stage in which the graph runs."""

    def add(self, graph: Graph, node: Node, by_target: Mapping[str, Mapping[str, Judged]]) -> None:
        self.graphs.setdefault(graph.title)
        self.nodes.append(node)
        for target, stages in by_target.items():
            for stage, judged in stages.items():
                at = self.judged.setdefault(target, {}).setdefault(stage, {})
                at.setdefault(node.direction, []).append(judged)
                if stage == _stage(target, graph.mode):
                    self.deciding.setdefault(target, []).append(judged)

    def take(self, other: _Group) -> None:
        """What another group says of the same nodes."""
        for target, stages in other.judged.items():
            for stage, directions in stages.items():
                for direction, judged in directions.items():
                    at = self.judged.setdefault(target, {}).setdefault(stage, {})
                    at.setdefault(direction, []).extend(judged)
        for target, answers in other.deciding.items():
            self.deciding.setdefault(target, []).extend(answers)


def _stage(target: str, mode: str) -> str:
    return stage_of(resolve(target), mode)


@dataclass(frozen=True, slots=True)
class GraphRule:
    """A rule of the audit's, and what a graph adds to it (``rules/understanding/graph.toml``)."""

    spec: Spec
    operators: tuple[str, ...]
    """Families whose results have sizes that it speaks of; ``*``: all that no other rule names."""
    verdict: Mapping[str, Mapping[str, Verdict]]
    """Path → stage → verdict."""

    def judged(self, target: Target, stage: str) -> Judged:
        evidence = self.spec.evidence_for(target.path)
        weak = all(e.kind is EvidenceKind.INFERRED for e in evidence)
        return Judged(
            Status.UNKNOWN,
            self.verdict[target.path][stage],
            Confidence.LIKELY if weak else Confidence.CERTAIN,
            tuple(evidence),
        )


@cache
def _data() -> dict[str, Any]:
    with (data_folder("rules") / "understanding" / "graph.toml").open("rb") as stream:
        return tomllib.load(stream)


def replacement_for(operator: str, path: str) -> str:
    """What a rule that speaks of an operator says to write instead; empty: none does."""
    family = operator.partition(".")[0]
    name = _READ_RULE if operator.startswith(_READS) else ""
    name = name or next((n for n, rule in graph_rules().items() if family in rule.operators), "")
    return graph_rules()[name].spec.replacement.get(path, "") if name else ""


@cache
def graph_rules() -> Mapping[str, GraphRule]:
    data = {name: row for name, row in _data().items() if name != "same"}
    book = rulebook()
    return {
        name: GraphRule(
            book.rules[name],
            tuple(row.get("operators", ())),
            {
                path: {stage: Verdict(word) for stage, word in row[path].items()}
                for path in ("native", "xla")
            },
        )
        for name, row in data.items()
    }


@cache
def _rule_of_size(family: str) -> str:
    """The rule about sizes that speaks of an operator."""
    rules = graph_rules()
    named = next((name for name, rule in rules.items() if family in rule.operators), "")
    return named or next(name for name, rule in rules.items() if "*" in rule.operators)


def find(
    record: Record,
    verdicts: Sequence[tuple[Graph, Sequence[NodeVerdicts]]],
    targets: Sequence[Target],
) -> list[Finding]:
    """Every finding that the graphs of a record support."""
    groups: dict[tuple[str, str, int, str], _Group] = {}
    for graph, judged in verdicts:
        known: set[str] = set()
        for item in judged:
            _operator(groups, graph, item)
            _shape(groups, graph, item, known, targets)
            if item.node.operator.startswith(_READS):
                _by_rule(groups, _READ_RULE, graph, item.node, targets)
    found = [f for g in groups.values() if (f := _finding(g, targets)) is not None]
    found += _branches(record, targets)
    return fingerprinted(_without_doubles(found))


def _operator(
    groups: dict[tuple[str, str, int, str], _Group], graph: Graph, item: NodeVerdicts
) -> None:
    bad = any(
        judged.verdict is not None and not judged.verdict.is_reference
        for stages in item.by_target.values()
        for judged in stages.values()
    )
    if not bad or item.node.operator.startswith(_READS):
        return
    family = item.node.operator.partition(".")[0]
    key = _key(_OPERATOR_RULE, item.node.site, family)
    group = groups.get(key)
    if group is None:
        group = groups[key] = _Group(
            _OPERATOR_RULE,
            "operators",
            Effort.HOURS,
            rulebook().rules[_OPERATOR_RULE].title,
            family,
            item.node.site,
        )
    group.add(graph, item.node, item.by_target)


def _shape(
    groups: dict[tuple[str, str, int, str], _Group],
    graph: Graph,
    item: NodeVerdicts,
    known: set[str],
    targets: Sequence[Target],
) -> None:
    """Sizes that appear here first and that no input has."""
    node = item.node
    new = {
        symbol
        for tensor in node.outputs
        if tensor is not None
        for size in tensor.shape
        if isinstance(size, str)
        for symbol in _UNBACKED.findall(size)
    } - known
    known |= new
    if new and not node.symbolic:
        family = node.operator.partition(".")[0]
        rule = _rule_of_size(family)
        _by_rule(groups, rule, graph, node, targets)
        # the table's word on the operator and the shape's are about the same thing
        same = groups.pop(_key(_OPERATOR_RULE, node.site, family), None)
        if same is not None:
            groups[_key(rule, node.site, family)].take(same)


def _by_rule(
    groups: dict[tuple[str, str, int, str], _Group],
    rule: str,
    graph: Graph,
    node: Node,
    targets: Sequence[Target],
) -> None:
    known = graph_rules()[rule]
    spec = known.spec
    family = node.operator.partition(".")[0]
    key = _key(rule, node.site, family)
    group = groups.get(key)
    if group is None:
        group = groups[key] = _Group(rule, spec.area, spec.effort, spec.title, family, node.site)
    group.add(
        graph,
        node,
        {str(t): {s: known.judged(t, s) for s in known.verdict[t.path]} for t in targets},
    )


def _key(rule: str, site: Site | None, about: str) -> tuple[str, str, int, str]:
    return (rule, site.file if site else "", site.line if site else 0, about)


def _finding(group: _Group, targets: Sequence[Target]) -> Finding | None:
    by_target = {
        str(target): verdict
        for target in targets
        if (verdict := _target_verdict(group, target)) is not None
    }
    if not any(not v.verdict.is_reference for v in by_target.values()):
        return None
    names = [n.name for n in group.nodes]
    modules = list(dict.fromkeys(n.module for n in group.nodes if n.module))
    site = group.site
    related = _library(group.nodes)
    return Finding(
        rule=group.rule,
        area=group.area,
        location=source.location(site) if site else _nowhere(modules),
        message=_message(group, by_target, modules),
        why=group.why,
        effort=group.effort,
        by_target=by_target,
        context=Context(scope=source.scope(site) if site else "", hot=True),
        group=f"{group.rule}/{group.about}" if group.rule == _OPERATOR_RULE else group.rule,
        related=related,
        snippet=source.text(site).strip() if site else "",
        node=names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more",
    )


def _nowhere(modules: Sequence[str]) -> Any:
    from neuronport.findings import Location

    return Location(f"<{modules[0]}>" if modules else "<graph>", 1, 1, 1, 2)


def _target_verdict(group: _Group, target: Target) -> TargetVerdict | None:
    """The verdict at the stage in which the path runs; what other stages say goes along."""
    words: dict[str, dict[str, Verdict]] = {}
    for stage, directions in group.judged.get(str(target), {}).items():
        for direction, judged in directions.items():
            bad = [j.verdict for j in judged if j.verdict is not None]
            if bad:
                words.setdefault(stage, {})[direction] = min(bad, key=VERDICT_ORDER.__getitem__)
    here = [j for j in group.deciding.get(str(target), ()) if j.verdict is not None]
    if not here:
        return None
    deciding = min(
        here,
        key=lambda j: (
            VERDICT_ORDER[j.verdict] if j.verdict else 99,
            CONFIDENCE_ORDER[j.confidence],
        ),
    )
    assert deciding.verdict is not None
    replacement = ""
    if deciding.workarounds and not deciding.verdict.is_reference:
        replacement = workarounds()[deciding.workarounds[0]].title
    measured = [e for j in here if (e := was_measured(j.evidence)) is not None]
    return TargetVerdict(
        deciding.verdict,
        deciding.confidence,
        tuple(dict.fromkeys((*measured, *deciding.evidence))),
        replacement,
        words,
    )


def _message(group: _Group, by_target: Mapping[str, TargetVerdict], modules: Sequence[str]) -> str:
    kinds = list(dict.fromkeys(n.operator for n in group.nodes))
    what = kinds[0] if len(kinds) == 1 else f"{group.about} ({len(kinds)} overloads)"
    count = len(group.nodes)
    where = f" {count} times" if count > 1 else ""
    if modules:
        where += f" in {modules[0]}"
        if len(modules) > 1:
            where += f" and {len(modules) - 1} more"
    directions = list(dict.fromkeys(n.direction for n in group.nodes))
    if directions == ["backward"]:
        where += ", in the backward"
    elif len(directions) > 1:
        where += ", forward and backward"
    because = sorted(
        {
            when
            for stages in group.judged.values()
            for rows in stages.values()
            for judged in rows.values()
            for j in judged
            if j.verdict is not None and not j.verdict.is_reference
            for when in j.because
        }
    )
    head = f"the size of what {what} gives depends on values{where}"
    if group.rule == _OPERATOR_RULE:
        head = f"the graph runs {what}{where}"
    elif group.rule == _READ_RULE:
        head = f"{what} reads a value back{where}"
    if because and group.rule == _OPERATOR_RULE:
        head += f" with {because[0]}" if len(because[0]) <= _LONG else ", on these arguments"
    said = _stage_words(by_target)
    return f"{head}: {said}" if said else head


def _stage_words(by_target: Mapping[str, TargetVerdict]) -> str:
    """``native eager falls-back, compiled breaks``."""
    parts = []
    for target, verdict in by_target.items():
        path = target.partition("@")[0]
        words = []
        for stage, directions in verdict.stages.items():
            worst = min(directions.values(), key=VERDICT_ORDER.__getitem__)
            if not worst.is_reference:
                words.append(f"{stage} {worst}")
        if words:
            parts.append(f"{path} {', '.join(words)}")
    return "; ".join(parts)


def _library(nodes: Sequence[Node]) -> tuple[Related, ...]:
    """The library's line, where the user's own is known too."""
    found: dict[tuple[str, int], Related] = {}
    for node in nodes:
        if node.user is not None and node.library is not None:
            site = node.library
            found.setdefault(
                (site.file, site.line),
                Related(source.path(site.file), site.line, f"{node.operator} is called here"),
            )
    return tuple(found.values())[:5]


def _branches(record: Record, targets: Sequence[Target]) -> list[Finding]:
    """Conditions on values, from what stopped export or was assumed, and from graph breaks."""
    rule = graph_rules()[_BRANCH_RULE]
    spec = rule.spec
    groups: dict[tuple[str, int], tuple[Site, str]] = {}
    for failure in (*record.failures, *record.breaks):
        site = failure.user or failure.library
        if site is not None and _on_data(failure):
            groups.setdefault((site.file, site.line), (site, failure.graph))
    for read in record.reads:
        site = read.user or read.library
        if site is not None and read.what == "bool":
            groups.setdefault((site.file, site.line), (site, ""))
    found = []
    for site, graph in groups.values():
        by_target = {}
        for target in targets:
            stages = {s: {"forward": v} for s, v in rule.verdict[target.path].items()}
            judged = rule.judged(target, DEFAULT_STAGE[target.path])
            assert judged.verdict is not None
            by_target[str(target)] = TargetVerdict(
                judged.verdict, judged.confidence, judged.evidence, stages=stages
            )
        words = _stage_words(by_target)
        found.append(
            Finding(
                rule=spec.id,
                area=spec.area,
                location=source.location(site),
                message=f"the program branches on a value of a tensor: {words}",
                why=spec.title,
                effort=spec.effort,
                by_target=by_target,
                context=Context(scope=source.scope(site), hot=True),
                group=spec.id,
                snippet=source.text(site).strip(),
                node=graph,
            )
        )
    return found


def _on_data(failure: Failure) -> bool:
    return failure.error in (
        "GuardOnDataDependentSymNode",
        "data-dependent-error",
        "UserError",
    ) or ("data-dependent" in failure.reason.lower())


def _without_doubles(findings: Sequence[Finding]) -> list[Finding]:
    """A branch on a value reads it: one line, one finding."""
    branches = {(f.location.path, f.location.line) for f in findings if f.rule == _BRANCH_RULE}
    return [
        f
        for f in findings
        if f.rule != _READ_RULE or (f.location.path, f.location.line) not in branches
    ]


# -- with the audit ---------------------------------------------------------------------------------


def user_files(record: Record) -> list[str]:
    """The user's files that the graph goes through."""
    files = {
        site.file
        for graph in record.graphs
        for node in graph.nodes
        if (site := node.user) is not None
    }
    named = [f.user for f in (*record.failures, *record.breaks)]
    named += [r.user for r in (*record.redirects, *record.reads)]
    files |= {site.file for site in named if site is not None}
    return sorted(f for f in files if os.path.isfile(f))


def audited(files: Sequence[str], targets: Sequence[Target]) -> list[Finding]:
    """What the audit finds in files."""
    from neuronport.audit import audit_serially
    from neuronport.workspace import open_workspace

    if not files:
        return []
    workspace = open_workspace(list(files))
    python = [f for f in workspace.files if f.kind in ("python", "stub")]
    part = audit_serially(python, targets, lambda _: None)
    named = {
        f.path: source.path(os.path.abspath(f.absolute)) for f in python if hasattr(f, "absolute")
    }
    return [
        replace(f, location=replace(f.location, path=named.get(f.location.path, f.location.path)))
        for f in part.findings
    ]


def merged(graph: Sequence[Finding], audit: Sequence[Finding]) -> list[Finding]:
    """One finding where both speak of the same thing on the same line."""
    left = list(graph)
    partners: dict[int, list[Finding]] = {}
    for same in (_very_same, _same):  # who is meant comes before who could be
        for number, finding in enumerate(audit):
            if number in partners:
                continue
            found = [f for f in left if same(finding, f)]
            found = found if same is _very_same else found[:1]
            if found:
                partners[number] = found
                left = [f for f in left if f not in found]
    result: list[Finding] = []
    for number, finding in enumerate(audit):
        for partner in partners.get(number, ()):
            finding = _together(finding, partner)
        result.append(finding)
    return fingerprinted([*result, *left])


def _very_same(audit: Finding, graph: Finding) -> bool:
    """Of one rule, or of an operator that the rule is about."""
    if not _one_place(audit, graph):
        return False
    if audit.rule == graph.rule:
        return audit.group == graph.group or audit.rule != _OPERATOR_RULE
    operator = graph.group.partition("/")[2] if graph.rule == _OPERATOR_RULE else ""
    return operator in _data()["same"].get(audit.rule, ())


def _one_place(audit: Finding, graph: Finding) -> bool:
    if audit.location.path != graph.location.path:
        return False
    return audit.location.line <= graph.location.line <= audit.location.end_line


def _same(audit: Finding, graph: Finding) -> bool:
    if audit.area not in _MERGED_AREAS or not _one_place(audit, graph):
        return False
    if audit.rule == graph.rule:
        return audit.group == graph.group or audit.rule != _OPERATOR_RULE
    return audit.area == graph.area or _OPERATOR_RULE not in (audit.rule, graph.rule)


def _together(audit: Finding, graph: Finding) -> Finding:
    """The audit's place and words, the graph's nodes and stages; per target the surer verdict."""
    by_target = dict(audit.by_target)
    for target, seen in graph.by_target.items():
        known = by_target.get(target)
        measured = was_measured(seen.evidence)
        if known is None or (seen.verdict.is_reference and not known.verdict.is_reference):
            if known is None:
                by_target[target] = seen
            elif measured is not None:
                by_target[target] = _weighed(known, measured)
            continue
        stronger = min(known, seen, key=lambda v: VERDICT_ORDER[v.verdict])
        surest = min(known.confidence, seen.confidence, key=CONFIDENCE_ORDER.__getitem__)
        if measured is not None:
            surest = seen.confidence  # of this very call, more is known than was read
        by_target[target] = replace(
            stronger,
            confidence=surest if known.verdict is seen.verdict else stronger.confidence,
            evidence=tuple(
                dict.fromkeys(
                    (
                        *((measured,) if measured is not None else ()),
                        *stronger.evidence,
                        *known.evidence,
                        *seen.evidence,
                    )
                )
            ),
            replacement=known.replacement or seen.replacement,
            stages={**known.stages, **seen.stages},
        )
    return replace(
        audit,
        message=f"{audit.message}; {graph.message}",
        by_target=by_target,
        related=(*audit.related, *graph.related),
        node=graph.node,
        context=replace(audit.context, hot=True),
    )


def _weighed(known: TargetVerdict, measured: Evidence) -> TargetVerdict:
    """What was read of a line, once the node there has been run and nothing was found."""
    lowered = contradicts(measured) and known.verdict in (Verdict.FALLS_BACK, Verdict.BREAKS)
    return replace(
        known,
        confidence=less_sure(known.confidence) if lowered else known.confidence,
        evidence=(measured, *known.evidence),
    )
