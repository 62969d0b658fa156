"""The terminal: what was captured, what is wrong where, what it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tabulate import tabulate

from neuronport.findings import VERDICT_ORDER, Finding, Verdict
from neuronport.graph import source
from neuronport.graph.lowering.agreement import Comparison, by_operator
from neuronport.graph.lowering.evidence import was_measured
from neuronport.graph.lowering.measured import BACKEND, STATUSES, Call, GraphLowering, Whole
from neuronport.graph.record import Failure, Site
from neuronport.graph.result import GraphResult
from neuronport.graph.verdicts import Judged, stage_of
from neuronport.operators import STAGES
from neuronport.reporting.escape import lines as visible
from neuronport.reporting.escape import terminal

_OPERATORS = 25
_ROWS = 20
_WIDE = 48


def render(result: GraphResult) -> str:
    sections = [
        _head(result),
        _captured(result),
        _verdicts(result),
        _findings(result.findings),
        _costs(result),
        _shapes(result),
        _partitions(result),
        _lowering(result),
        _failures(result),
    ]
    return visible("\n\n".join(s for s in sections if s)) + "\n"


def _head(result: GraphResult) -> str:
    record, model = result.record, result.model
    sizes = ", ".join(f"{size(b)} {d}" for d, b in model.parameter_bytes.items())
    storage = "without storage" if record.device == "meta" else f"on the {record.device}"
    return terminal(
        f"{record.model}: {model.parameters:,} parameters ({sizes or 'none'}), built {storage};"
        f" torch {record.torch}"
    )


def _captured(result: GraphResult) -> str:
    rows = [
        (
            terminal(graph.title),
            graph.mode,
            graph.how,
            cost.nodes,
            cost.operators,
            f"{cost.matrix_flops / 1e9:,.3f}",
            size(cost.read_once),
            size(cost.peak),
            size(cost.cache) if cost.cache else "",
        )
        for graph, cost in zip(result.record.graphs, result.costs, strict=True)
    ]
    if not rows:
        return "no graph was captured"
    return tabulate(
        rows,
        headers=(
            "graph",
            "mode",
            "how",
            "nodes",
            "operators",
            "matrix GFLOP",
            "bytes at least",
            "peak between",
            "KV cache",
        ),
    )


def _verdicts(result: GraphResult) -> str:
    blocks = []
    for target in result.targets:
        modes = dict.fromkeys(g.mode for g in result.record.graphs)
        stage = ", ".join(dict.fromkeys(stage_of(target, mode) for mode in modes))
        counts = result.counts(target)
        words = ", ".join(f"{n} {w}" for w, n in sorted(counts.items(), key=_by_verdict))
        rows: Counter[tuple[str, ...]] = Counter()
        for _, verdicts in result.verdicts:
            for item in verdicts:
                judged = item.at(target)
                if judged is None or (judged.verdict and judged.verdict.is_reference):
                    continue
                stages = item.by_target[str(target)]
                rows[
                    item.node.operator,
                    item.node.direction,
                    str(judged.verdict or "unknown"),
                    *(_here(stages[s], s == stage_of(target, item.mode)) for s in STAGES),
                    _short(judged.because[0]) if judged.because else "",
                ] += 1
        lines = [f"{target}, {stage}: {words} (nodes)"]
        if rows:
            lines.append("  * the stage in which the graph runs, which decides")
        if rows:
            ordered = sorted(rows.items(), key=lambda r: (_rank(r[0][2]), -r[1], r[0]))
            headers = ["operator", "direction", "verdict", *STAGES, "because", "nodes"]
            table = [[*key, count] for key, count in ordered[:_OPERATORS]]
            lines.append(tabulate(table, headers=headers, disable_numparse=True))
            if len(ordered) > _OPERATORS:
                lines.append(f"and {len(ordered) - _OPERATORS} more (--format json)")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _here(judged: Judged, runs: bool) -> str:
    """The word at a stage; a star: in which the graph runs."""
    return f"{judged.verdict or 'unknown'}{'*' if runs else ''}"


def _short(condition: str) -> str:
    return condition if len(condition) <= _WIDE else f"{condition[: _WIDE - 1]}…"


def _rank(word: str) -> int:
    return VERDICT_ORDER[Verdict(word)] if word in set(Verdict) else len(VERDICT_ORDER)


def _by_verdict(item: tuple[str, int]) -> int:
    return _rank(item[0])


def _findings(findings: Sequence[Finding]) -> str:
    if not findings:
        return ""
    ordered = sorted(
        findings, key=lambda f: (VERDICT_ORDER[f.verdict], f.location.path, f.location.line)
    )
    lines = ["findings"]
    for finding in ordered[:_ROWS]:
        place = f"{finding.location.path}:{finding.location.line}"
        lines.append(
            terminal(f"  {place}  {finding.verdict} ({finding.confidence})  {finding.message}")
        )
        if finding.snippet:
            lines.append(terminal(f"      {finding.snippet}"))
        measured = next(
            filter(None, (was_measured(v.evidence) for v in finding.by_target.values())), None
        )
        if measured is not None:
            lines.append(terminal(f"      measured on {BACKEND}: {measured.says}"))
        replacement = next((v.replacement for v in finding.by_target.values() if v.replacement), "")
        if replacement:
            lines.append(terminal(f"      instead: {replacement}"))
    if len(ordered) > _ROWS:
        lines.append(f"  and {len(ordered) - _ROWS} more (--format json)")
    return "\n".join(lines)


def _costs(result: GraphResult) -> str:
    rows = [
        (
            fit.chip.title,
            terminal(fit.graph),
            fit.mode,
            size(fit.need),
            size(fit.chip.memory_per_core),
            _degree(fit.degree, fit.stated),
            f"{fit.bound:.3g} s",
            fit.bound_by,
        )
        for fit in result.fits
    ]
    if not rows:
        return ""
    table = tabulate(
        rows,
        headers=(
            "chip",
            "graph",
            "mode",
            "needs at least",
            "memory per core",
            "cores at least",
            "bound, one chip",
            "by",
        ),
    )
    notes = ["Bounds follow from the data sheet; they are no prediction."]
    for cost in result.costs:
        if cost.risks:
            words = ", ".join(f"{n} {d}" for d, n in cost.risks.items())
            notes.append(f"{terminal(cost.graph)}, {cost.mode}: tensors of risky dtypes: {words}")
        if cost.constants:
            notes.append(
                f"{terminal(cost.graph)}, {cost.mode}: {_count(cost.constants, 'constant')} baked in"
                f" ({size(cost.constant_bytes)})"
            )
    return "\n".join([table, *notes])


def _degree(degree: int | None, stated: bool) -> str:
    if degree is None:
        return "more than are allowed"
    return str(degree) if stated else f"{degree} (allowed ones not stated)"


def _shapes(result: GraphResult) -> str:
    graphs = result.graphs
    lines = []
    if graphs.captured > 1 or graphs.unbounded or graphs.growing or graphs.ranges:
        lines.append(f"graphs: {graphs.captured} different combinations of input shapes captured")
    if graphs.unbounded:
        lines.append(
            f"  {graphs.unbounded} sizes depend on values: each new value is a new graph, or none"
            " that compiles"
        )
    for name in graphs.growing:
        lines.append(
            f"  {terminal(name)}: the cache leaves larger than it came in: every step is a new"
            " graph; a cache of fixed length makes one"
        )
    for given in graphs.ranges:
        buckets = given.buckets()
        lines.append(
            f"  {given.name} {given.low}..{given.high}: {given.sizes} sizes;"
            f" {len(buckets)} buckets {buckets}, {given.padding:.0%} padding if all sizes are"
            " equally frequent"
        )
    if graphs.ranges:
        lines.append(
            f"  {graphs.without_buckets} graphs without buckets, {graphs.with_buckets} with"
        )
    return "\n".join(lines)


def _partitions(result: GraphResult) -> str:
    lines = []
    modes = [g.mode for g in result.record.graphs for _ in result.targets]
    for part, mode in zip(result.partitions, modes, strict=True):
        if not part.host_regions:
            continue
        lines.append(
            terminal(
                f"{part.graph}, {mode}, on {part.target}:"
                f" {_count(part.device_regions, 'region')} on the device,"
                f" {part.host_regions} on the host, {_count(part.crossings, 'tensor')} crossing,"
                f" {size(part.bytes)} in each run"
                f"{f', {part.unknown} of unknown size' if part.unknown else ''}"
            )
        )
        for best in part.replacements:
            instead = f": {best.title}" if best.title else ", no replacement known"
            fewer = f"{_count(best.crossings_removed, 'crossing')} fewer"
            moved = (
                f"{size(best.bytes_removed)} fewer"
                if best.bytes_removed >= 0
                else f"{size(-best.bytes_removed)} more"
            )
            lines.append(
                f"  without {best.operator} ({_count(best.nodes, 'node')}): {fewer},"
                f" {moved}{terminal(instead)}"
            )
    return "\n".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _lowering(result: GraphResult) -> str:
    """What torch_xla did; its seconds are never Neuron's."""
    lowering, agreement = result.lowering, result.agreement
    if lowering is None or agreement is None:
        return ""
    versions = " ".join(f"{k} {lowering.versions[k]}" for k in ("torch_xla", "torch"))
    lines = [f"run by {terminal(versions)} on {BACKEND}, call by call"]
    for graph in lowering.graphs:
        title = f"  {terminal(graph.graph)}, {graph.mode}"
        if graph.nodes:
            words = ", ".join(f"{n} {s}" for s in STATUSES if (n := graph.count(s)))
            lines.append(f"{title}: {words} (nodes; {graph.different} different calls)")
        if graph.why:
            lines.append(f"{title}: not measured to the end: {terminal(graph.why)}")
        for (operator, call), count in _not_lowered(graph):
            what = ", ".join(call.fallback) or call.error
            times = f", {count} nodes" if count > 1 else ""
            lines.append(terminal(f"    {operator}{times}: {call.status}: {what}"))
        if graph.whole is not None:
            lines += _whole(graph.whole)
    lines += _compared(agreement)
    return "\n".join(lines)


