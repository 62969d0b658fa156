"""What a text of HLO says of a lowering: its opcodes with their dtypes and what limits look at.

A *token* is ``dot:s64``, ``reduce/add:f32``, ``reduce-window/max:f32+s32`` (two results),
``convolution/lhs-dilated/rhs-dilated:f32``, ``custom-call/TopK:f32+s32``. Runs beside torch_xla and
in neuronport's environment alike: nothing but the standard library.
"""

from __future__ import annotations

import re
from collections import Counter

_LINE = re.compile(
    r"^\s*(?P<root>ROOT )?%?(?P<name>[\w.\-]+) = (?P<type>\([^=]*?\)|\S+) (?P<opcode>[a-z][a-z0-9\-]*)\("
)
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?(?P<name>[\w.\-]+) \(.*\{\s*$")
_DTYPE = re.compile(r"\b(pred|[suf]\d+|bf16|c64|c128|f8\w+)\[")
_APPLIES = re.compile(r"to_apply=%?([\w.\-]+)")
_SCATTERS = re.compile(r"scatter=%?([\w.\-]+)")
_TARGET = re.compile(r'custom_call_target="([^"]+)"')

FRAME = frozenset({"parameter", "constant", "tuple", "get-tuple-element"})
"""Says nothing of its own, unless of a dtype that the compiler may not have."""
RARE = frozenset({"f64", "c64", "c128"})
_COMBINING = frozenset({"reduce", "reduce-window", "scatter", "select-and-scatter", "all-reduce"})


def tokens(text: str) -> list[str]:
    """The tokens of a module, sorted, each once."""
    return sorted(counted(text))


def counted(text: str) -> dict[str, int]:
    """The tokens of a module, and how many instructions each stands for."""
    roots: dict[str, str] = {}
    lines: list[tuple[str, re.Match[str], str]] = []
    current = ""
    for line in text.splitlines():
        opened = _COMPUTATION.match(line)
        if opened and " = " not in line.partition("(")[0]:
            current = opened["name"]
            continue
        found = _LINE.match(line)
        if not found:
            continue
        lines.append((current, found, line))
        if found["root"]:
            roots[current] = found["opcode"]
    helpers = {m for _, _, line in lines for m in _APPLIES.findall(line) + _SCATTERS.findall(line)}
    result: Counter[str] = Counter()
    for computation, found, line in lines:
        if computation in helpers:  # told by what applies it
            continue
        dtypes = list(dict.fromkeys(_DTYPE.findall(found["type"])))
        opcode = found["opcode"]
        if opcode in FRAME and not RARE & set(dtypes):
            continue
        arity = len(_DTYPE.findall(found["type"]))
        token = "/".join((opcode, *_marks(opcode, line, roots, arity))) + ":" + "+".join(dtypes)
        result[token] += 1
        if "<=" in found["type"]:
            result["dynamic-dimension:"] += 1
    return dict(result)


def _marks(opcode: str, line: str, roots: dict[str, str], arity: int) -> list[str]:
    marks = []
    if opcode == "custom-call":
        marks += _TARGET.findall(line)
    if opcode in _COMBINING:
        applied = _APPLIES.findall(line) + _SCATTERS.findall(line)
        marks += ["assign" if roots.get(n) == "parameter" else roots.get(n, "?") for n in applied]
    if opcode in ("reduce", "reduce-window") and arity > 1:
        marks.append("variadic")
    for mark in ("lhs_dilate", "rhs_dilate"):
        if mark in line:
            marks.append(mark.replace("dilate", "dilated").replace("_", "-"))
    return marks


def parts(token: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Opcode, marks, dtypes of a token."""
    head, _, dtypes = token.partition(":")
    opcode, *marks = head.split("/")
    return opcode, tuple(marks), tuple(x for x in dtypes.split("+") if x)
