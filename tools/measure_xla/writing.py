"""What is kept of a run: three tables, small enough to read and to cite. Columns: README.md."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from neuronport.xla_environment.hlo import parts
from tools.measure_xla.compiler import Fact
from tools.measure_xla.learn import Learned
from tools.measure_xla.outcomes import Outcome, Record
from tools.measure_xla.plan import DTYPES, written

ORDINARY = "ordinary"
HLO_OF = {
    "float32": "f32",
    "bfloat16": "bf16",
    "float16": "f16",
    "int64": "s64",
    "int32": "s32",
    "bool": "pred",
}
CALL_COLUMNS = ("operator", "direction", "status", "dtypes", "arguments", "fallback", "hlo", "note")
CONDITION_COLUMNS = (
    "operator", "direction", "status", "when", "explained", "good", "unexplained", "dtypes",
    "fallback",
)  # fmt: skip
COMPILER_COLUMNS = (
    "operator", "direction", "limit", "xla", "native", "dtypes", "arguments", "hlo", "evidence",
)  # fmt: skip


def header(record: Record, what: str, done: str) -> list[str]:
    versions = record.header.get("versions", {})
    measured = [o for o in record.outcomes if o.source == ORDINARY]
    counts = Counter(o.status for o in measured)
    return [
        f"# {what}",
        f"# measured {record.header.get('date', '?')} with torch {versions.get('torch', '?')}, "
        f"torch_xla {versions.get('torch_xla', '?')}, XLA on the CPU; written by tools/measure_xla",
        f"# run: {done}",
        "# outcomes: " + ", ".join(f"{n} {status}" for status, n in sorted(counts.items())),
    ]


def token_for(token: str, dtype: str) -> str:
    """``dot:s64`` of an int64 call is ``dot``: the dtype of the case is not repeated."""
    opcode, marks, dtypes = parts(token)
    own = HLO_OF.get(dtype, "")
    head = "/".join((opcode, *marks))
    if dtypes == (own,):
        return head
    return head + ":" + "+".join("T" if d == own else d for d in dtypes)


def told(outcome: Outcome) -> str:
    """The ordinary arguments as written: ``self=T[4] mat1=T[2,3]``."""

    def one(value: Any) -> str:
        if isinstance(value, list) and value[:1] == ["T"] and len(value) >= 3:
            kind = "T" if value[1] == outcome.dtype else value[1]
            return f"{kind}[{','.join(map(str, value[2]))}]" + (".t" if "strided" in value else "")
        if isinstance(value, list):
            return "[" + ",".join(one(v) for v in value) + "]"
        return "none" if value is None else written(value)

    return "ordinary(" + " ".join(f"{k}={one(v)}" for k, v in outcome.arguments.items()) + ")"


def plain(text: str) -> str:
    """A message without the sizes and numbers that differ from call to call."""
    return re.sub(r"\s+", " ", text).strip()


def _order(dtypes: Iterable[str]) -> str:
    known = set(dtypes)
    return " ".join(d for d in DTYPES if d in known)


def calls(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """One row for calls of an operator that came out alike, whatever the dtype and the variation."""
    alike: dict[tuple[str, ...], dict[str, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    for o in outcomes:
        if o.source != ORDINARY or o.status == "refused":
            continue
        tokens = " ".join(sorted({token_for(t, o.dtype) for t in o.hlo}))
        note = plain("; ".join(x for x in (o.error.partition(", xla_shape")[0], o.note) if x))
        key = (o.operator, o.direction, o.status, " ".join(o.fallback), tokens, note)
        alike[key][o.varied].append(o)
    rows = []
    for (operator, direction, status, fallback, tokens, note), varied in alike.items():
        by_dtypes: dict[str, list[str]] = defaultdict(list)
        for name, found in varied.items():
            text = name or (told(found[0]) if direction == "forward" else ORDINARY)
            by_dtypes[_order(o.dtype for o in found)].append(text)
        for dtypes, texts in by_dtypes.items():
            texts.sort(key=lambda t: (not t.startswith(ORDINARY), t))
            rows.append(
                [operator, direction, status, dtypes, "; ".join(texts), fallback, tokens, note]
            )
    order = {"forward": 0, "backward": 1}
    rows.sort(key=lambda r: (r[0], order[r[1]], not r[4].startswith(ORDINARY), r[2:]))
    return rows


def reached(
    calls_on_the_way: Sequence[Outcome], named: Collection[tuple[str, str]]
) -> list[list[str]]:
    """What operators did when others called them, where their own calls (operator and status in
    ``named``) do not show it: how many calls, and one of them."""
    groups: dict[tuple[str, str, str], list[Outcome]] = defaultdict(list)
    for call in calls_on_the_way:
        if (call.operator, call.status) not in named:
            groups[call.operator, call.status, " ".join(call.fallback)].append(call)
    rows = []
    for (operator, status, fallback), found in sorted(groups.items()):
        example = told(found[0]).replace(ORDINARY, found[0].source.replace(" ", "-"), 1)
        rows.append(
            [
                operator, "forward", status, _order(o.dtype for o in found),
                f"{len(found)} calls, as {example}", fallback, "", plain(found[0].error),
            ]
        )  # fmt: skip
    return rows


def conditions(learned: Sequence[Learned]) -> list[list[str]]:
    return [
        [
            one.operator, one.direction, one.status, one.when or "always", str(one.explained),
            str(one.good), str(one.unexplained), _order(one.dtypes), " ".join(one.fallback),
        ]
        for one in learned
    ]  # fmt: skip


def compiler(facts: Iterable[Fact]) -> list[list[str]]:
    groups: dict[tuple[str, ...], list[Fact]] = defaultdict(list)
    for fact in facts:
        groups[fact.operator, fact.direction, fact.limit.id].append(fact)
    rows = []
    for (operator, direction, name), found in sorted(groups.items()):
        limit = found[0].limit
        varied = sorted({f.varied or ORDINARY for f in found}, key=lambda t: (t != ORDINARY, t))
        chips = f" on {' '.join(limit.chips)}" if limit.chips else ""
        rows.append(
            [
                operator, direction, name, limit.xla + chips, limit.native + chips,
                _order(f.dtype for f in found), "; ".join(varied),
                " ".join(sorted({f.token for f in found})), " ".join(limit.evidence),
            ]
        )  # fmt: skip
    return rows


def text(head: Sequence[str], columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [*head, "\t".join(columns)]
    lines += ["\t".join(cell.replace("\t", " ") for cell in row).rstrip("\t") for row in rows]
    return "\n".join(lines) + "\n"


def read(file: Path) -> list[dict[str, str]]:
    """The rows of one of the tables."""
    body = [x for x in file.read_text(encoding="utf-8").splitlines() if not x.startswith("#")]
    columns = body[0].split("\t")
    return [
        dict(zip(columns, [*line.split("\t"), *[""] * len(columns)], strict=False))
        for line in body[1:]
    ]


def write(folder: Path, tables: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in tables.items():
        (folder / name).write_text(content, encoding="utf-8")