def _not_lowered(graph: GraphLowering) -> list[tuple[tuple[str, Call], int]]:
    counts = Counter(
        (graph.operators.get(name, name), call)
        for name, call in graph.nodes.items()
        if call.status != "lowered"
    )
    return sorted(counts.items(), key=lambda row: (-row[1], row[0][0]))[:_ROWS]


def _whole(whole: Whole) -> list[str]:
    lines = [
        f"    all together: {whole.executed} programs in each run, {whole.compiled} compiled by the"
        f" first and {whole.compiled_again} by the second; {whole.instructions} HLO instructions in"
        f" the last; {BACKEND} seconds: {whole.compile_seconds:.3g} compiling,"
        f" {whole.second_seconds:.3g} for the second run"
    ]
    for cut in whole.cuts[:_ROWS]:
        because = f" ({', '.join(cut.because)})" if cut.because else ""
        lines.append(terminal(f"      cut at {cut.node}, {cut.operator}{because}"))
    return lines


def _compared(agreement: Comparison) -> list[str]:
    if agreement.share is None:
        return []
    lines = [
        f"  the operator table agrees on {agreement.agree} of {agreement.compared} nodes"
        f" ({agreement.share:.1%}); not compared: {agreement.compilers} that it says the compiler"
        f" refuses, {agreement.not_run} that were not run"
    ]
    for (operator, says, found), count in by_operator(agreement.disagreements).items():
        lines.append(
            terminal(f"    {operator}, {count} nodes: the table says {says}, measured {found}")
        )
    return lines


