"""For people: what can compile here, a table for each compiler, and what went wrong."""

from __future__ import annotations

from tabulate import tabulate

from neuronport.compile.reports import _words
from neuronport.compile.result import NEURON, Attempt, Result, Tool, by_driver
from neuronport.reporting.escape import terminal

_CUTS = 8


def render(result: Result) -> str:
    first = [_missing(result)] if not result.neuron else []
    sections = [*first, _tools(result)]
    for driver, attempts in by_driver(result.attempts).items():
        (tool,) = [t for t in result.tools if t.driver == driver]
        sections.append(_table(tool, attempts, result))
    sections += [_failures(result), _notes(result)]
    return "\n\n".join(s for s in sections if s) + "\n"


def _missing(result: Result) -> str:
    lines = [_words.no_compiler(result)]
    for tool in _words.missing(result):
        lines.append(terminal(f"  {tool.title}: {tool.because}"))
        lines += [terminal(f"    {line}") for line in tool.get]
    return "\n".join(lines)


def _tools(result: Result) -> str:
    lines = ["compilers here"]
    for tool in result.tools:
        if not tool.usable and not result.neuron and tool.compiler == NEURON:
            continue  # said first
        word = "used" if tool.used else "can be used" if tool.usable else "not here"
        versions = " ".join(f"{k} {v}" for k, v in tool.versions.items())
        lines.append(
            terminal(f"  {tool.title}: {word} ({tool.because}{'; ' if versions else ''}{versions})")
        )
    return "\n".join(lines) if len(lines) > 1 else ""


def _table(tool: Tool, attempts: list[Attempt], result: Result) -> str:
    title = (
        f"{tool.title}, for {result.chip or 'the device here'}"
        if tool.compiler == NEURON
        else f"{tool.title}: its seconds say nothing of Neuron's"
    )
    rows = [
        [
            terminal(_words.graph(a)),
            terminal(_words.shapes(a)),
            a.status,
            *_words.seconds(a),
            _words.peak(a),
            a.cache.value,
            "-" if a.programs is None else str(a.programs),
            _words.artifacts(a),
        ]
        for a in attempts
    ]
    columns = [
        "graph", "inputs", "status", *_words.heads(tool.compiler), "peak memory", "cache",
        "programs", "artifacts",
    ]  # fmt: skip
    lines = [terminal(title), tabulate(rows, columns, tablefmt="simple", disable_numparse=True)]
    lines += [line for a in attempts for line in _details(a)]
    return "\n".join(lines)


def _details(attempt: Attempt) -> list[str]:
    lines: list[str] = []
    if attempt.because:
        where = f" in {attempt.ended_in.replace('_', ' ')}" if attempt.ended_in else ""
        lines.append(
            terminal(f"  {_words.graph(attempt)}: {attempt.status}{where}: {attempt.because}")
        )
    for problem in attempt.problems:
        lines.append(terminal(f"    {problem.code}"))
        lines += [terminal(f"      {key}: {text}") for key, text in _words.problem(problem)]
    for place in attempt.cuts[:_CUTS]:
        where = f" ({place.file}:{place.line})" if place.file else ""
        lines.append(
            terminal(f"    cut at {place.operator}{where}: {', '.join(place.because)} on the host")
        )
    if len(attempt.cuts) > _CUTS:
        lines.append(f"    and {len(attempt.cuts) - _CUTS} more cuts")
    if not attempt.problems:
        lines += [terminal(f"    | {line}") for line in attempt.tail]
    if attempt.again:
        lines.append(
            f"    a second run with the same inputs compiles {attempt.again} more programs"
        )
    for artifact in attempt.artifacts:
        if artifact.neff is not None:
            n = artifact.neff
            lines.append(
                terminal(
                    f"  {_words.graph(attempt)}: NEFF {n.version}, {n.data_bytes} bytes behind its"
                    f" header, {n.cores} cores, LNC {n.lnc}, name {n.name!r}, built by {n.build!r}"
                )
            )
        if artifact.note:
            lines.append(terminal(f"  {_words.graph(attempt)}: {artifact.kind}: {artifact.note}"))
        if artifact.file:
            lines.append(terminal(f"  {_words.graph(attempt)}: kept {artifact.file}"))
    if attempt.flags:
        lines.append(terminal(f"  {_words.graph(attempt)}: flags {' '.join(attempt.flags)}"))
    lines += [terminal(f"  {_words.graph(attempt)}: {note}") for note in attempt.notes]
    return lines


def _failures(result: Result) -> str:
    lines: list[str] = []
    for failure in result.failures:
        first, *rest = failure.splitlines()
        lines.append(terminal(f"nothing was compiled with {first}"))
        lines += [terminal(line) for line in rest]
    return "\n".join(lines)


def _notes(result: Result) -> str:
    lines = list(result.notes)
    lines.append(
        f"limits: {result.seconds_limit} s and {result.megabytes_limit} MB for each process"
    )
    return "\n".join(terminal(line) for line in lines)
