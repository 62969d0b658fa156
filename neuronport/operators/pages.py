"""The pages of ``docs/operators/``: what the table says, for people to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from neuronport.findings import Confidence
from neuronport.operators import index as indices
from neuronport.operators.survey import NO_GRADIENT, bodies, coverage, word
from neuronport.operators.workarounds import Workaround, workarounds
from neuronport.targets import Target, paths, resolve

_SHORT = {
    "device": "device",
    "decomposes": "decomposes",
    "slow": "slow",
    "unknown": "?",
    "cpu-fallback": "**CPU**",
    "unsupported": "**breaks**",
    NO_GRADIENT: "",
}
_HEAD = "<!-- Written by `neuronport operators pages`; do not edit. -->\n"


def pages() -> Mapping[str, str]:
    """File name → text."""
    targets = [resolve(path) for path in paths()]
    groups: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for operator, body in bodies(indices.shared()):
        if {"out", "inplace"} & set(body.get("tags", ())):
            continue
        groups.setdefault(_page(operator, body), []).append((operator, body))
    found = {f"{name}.md": _page_text(name, rows, targets) for name, rows in groups.items()}
    found["README.md"] = _index(sorted(groups), targets)
    found["workarounds.md"] = _workarounds()
    return found


_FAMILIES = ("linalg", "fft", "special", "_foreach")


def _page(operator: str, body: Mapping[str, Any]) -> str:
    namespace, _, name = operator.partition("::")
    if namespace != "aten":
        return namespace if namespace in ("hlo", "torchvision") else "other-packages"
    if "core" in body.get("tags", ()):
        return "aten-core"
    for family in _FAMILIES:
        if name.startswith(f"{family}_"):
            return f"aten-{family.strip('_')}"
    return "aten"


_TITLES = {
    "aten-core": "Core aten",
    "aten-linalg": "aten: linear algebra",
    "aten-fft": "aten: Fourier transforms",
    "aten-special": "aten: special functions",
    "aten-foreach": "aten: operators over lists of tensors",
    "aten": "aten: the rest",
    "hlo": "HLO opcodes",
    "torchvision": "torchvision",
    "other-packages": "Operators of other packages",
}


def _page_text(name: str, rows: list[tuple[str, dict[str, Any]]], targets: list[Target]) -> str:
    lines = [_HEAD, f"# {_TITLES[name]}", ""]
    lines += [
        "Forward / backward, eager and compiled. `decomposes`: into operators that are on the "
        "device. `?`: nobody says; after a word: only possible, by inference. A `*` marks a status that depends on arguments: "
        "`neuronport operators show NAME` says on which, and who says so. Overloads that write "
        "(`out=`, in place) are left out here.",
        "",
        "| operator | "
        + " | ".join(f"{t} {s}" for t in targets for s in ("eager", "compiled"))
        + " |",
        "|---|" + "---|" * (2 * len(targets)),
    ]
    for operator, body in rows:
        cells = [
            _cell(body, target, stage) for target in targets for stage in ("eager", "compiled")
        ]
        shown = operator.removeprefix("aten::") if name.startswith("aten") else operator
        lines.append(f"| `{shown}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(body: Mapping[str, Any], target: Target, stage: str) -> str:
    parts = []
    for direction in ("forward", "backward"):
        key = f"{stage}.{direction}"
        shown = _SHORT[word(body, target, key)]
        claims = body["variants"][body["targets"][f"{target.path}@{target.sdk}"]][key]
        if claims and claims[0]["c"] == Confidence.POSSIBLE and shown not in ("", "?"):
            shown = f"{shown.strip('*')}?"
        parts.append(shown + ("*" if shown and len(claims) > 1 else ""))
    return " / ".join(part for part in parts if part)


def _index(names: list[str], targets: list[Target]) -> str:
    lines = [_HEAD, "# Operators", ""]
    lines += ["| page | |", "|---|---|"]
    lines += [f"| [{_TITLES[name]}]({name}.md) | |" for name in names]
    lines += ["| [What to write instead](workarounds.md) | |", ""]
    lines += [
        "How many are known, forward:",
        "",
        "| set | target | stage | operators | device | decomposes | slow | CPU | breaks | unknown |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for share in coverage(targets):
        if share.direction == "forward":
            counts = [
                str(share.counts.get(word, 0))
                for word in ("device", "decomposes", "slow", "cpu-fallback", "unsupported")
            ]
            lines.append(
                f"| {share.set} | {share.target} | {share.stage} | {share.total} | "
                + " | ".join(counts)
                + f" | {share.counts.get('unknown', 0)} ({share.unknown_share:.1%}) |"
            )
    lines += ["", "How the table is made: [operator-tables.md](../operator-tables.md)."]
    return "\n".join(lines) + "\n"


def _workarounds() -> str:
    lines = [_HEAD, "# What to write instead", ""]
    lines.append(
        "Each was run: old and new code give the same values, dtypes, shapes and gradients "
        "within the tolerance given."
    )
    for workaround in sorted(workarounds().values(), key=lambda w: w.id):
        lines += ["", *_one(workaround)]
    return "\n".join(lines) + "\n"


def _one(workaround: Workaround) -> Iterator[str]:
    yield f"## {workaround.title}"
    yield ""
    names = ", ".join(f"`{o.removeprefix('aten::')}`" for o in workaround.operators)
    tolerance = f"within {workaround.rtol:g} relative, {workaround.atol:g} absolute"
    yield f"{names}; {' and '.join(workaround.paths)}; {tolerance}. {workaround.context}"
    yield ""
    yield "```python"
    yield from (f"{line}" for line in workaround.old.splitlines())
    yield "# becomes"
    yield from (f"{line}" for line in workaround.new.splitlines())
    yield "```"