def _failures(result: GraphResult) -> str:
    record = result.record
    lines: list[str] = []
    _listed("not captured, or only under assumptions", record.failures, lines)
    _listed("torch.compile would cut the graph", record.breaks, lines)
    if record.redirects:
        lines.append("CUDA placement turned into the default device")
        for redirect in record.redirects[:_ROWS]:
            lines.append(
                terminal(f"  {_place(redirect.user or redirect.library)}  {redirect.what}")
            )
    lines += [terminal(f"note: {note}") for note in record.notes]
    return "\n".join(lines)


def _listed(title: str, failures: Iterable[Failure], lines: list[str]) -> None:
    rows = list(dict.fromkeys(failures))
    if not rows:
        return
    lines.append(title)
    for row in rows[:_ROWS]:
        where = f"{row.graph} {row.module}".strip()
        lines.append(
            terminal(
                f"  {_place(row.user or row.library)}  {row.step}"
                f"{f' of {where}' if where else ''}: {row.error}: {row.reason}"
            )
        )
    if len(rows) > _ROWS:
        lines.append(f"  and {len(rows) - _ROWS} more (--format json)")


def _place(site: Site | None) -> str:
    return f"{source.path(site.file)}:{site.line}" if site else "-"


def size(count: int) -> str:
    """``24.5 MB``."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.3g} {unit}"
