"""From a survey to the tables under ``rules/operators/torch/``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from neuronport.operators.conditions import Condition
from neuronport.operators.tables import (
    CALL_COLUMNS,
    SCHEMA_COLUMNS,
    SIGNATURE_COLUMNS,
    SPELLING_COLUMNS,
    read_rows,
    read_sources,
    rows_of,
    written,
)

from .samples import overloads, runs_composite
from .spellings import signatures

_KINDS = {
    "CompositeImplicitAutograd": "implicit",
    "CompositeExplicitAutograd": "explicit",
    "CompositeExplicitAutogradNonFunctional": "structured",
    None: "kernel",
}
_TYPES = {
    "Tensor": "T", "Optional[Tensor]": "T?", "List[Tensor]": "T[]", "List[Optional[Tensor]]": "T?[]",
    "number": "Scalar", "Optional[number]": "Scalar?", "List[number]": "Scalar[]",
    "Optional[int]": "int?", "Optional[float]": "float?", "Optional[bool]": "bool?",
    "Optional[str]": "str?", "List[int]": "int[]", "List[float]": "float[]", "List[bool]": "bool[]",
    "Optional[List[int]]": "int[]?", "Optional[List[float]]": "float[]?",
}  # fmt: skip


def _table(
    file: Path, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]], about: str
) -> None:
    lines = [f"# {about}", "\t".join(columns)]
    lines += ["\t".join(row).rstrip("\t") for row in sorted(rows)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _default(value: Any) -> str:
    if isinstance(value, (torch.dtype, torch.layout, torch.device)):
        return str(value).removeprefix("torch.")
    return written(value).replace(" ", "_")


def _arguments(schema: Any) -> str:
    parts = []
    keyword_only = False
    for argument in schema.arguments:
        if argument.kwarg_only and not keyword_only:
            parts.append("*")
            keyword_only = True
        kind = str(argument.type)
        kind = _TYPES.get(kind, kind.replace(" ", "").replace("Optional[", "?").replace("]", ""))
        if argument.is_out:
            kind = "Out"
        text = f"{argument.name}:{kind}"
        if argument.has_default_value():
            text += f"={_default(argument.default_value)}"
        parts.append(text)
    return " ".join(parts)


def _tags(name: str, func: Any, survey: Mapping[str, Any]) -> str:
    tags = []
    if torch.Tag.core in func.tags:
        tags.append("core")
    if (survey["samples"].get(name) or ("",))[0] == "opinfo":
        tags.append("opinfo")
    schema = func._schema
    if any(a.is_out for a in schema.arguments):
        tags.append("out")
    elif schema.is_mutable:
        tags.append("inplace")
    if any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns):
        tags.append("view")
    if torch.Tag.dynamic_output_shape in func.tags:
        tags.append("dynamic-shape")
    if torch.Tag.data_dependent_output in func.tags:
        tags.append("data-dependent")
    if torch.Tag.nondeterministic_seeded in func.tags:
        tags.append("random")
    return " ".join(tags)


def conditions(root: Path) -> dict[str, set[str]]:
    """Operator → the arguments that conditions of its rows look at."""
    sources = read_sources(root / "sources.toml")
    found: dict[str, set[str]] = {}
    for path in ("native", "xla"):
        for file in sorted((root / path).glob("*.tsv")):
            for row in read_rows(file, path, sources):
                if isinstance(row.when, Condition):
                    found.setdefault(row.operator.removeprefix("aten::"), set()).update(
                        row.when.names()
                    )
    return found


def spread(wanted: dict[str, set[str]], survey: Mapping[str, Any]) -> dict[str, set[str]]:
    """Conditions seen through composites: what callers pass on, their callers may pass on too."""
    wanted = {name: set(args) for name, args in wanted.items()}
    changed = True
    while changed:
        changed = False
        for kind in ("body", "decomposition", "backward"):
            for caller, callees in survey[kind].items():
                for callee, (_, given) in callees.items():
                    for argument in wanted.get(callee, ()):
                        value = given.get(argument)
                        if isinstance(value, str) and value.startswith(("^", "d^")):
                            mine = wanted.setdefault(caller, set())
                            own = value.partition("^")[2]
                            if own not in mine:
                                mine.add(own)
                                changed = True
    return wanted


def _call(name: str, given: Mapping[str, Any], wanted: set[str]) -> str:
    shown = []
    for argument in sorted(wanted & set(given)):
        value = given[argument]
        text = value if isinstance(value, str) and value.startswith(("^", "d^")) else written(value)
        if " " not in text and ";" not in text and ")" not in text:
            shown.append(f"{argument}={text}")
    return f"{name}({';'.join(shown)})" if shown else name


def write(survey: Mapping[str, Any], root: Path) -> None:
    """Write the tables about torch ``torch.__version__`` under ``root / "torch"``."""
    folder = root / "torch"
    folder.mkdir(parents=True, exist_ok=True)
    version = torch.__version__.split("+")[0]
    functions = overloads()
    rows = [
        (name, _KINDS[runs_composite(func)], _tags(name, func, survey), _arguments(func._schema))
        for name, func in functions.items()
    ]
    about = f"torch {version}; written by tools/build_operators"
    _table(folder / "schemas.tsv", SCHEMA_COLUMNS, rows, f"Overloads of aten: {about}.")
    wanted = spread(conditions(root), survey)
    for kind, plural, what in (
        ("body", "bodies", "What the body of a composite overload calls"),
        ("decomposition", "decompositions", "What PyTorch's own decomposition in Python calls"),
        ("backward", "backwards", "What the gradient of an overload calls"),
    ):
        lines = []
        for name, callees in survey[kind].items():
            cells = {True: [], False: []}  # type: dict[bool, list[str]]
            for callee, (always, given) in sorted(callees.items()):
                if callee in functions:
                    cells[always].append(_call(callee, given, wanted.get(callee, set())))
            lines.append((name, " ".join(cells[True]), " ".join(cells[False])))
        _table(folder / f"{plural}.tsv", CALL_COLUMNS, lines, f"{what}, by example calls: {about}.")
    known = {name.partition(".")[0] for name in functions} | set(functions)
    spellings = []
    for spelling, reached in survey["spellings"].items():
        reached = [name for name in reached if name.rstrip("?") in known]
        if reached:
            spellings.append((spelling, " ".join(reached)))
    _table(folder / "spellings.tsv", SPELLING_COLUMNS, spellings, f"Source names: {about}.")
    authored = [cells[0] for _, cells in rows_of(root / "spellings.tsv", SPELLING_COLUMNS)]
    names = sorted({name for name, _ in spellings} | set(authored))
    _table(
        folder / "signatures.tsv",
        SIGNATURE_COLUMNS,
        signatures(names).items(),
        f"Parameters of functions and modules written in Python: {about}.",
    )
