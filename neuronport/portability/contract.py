"""``[tool.neuronport.contract]``: what the business asks of the program, wherever it runs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from neuronport.portability.verdict import LEVELS

_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d{1,3})?|100)")
_WORDS = ("workload", "model", "mode")
_NUMBERS = ("batch", "concurrency")
_KEYS = (
    "requires",
    *_WORDS,
    "precision",
    *_NUMBERS,
    "lengths",
    "quality",
    "latency_ms",
    "throughput",
    "cost",
)


class ContractError(ValueError):
    """A contract that cannot be used; names the key and what it is to be."""


@dataclass(frozen=True, slots=True)
class Contract:
    file: str = ""
    requires: tuple[str, ...] = ()
    conditions: Mapping[str, Any] = field(default_factory=dict)
    """What a run has to be about: workload, model, mode, batch, concurrency, lengths."""
    precision: tuple[str, ...] = ()
    """As agreed first; the others are allowed, and a change."""
    quality: tuple[str, str, float] | None = None
    """Metric, ``at_least`` or ``at_most``, value."""
    latency_ms: Mapping[str, float] = field(default_factory=dict)
    """Percentile → at most."""
    throughput: tuple[float, str] | None = None
    """At least, unit."""
    cost: tuple[float, str, float] | None = None
    """At most, currency, per so many of the throughput's unit."""

    @property
    def limits(self) -> int:
        """How many limits it sets."""
        single = (self.quality, self.throughput, self.cost)
        return len(self.latency_ms) + sum(1 for c in single if c is not None)


def percentile(word: str) -> float | None:
    """``p99`` → 99.0; None: no percentile."""
    found = _PERCENTILE.fullmatch(word)
    return float(found[1]) if found and float(found[1]) > 0 else None


def read(table: Any, file: str) -> Contract:
    """The contract in a table of the configuration.

    Raises ContractError.
    """

    def wrong(key: str, wanted: str) -> ContractError:
        where = f"contract.{key}" if key else "contract"
        return ContractError(f"{file}: {where} is to be {wanted}")

    if not isinstance(table, dict):
        raise wrong("", "a table")
    for key in table:
        if key not in _KEYS:
            raise ContractError(f"{file}: unknown key 'contract.{key}'; known: {', '.join(_KEYS)}")

    def amount(key: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise wrong(key, "a number")
        if not math.isfinite(value) or value < 0:
            raise wrong(key, "a number that is not negative")
        return float(value)

    def words(key: str) -> tuple[str, ...]:
        value = table.get(key, ())
        value = (value,) if isinstance(value, str) else value
        if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
            raise wrong(key, "a text or a list of texts")
        return tuple(value)

    def part(key: str, *known: str) -> dict[str, Any]:
        value = table[key]
        if not isinstance(value, dict) or not value or set(value) - set(known):
            raise wrong(key, f"a table with {', '.join(known)}")
        return value

    conditions: dict[str, Any] = {}
    for key in _WORDS:
        if key in table:
            if not isinstance(table[key], str) or not table[key]:
                raise wrong(key, "a text")
            conditions[key] = table[key]
    for key in _NUMBERS:
        if key in table:
            if type(table[key]) is not int or table[key] < 1:
                raise wrong(key, "a whole number above 0")
            conditions[key] = table[key]
    if "lengths" in table:
        lengths = table["lengths"]
        if not isinstance(lengths, dict) or not lengths:
            raise wrong("lengths", "a table such as { input = 2048, output = 256 }")
        conditions["lengths"] = {str(k): amount(f"lengths.{k}", v) for k, v in lengths.items()}
    requires = words("requires")
    for level in requires:
        if level not in LEVELS:
            raise wrong("requires", f"one or several of {', '.join(LEVELS)}, not {level!r}")
    quality = throughput = cost = None
    if "quality" in table:
        row = part("quality", "metric", "at_least", "at_most")
        bounds = [k for k in ("at_least", "at_most") if k in row]
        if len(bounds) != 1 or not isinstance(row.get("metric"), str):
            raise wrong("quality", "a table with metric and one of at_least and at_most")
        value = row[bounds[0]]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise wrong(f"quality.{bounds[0]}", "a number")
        quality = (row["metric"], bounds[0], float(value))
    latency: dict[str, float] = {}
    if "latency_ms" in table:
        if not isinstance(table["latency_ms"], dict) or not table["latency_ms"]:
            raise wrong("latency_ms", "a table such as { p50 = 400, p99 = 900 }")
        for name, value in table["latency_ms"].items():
            if percentile(name) is None:
                raise wrong("latency_ms", f"a table of percentiles such as p99; not {name!r}")
            latency[name] = amount(f"latency_ms.{name}", value)
    if "throughput" in table:
        row = part("throughput", "at_least", "unit")
        if not isinstance(row.get("unit"), str) or "at_least" not in row:
            raise wrong("throughput", 'a table such as { at_least = 1200, unit = "tokens/s" }')
        throughput = (amount("throughput.at_least", row["at_least"]), row["unit"])
    if "cost" in table:
        row = part("cost", "at_most", "currency", "per")
        if not isinstance(row.get("currency"), str) or not {"at_most", "per"} <= set(row):
            raise wrong(
                "cost", 'a table such as { at_most = 0.9, currency = "USD", per = 1000000 }'
            )
        cost = (
            amount("cost.at_most", row["at_most"]),
            row["currency"],
            amount("cost.per", row["per"]),
        )
    return Contract(
        file, requires, conditions, words("precision"), quality, latency, throughput, cost
    )
