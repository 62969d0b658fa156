"""Which calls are measured: ordinary arguments of every overload, then one argument varied at a time.

Arguments come from the overload's schema (``rules/operators/torch/schemas.tsv``) and, where that
does not tell enough, from ``calls.toml``. Nothing here needs torch.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neuronport.operators.tables import Parameter, Schema

CALLS = Path(__file__).with_name("calls.toml")
DTYPES = ("float32", "bfloat16", "float16", "int64", "int32", "bool")
ORDINARY = "T[2,3]"
SHAPES = ("T[]", "T[3]", "T[2,3,4]", "T[2,3,2,2]", "T[0,3]", "T[2,3].t")
"""Variations of a tensor that has no written shape."""
PARTNERS = ("T[]", "T[3]", "f32[2,3]", "i64[2,3]")
"""Variations of a second tensor: broadcasting, and dtypes that are mixed."""
ALSO = "also "
"""How the name of a further call begins, in which several arguments differ."""


@dataclass(frozen=True, slots=True)
class Case:
    operator: str
    varied: str
    """``""``: ordinary arguments; else ``beta=0.5``."""
    dtype: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    source: str = "ordinary"

    @property
    def key(self) -> str:
        return f"{self.source}|{self.operator}|{self.varied}|{self.dtype}"

    def json(self) -> str:
        return json.dumps(
            {
                "key": self.key,
                "operator": self.operator,
                "varied": self.varied,
                "dtype": self.dtype,
                "arguments": dict(self.arguments),
                "source": self.source,
            }
        )


@dataclass(frozen=True, slots=True)
class Calls:
    """What calls.toml says."""

    by_argument: Mapping[str, Any]
    by_operator: Mapping[str, Mapping[str, Any]]

    def of(self, operator: str) -> Mapping[str, Any]:
        return self.by_operator.get(operator, {})

    def reason_to_skip(self, operator: str) -> str:
        return str(self.of(operator).get("skip", ""))


def read_calls(file: Path = CALLS) -> Calls:
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    return Calls(data["argument"], data["operator"])


def written(value: Any) -> str:
    """A value as it stands behind the ``=`` of a variation, in the language of conditions."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ",".join(written(v) for v in value) + "]"
    return str(value)


def is_tensor(parameter: Parameter) -> bool:
    return parameter.type.startswith("T") and "[" not in parameter.type


def ordinary(schema: Schema, calls: Calls) -> dict[str, Any]:
    """The plainest arguments; ``KeyError`` names an argument nobody knows a value of."""
    own = calls.of(schema.operator.removeprefix("aten::"))
    given: dict[str, Any] = {}
    for parameter in schema.parameters:
        name = parameter.name
        if name in own:
            given[name] = own[name]
        elif not parameter.required:
            continue
        elif name in calls.by_argument and _fits(calls.by_argument[name], parameter):
            given[name] = calls.by_argument[name]
        else:
            given[name] = _made(parameter)
    return given


def _fits(value: Any, parameter: Parameter) -> bool:
    kind = parameter.type.rstrip("?")
    if (isinstance(value, str) and value.endswith("]")) or "@" in str(value):
        return kind == "T"
    if isinstance(value, list):
        return kind.endswith("[]")
    if isinstance(value, bool):
        return kind == "bool"
    if value == "none":
        return parameter.type.endswith("?")
    if isinstance(value, (int, float)):
        return kind in ("int", "float", "Scalar")
    return kind == "str"


_MADE: Mapping[str, Any] = {
    "T": ORDINARY,
    "T[]": [ORDINARY, ORDINARY],
    "Scalar": 2,
    "float": 0.5,
    "int": 1,
    "bool": False,
    "int[]": [1, 1],
}


def _made(parameter: Parameter) -> Any:
    if parameter.name in ("dtype", "out_dtype") and parameter.required:
        return "none" if parameter.type.endswith("?") else "dtype:T"
    if parameter.type in _MADE:
        return _MADE[parameter.type]
    if parameter.type.endswith("?"):
        return "none"
    raise KeyError(parameter.name)


