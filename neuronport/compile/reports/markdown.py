"""For a page or a comment."""

from __future__ import annotations

from neuronport.compile.reports import _words
from neuronport.compile.result import NEURON, Attempt, Result, Tool, by_driver
from neuronport.reporting.escape import markdown, markdown_code

_CUTS = 8


def render(result: Result) -> str:
    sections = [f"# Compiling {markdown_code(result.model)} for {markdown(result.target)}"]
    if not result.neuron:
        sections.append(_missing(result))
    for driver, attempts in by_driver(result.attempts).items():
        (tool,) = [t for t in result.tools if t.driver == driver]
        sections.append(_table(tool, attempts, result))
    sections += [_failures(result), _tools(result), _notes(result)]
    return "\n\n".join(s for s in sections if s) + "\n"


def _missing(result: Result) -> str:
    lines = [f"**{markdown(_words.no_compiler(result))}**", ""]
    for tool in _words.missing(result):
        lines.append(f"* {markdown_code(tool.title)}: {markdown(tool.because)}")
        lines += [f"  * {_advice(line)}" for line in tool.get]
    return "\n".join(lines)


def _advice(line: str) -> str:
    """A command stays as it has to be typed."""
    return markdown_code(line) if line.startswith("pip ") else markdown(line)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(tool: Tool, attempts: list[Attempt], result: Result) -> str:
    said = (
        f"for {result.chip or 'the device here'}"
        if tool.compiler == NEURON
        else "its seconds say nothing of Neuron's"
    )
    columns = [
        "graph", "inputs", "status", *_words.heads(tool.compiler), "peak memory", "cache",
        "programs", "artifacts",
    ]  # fmt: skip
    lines = [f"## {markdown(tool.title)}: {markdown(said)}", "", _row(columns)]
    lines.append(_row(["---"] * len(columns)))
    for a in attempts:
        cells = [
            markdown_code(_words.graph(a), cell=True),
            markdown_code(_words.shapes(a), cell=True),
            a.status,
            *_words.seconds(a),
            _words.peak(a),
            a.cache.value,
            "-" if a.programs is None else str(a.programs),
            markdown(_words.artifacts(a)),
        ]
        lines.append(_row(cells))
    details = [line for a in attempts for line in _details(a)]
    return "\n".join([*lines, "", *details]) if details else "\n".join(lines)


def _details(attempt: Attempt) -> list[str]:
    name = markdown_code(_words.graph(attempt))
    lines: list[str] = []
    if attempt.because:
        lines.append(f"* {name} {attempt.status}: {markdown(attempt.because)}")
    for problem in attempt.problems:
        lines.append(f"* {name} {markdown_code(problem.code)}")
        lines += [f"  * {key}: {markdown(text)}" for key, text in _words.problem(problem)]
    for place in attempt.cuts[:_CUTS]:
        where = f" at {markdown_code(f'{place.file}:{place.line}')}" if place.file else ""
        lines.append(
            f"* {name} is cut at {markdown_code(place.operator)}{where}:"
            f" {markdown(', '.join(place.because))} on the host"
        )
    if len(attempt.cuts) > _CUTS:
        lines.append(f"* {name}: {len(attempt.cuts) - _CUTS} more cuts")
    if attempt.flags:
        lines.append(f"* {name}: flags {markdown_code(' '.join(attempt.flags))}")
    for artifact in attempt.artifacts:
        if artifact.neff is not None:
            n = artifact.neff
            lines.append(
                f"* {name}: NEFF {n.version}, {n.data_bytes} bytes behind its header, {n.cores}"
                f" cores, LNC {n.lnc}"
            )
        if artifact.note:
            lines.append(f"* {name}: {artifact.kind}: {markdown(artifact.note)}")
    lines += [f"* {name}: {markdown(note)}" for note in attempt.notes]
    return lines


def _failures(result: Result) -> str:
    return "\n".join(
        f"* nothing was compiled with {markdown(failure)}" for failure in result.failures
    )


def _tools(result: Result) -> str:
    lines = ["## Compilers here", "", _row(["compiler", "kind", "here", "what", "versions"])]
    lines.append(_row(["---"] * 5))
    for tool in result.tools:
        versions = ", ".join(f"{k} {v}" for k, v in tool.versions.items())
        lines.append(
            _row(
                [
                    markdown_code(tool.title, cell=True),
                    "Neuron's" if tool.compiler == NEURON else "not Neuron's",
                    "used" if tool.used else "yes" if tool.usable else "no",
                    markdown(tool.because),
                    markdown(versions),
                ]
            )
        )
    return "\n".join(lines)


def _notes(result: Result) -> str:
    lines = [*result.notes]
    lines.append(
        f"Limits: {result.seconds_limit} s and {result.megabytes_limit} MB for each process"
    )
    return "\n".join(f"* {markdown(line)}" for line in lines)
