"""The report as Markdown: what the page's first screen says, the plan, and each part in short."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from neuronport.reporting.escape import markdown, markdown_code
from neuronport.reporting.joined import wording
from neuronport.reporting.joined.compiles import COMPILERS, PHASES, another_ran
from neuronport.reporting.joined.figures import shown
from neuronport.reporting.joined.levels import reason
from neuronport.reporting.joined.model import Report

Json = Mapping[str, Any]

_CAUSES = 20
_ROWS = 20


def render(report: Report) -> Iterator[str]:
    data = report.data
    targets = ", ".join(_code(t) for t in data["subject"]["targets"])
    yield f"# {_text(data['subject']['name'])}{' on ' + targets if targets else ''}\n\n"
    yield f"**{headline(data)}**\n\n"
    yield from _verdict(data)
    yield from _unknown(data)
    yield from _plan(data)
    yield from _causes(data)
    yield from _models(data)
    yield from _changes(data)
    yield from _compile(data)
    if data["comparison"]:
        yield from _comparison(data["comparison"])
    yield from _method(data)


def headline(data: Json) -> str:
    audit = data["audit"]
    word = data["headline"]
    if word == "no-audit":
        return "Nothing is known of this project's source."
    if word == "nothing-looked-at":
        return "Nothing was looked at, so nothing is known."
    if word == "blocked":
        number = audit["sure_errors"]
        keeps = wording.s(number, "place keeps", "places keep")
        more = audit["possible_errors"]
        rest = f"; {_n(more)} more may" if more else ""
        return f"{_n(number)} {keeps} it from running correctly on Neuron{rest}."
    if word == "possible":
        number = audit["possible_errors"]
        places = wording.s(number, "place")
        return f"No sure obstacle was found; {_n(number)} {places} may be one."
    return "No obstacle was found in what was looked at."


def effort(row: Json) -> str:
    parts = []
    if row["high_minutes"]:
        low, high = (shown(row[f"{k}_minutes"], "duration") for k in ("low", "high"))
        parts.append(low if low == high else f"{low} to {high}")
    if row["redesigns"]:
        parts.append(f"{_n(row['redesigns'])} {wording.s(row['redesigns'], 'redesign')}")
    return " plus ".join(parts) or "none"


def _verdict(data: Json) -> Iterator[str]:
    audit = data["audit"]
    if audit:
        for target, found in audit["by_target"].items():
            said = ", ".join(f"{_n(n)} {wording.phrase(v, n)}" for v, n in found.items())
            yield f"- {_code(target)}: {said or 'nothing found in what was looked at'}.\n"
        tree = audit["tree"]
        yield (
            f"- {_n(tree['looked_at'])} {wording.s(tree['looked_at'], 'file')}, {_n(tree['lines'])} "
            "lines, read and not run."
        )
        if not any(c["by_neuron"] for c in data["compile"]):
            yield " Nothing was compiled or run on Neuron for this report."
        yield "\n"
    for row in data["levels"]:
        required = ", required by the contract" if row["required"] else ""
        why = f" {_text(reason(row))}" if reason(row) else ""
        yield f"- Portability of {row['level']}{required}: **{row['verdict']}**.{why}\n"
    if not any(row["recorded"] for row in data["levels"]):
        yield "- No record of `portability` is here: no level is concluded from anything else.\n"
    elif data["levels"][0]["required"] is None:
        yield "- No contract says which level is required.\n"
    elif not any(row["required"] for row in data["levels"]):
        yield "- The contract requires none of the levels.\n"
    if data["effort"]:
        total = effort(data["effort"]["total"])
        yield f"- Effort, by convention and not measured: **{total}**"
        rest = data["effort"]["without_what_the_tool_writes"]
        yield f"; {effort(rest)} when the tool's safe changes are taken.\n" if rest else ".\n"
        for level, row in data["effort"]["by_level"].items():
            yield f"  - {wording.LEVEL_WORK[level]}: {effort(row)}\n"
    else:
        yield "- Effort: not known, it follows from the findings of an audit.\n"
    if data["blockers"]:
        yield "\n## Top blockers\n\n"
        for number, index in enumerate(data["blockers"], 1):
            group = data["groups"][index]
            first = _code(f"{group['first']['path']}:{group['first']['line']}")
            yield (
                f"{number}. {_text(group['title'])}: {group['verdict']}, "
                f"{_n(group['worst_places'])} of {_n(group['places'])} "
                f"{wording.s(group['places'], 'place')}, first {first}, {effort(group['effort'])}\n"
            )


def _unknown(data: Json) -> Iterator[str]:
    yield "\n## What is not known\n\n"
    for row in data["unknown"]:
        number = f" ({_n(row['number'])})" if row["number"] is not None else ""
        how = f" {_text(row['how'])}" if row["how"] else ""
        yield f"- {_text(row['what'])}{number}. {_text(row['why'])}{how}\n"
    if not data["unknown"]:
        yield "No gap was noticed in the records.\n"


def _plan(data: Json) -> Iterator[str]:
    yield "\n## Plan\n\n"
    if data["audit"] is None:
        yield _missing("audit")
        return
    if not data["waves"]:
        yield "Nothing to do was found in what was looked at.\n"
    for number, wave in enumerate(data["waves"], 1):
        yield (
            f"{number}. {wave['title']}: {_n(wave['places'])} {wording.s(wave['places'], 'place')} "
            f"of {_n(wave['causes'])} {wording.s(wave['causes'], 'cause')}, by hand "
            f"{effort(wave['effort'])}. {wave['why']}\n"
        )


def _causes(data: Json) -> Iterator[str]:
    if not data["groups"]:
        return
    yield "\n## Causes\n\n"
    rows = [
        (
            f"{_text(g['title'])} {_code(g['rule'], True)}",
            g["verdict"],
            g["confidence"],
            _n(g["places"]),
            _code(f"{g['first']['path']}:{g['first']['line']}", True),
            effort(g["effort"]),
            _n(g["written_by_tool"]),
        )
        for g in data["groups"][:_CAUSES]
    ]
    yield _table(("cause", "verdict", "sure", "places", "first", "effort", "tool writes"), rows)
    if len(data["groups"]) > _CAUSES:
        yield f"\nand {_n(len(data['groups']) - _CAUSES)} more.\n"


def _models(data: Json) -> Iterator[str]:
    yield "\n## Models\n\n"
    if not data["graphs"]:
        yield _missing("graph")
    for part in data["graphs"]:
        yield f"- {_code(part['model']['name'])}: {_n(part['model']['parameters'])} parameters.\n"
        for target, nodes in part["nodes"].items():
            said = ", ".join(f"{_n(n)} {word}" for word, n in nodes.items())
            runs = dict.fromkeys(f"{g['mode']} {g['stages'][target]}" for g in part["graphs"])
            at = f" of {wording.both(list(runs))}" if runs else ""
            yield f"  - {_code(target)}, nodes{at}: {said}\n"
        for row in part["partitions"]:
            yield (
                f"  - {_text(row['graph'])}{wording.run_as(row['mode'], row['stage'])}, on {_code(row['target'])}: {_n(row['crossings'])} "
                f"crossings between device and host, {shown(row['bytes_per_run'], 'bytes')} in one "
                "run\n"
            )
    if data["graphs"]:
        yield f"\n{wording.NOT_TRACED}\n"


def _changes(data: Json) -> Iterator[str]:
    yield "\n## Proposed changes and churn\n\n"
    port = data["port"]
    if port is None:
        yield _missing("port")
    else:
        yield (
            f"- {_n(port['changes'])} changes in {_n(port['touched'])} files, written to "
            f"{_n(port['written'])}; {_n(port['held_back'])} more only with `--review`; "
            f"{_n(port['left'])} {wording.s(port['left'], 'finding')} left to people"
        )
        kept = port["kept_for_cuda"]
        yield f"; {_n(kept)} kept for CUDA, nothing to do on Neuron.\n" if kept else ".\n"
        yield from _churn(port["churn"])
    if data["churn"]:
        yield from _churn(data["churn"])


def _churn(churn: Json) -> Iterator[str]:
    lines, base = churn["lines"], churn["code_base"]
    yield (
        f"- {_code(churn['before'])} to {_code(churn['after'])}: {_n(lines['added'])} lines added, "
        f"{_n(lines['removed'])} removed, {_n(lines['changed'])} changed, {_n(lines['moved'])} moved "
        f"({shown(base['share_of_lines'], 'share')}); {_n(churn['converted'])} findings converted, "
        f"{_n(churn['left'])} left, {_n(churn['new'])} new"
    )
    said = [f"{_n(n)} {wording.STANDINGS[k]}" for k, n in churn["left_as"].items() if n]
    yield f" (of those {', '.join(said)}).\n" if said else ".\n"


def _compile(data: Json) -> Iterator[str]:
    yield "\n## Compile\n\n"
    if not data["compile"]:
        yield _missing("compile")
    for part in data["compile"]:
        yield f"- {_code(part['model'])}\n"
        if not part["by_neuron"]:
            yield (
                "  - Nothing was compiled for Neuron."
                + (
                    " Seconds are those of the compiler named with them."
                    if another_ran(part)
                    else ""
                )
                + "\n"
            )
        for row in part["attempts"]:
            name = COMPILERS.get(row["compiler"], row["compiler"])
            said = ", ".join(
                f"{phase.replace('_', ' ')} {shown(row['seconds'][phase], 'seconds')}"
                for phase in PHASES
                if row["seconds"][phase] is not None
            )
            yield (
                f"  - {name}: {_text(row['graph'])}, {_text(row['status'])}"
                f"{'; ' + said if said else ''}\n"
            )


def _comparison(part: Json) -> Iterator[str]:
    yield f"\n## Comparison with {_code(part['earlier']['folder'])}\n\n"
    for why in part["not_comparable"]:
        yield f"- {_text(why)}\n"
    found = part["findings"]
    if found:
        yield (
            f"- Findings: {_n(found['total_before'])} before, {_n(found['total_after'])} now; "
            f"{_n(found['gone'])} gone, {_n(found['new'])} new.\n"
        )
        for level in ("error", "warning", "note"):
            yield (
                f"  - {level}: {_n(found['before'][level])} before, {_n(found['after'][level])} now\n"
            )
        for row in found["new_rows"][:_ROWS]:
            place = _code(f"{row['path']}:{row['line']}")
            yield f"  - new: {row['verdict']} {place} {_text(row['message'])}\n"
    if part["effort"]:
        before, after = effort(part["effort"]["before"]), effort(part["effort"]["after"])
        yield f"- Effort: {before} before, {after} now.\n"
    for row in part["levels"]:
        yield f"- Portability of {row['level']}: {row['before']} before, {row['after']} now.\n"


def _method(data: Json) -> Iterator[str]:
    yield "\n## Method\n\n"
    for row in data["levels"]:
        for ground in row["because"]:
            yield f"- {row['level']}: {_text(ground['says'])} ({_text(ground['rests_on'])})\n"
        for ground in row["not_known"]:
            yield (
                f"- {row['level']}, not known: {_text(ground['says'])} "
                f"({_text(ground['rests_on'])})\n"
            )
    for row in data["records"]["rows"]:
        yield (
            f"- {row['record']} {_code(row['file'])}: {wording.STATES[row['state']]}; made "
            f"{_text(row['made'] or 'at a time not noted')}\n"
        )
        for change in row["changes"][:_ROWS]:
            yield f"  - {_text(change)}\n"
    for row in data["records"]["missing"]:
        yield f"- missing: {row['record']}, {row['what']}\n"
    for row in data["records"]["problems"]:
        yield f"- {_code(row['file'])}: {_text(row['reason'])}; {_text(row['remedy'])}\n"
    if data["audit"]:
        for row in data["audit"]["evidence"]:
            yield (
                f"- {_n(row['number'])} {wording.s(row['number'], 'finding')} {row['kind']}: "
                f"{wording.EVIDENCE[row['kind']]}\n"
            )
        yield f"- {_text(data['effort']['method'])}\n"


def _missing(record: str) -> str:
    return f"Not measured: there is no usable record of `{record}`, so nothing is concluded.\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _n(number: int) -> str:
    return shown(number, "count")


def _text(text: object) -> str:
    return markdown(str(text))


def _code(text: object, cell: bool = False) -> str:
    return markdown_code(str(text), cell)