def variations(schema: Schema, calls: Calls) -> Iterator[tuple[str, Any]]:
    """Argument and another value of it, each to be tried alone."""
    operator = schema.operator.removeprefix("aten::")
    own = calls.of(operator)
    base = ordinary(schema, calls)
    seen = set()
    first = True
    for parameter in schema.parameters:
        name = parameter.name
        values = list(own.get("vary", {}).get(name, ()))
        if is_tensor(parameter) and base.get(name) == ORDINARY and name not in own:
            values += SHAPES if first else PARTNERS
        first = first and not is_tensor(parameter)
        values += _others(parameter, base)
        for value in values:
            text = f"{name}={written(value)}"
            if text not in seen and value != base.get(name, parameter.default):
                seen.add(text)
                yield name, value


def _others(parameter: Parameter, base: Mapping[str, Any]) -> Sequence[Any]:
    value = base.get(parameter.name, parameter.default)
    kind = parameter.type
    if kind in ("bool", "bool?"):
        if parameter.name in ("pin_memory", "non_blocking", "implicit"):
            return ()
        return (not value,) if isinstance(value, bool) else (False, True)
    if kind == "Scalar" or (kind == "float" and not parameter.required):
        return (0, 2, 0.5, -1)
    if kind == "int?" and parameter.name == "dtype":
        return ("dtype:float32", "dtype:int64")
    return ()


def cases(
    schemas: Mapping[str, Schema],
    operators: Iterable[str],
    dtypes: Sequence[str],
    calls: Calls,
    *,
    varied: bool = True,
) -> tuple[list[Case], dict[str, str]]:
    """Ordinary calls of all operators first, then the variations; and what has none, with why."""
    plain: list[Case] = []
    others: list[Case] = []
    without: dict[str, str] = {}
    for operator in operators:
        schema = schemas[f"aten::{operator}"]
        reason = calls.reason_to_skip(operator)
        if reason:
            without[operator] = reason
            continue
        try:
            base = ordinary(schema, calls)
        except KeyError as error:
            without[operator] = f"no value is known of {error.args[0]}"
            continue
        tensors = any("T" in str(v) for v in base.values())
        for dtype in dtypes if tensors else DTYPES[:1]:  # the same case in every selection
            plain.append(Case(operator, "", dtype, base))
            if varied:
                others += [
                    Case(operator, f"{name}={written(value)}", dtype, {**base, name: value})
                    for name, value in variations(schema, calls)
                    if not _is_base(value, dtype)
                ]
                others += [
                    Case(operator, name, dtype, given)
                    for name, given in further(schema, calls, base)
                ]
    return plain + others, without


def further(schema: Schema, calls: Calls, base: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Whole calls that calls.toml adds, with their names."""
    for extra in calls.of(schema.operator.removeprefix("aten::")).get("also", ()):
        name = ALSO + " ".join(f"{k}={written(v)}" for k, v in extra.items())
        yield name, {**base, **extra}


def _is_base(value: Any, dtype: str) -> bool:
    """``f32[2,3]`` is no variation where float32 is the dtype of the case."""
    short = {"f32[": "float32", "i64[": "int64"}
    return isinstance(value, str) and short.get(value[:4]) == dtype and value in PARTNERS


def opinfo_cases(names: Iterable[str], dtypes: Sequence[str]) -> list[Case]:
    return [Case(name, "", dtype, source="opinfo") for dtype in dtypes for name in names]


def selected(schemas: Mapping[str, Schema], what: str) -> list[str]:
    """``core``: core aten; ``opinfo``: what torch's database exercises too; else names."""
    names = {n.removeprefix("aten::"): s for n, s in schemas.items() if n.startswith("aten::")}
    if what == "core":
        return sorted(n for n, s in names.items() if "core" in s.tags and _measurable(n, s))
    if what == "opinfo":
        return sorted(
            n for n, s in names.items() if {"core", "opinfo"} & set(s.tags) and _measurable(n, s)
        )
    return sorted(
        n for part in what.split(",") for n in names if n == part or n.partition(".")[0] == part
    )


def _measurable(name: str, schema: Schema) -> bool:
    """Out variants and in-place forms are what their functional form is; sizes run on the host."""
    if "out" in schema.tags or name.startswith("sym_"):
        return False
    return "inplace" not in schema.tags or "core" in schema.tags
