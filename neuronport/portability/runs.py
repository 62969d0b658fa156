"""Run records: what somebody measured on a device (``schemas/run.json``), and comparing two.

Nothing is filled in: what a record does not say is not measured. Percentiles of raw samples are by
the nearest rank: the smallest sample that at least so many per cent of all are not above.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from neuronport.portability.contract import percentile

SAME = ("workload", "model", "mode", "precision", "batch", "lengths", "concurrency")
"""What two runs have to agree on to be about the same thing."""


class RunError(ValueError):
    """A run record that cannot be used; says why, in one line."""


@dataclass(frozen=True, slots=True)
class Run:
    file: str
    workload: str
    device: str
    """Kind: ``cuda``, ``neuron``, ``cpu`` …"""
    device_name: str = ""
    device_count: int | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    """Of :data:`SAME` what it says."""
    program: Mapping[str, str] = field(default_factory=dict)
    made: str = ""
    completed: bool = True
    error: str = ""
    latency_ms: Mapping[str, float] = field(default_factory=dict)
    """As stated, by percentile."""
    samples_ms: Sequence[float] = ()
    throughput: tuple[float, str] | None = None
    quality: tuple[str, float] | None = None
    cost_per_hour: tuple[float, str] | None = None

    @property
    def name(self) -> str:
        count = f"{self.device_count} × " if self.device_count else ""
        return f"{count}{self.device_name or self.device}"

    def latency(self, word: str) -> tuple[float | None, str]:
        """A percentile, and where it is from; None: why it is not known."""
        share = percentile(word)
        if self.samples_ms and share is not None:
            count = len(self.samples_ms)
            if share < 100 and count * (100 - share) < 100:
                # With fewer samples the highest one would pass for it.
                needed = math.ceil(100 / (100 - share))
                return None, f"{count} samples are too few for {word}: it takes {needed} or more"
            rank = max(1, math.ceil(round(share * count / 100, 9)))
            return sorted(self.samples_ms)[rank - 1], f"of {count} samples"
        if word in self.latency_ms:
            return self.latency_ms[word], "as the record states"
        return None, f"it has neither samples nor {word}"

    def cost(self, per: float) -> tuple[float | None, str]:
        """What so many of the throughput's unit cost."""
        if self.cost_per_hour is None:
            return None, "it has no cost per hour"
        if self.throughput is None or not self.throughput[0]:
            return None, "it has no throughput"
        if not self.throughput[1].endswith("/s"):
            return None, f"its throughput is in {self.throughput[1]}, not per second"
        return (
            self.cost_per_hour[0] / (self.throughput[0] * 3600) * per,
            "cost per hour over throughput per hour",
        )


def read(body: Mapping[str, Any], file: str) -> Run:
    """The run that a record's body describes.

    Raises RunError.
    """

    def number(value: Any, what: str) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise RunError(f"{file}: {what} is no number")
        if not math.isfinite(value) or value < 0:
            raise RunError(f"{file}: {what} is {value}")
        return float(value)

    def table(key: str) -> dict[str, Any]:
        value = body.get(key) or {}
        if not isinstance(value, dict):
            raise RunError(f"{file}: {key} is no table")
        return value

    def text(value: Any, what: str) -> str:
        if not isinstance(value, str):
            raise RunError(f"{file}: {what} is no text")
        return value

    device = table("device")
    about: dict[str, Any] = {}
    for key in SAME:
        value = body.get(key)
        if value is None:
            continue
        if key in ("batch", "concurrency"):
            about[key] = int(number(value, key))
        elif key == "lengths":
            about[key] = {k: number(v, f"lengths.{k}") for k, v in sorted(table(key).items())}
        else:
            about[key] = text(value, key)
    samples = body.get("latencies_ms") or []
    if not isinstance(samples, list):
        raise RunError(f"{file}: latencies_ms is no list")
    stated = {k: number(v, f"latency_ms.{k}") for k, v in table("latency_ms").items()}
    for word in stated:
        if percentile(word) is None:
            raise RunError(f"{file}: latency_ms.{word} is no percentile; write p99")
    through, quality, cost = table("throughput"), table("quality"), table("cost")
    count = device.get("count")
    return Run(
        file=file,
        workload=text(body.get("workload"), "workload"),
        device=text(device.get("kind"), "device.kind"),
        device_name=text(device.get("name", ""), "device.name"),
        device_count=None if count is None else int(number(count, "device.count")),
        about=about,
        program={str(k): text(v, f"program.{k}") for k, v in table("program").items()},
        made=text(body.get("made") or "", "made"),
        completed=body.get("completed", True) is True,
        error=text(body.get("error") or "", "error"),
        latency_ms=stated,
        samples_ms=[number(v, "a sample of latencies_ms") for v in samples],
        throughput=(
            (
                number(through.get("value"), "throughput.value"),
                text(through.get("unit"), "its unit"),
            )
            if through
            else None
        ),
        quality=(
            (text(quality.get("metric"), "quality.metric"), _value(quality.get("value"), file))
            if quality
            else None
        ),
        cost_per_hour=(
            (number(cost.get("per_hour"), "cost.per_hour"), text(cost.get("currency"), "currency"))
            if cost
            else None
        ),
    )


def _value(value: Any, file: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise RunError(f"{file}: quality.value is no number")
    return float(value)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs of the same thing, or what is not the same."""

    first: str
    second: str
    differs: tuple[str, ...] = ()
    """Empty: they are about the same thing."""
    unknown: tuple[str, ...] = ()
    """What neither says."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Measure → first, second, and their ratio, second over first."""

    def as_json(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            "comparable": not self.differs,
            "differs": list(self.differs),
            "unknown": list(self.unknown),
            "figures": dict(self.figures),
        }


def compare(first: Run, second: Run) -> Comparison:
    """Two runs side by side, if they are about the same thing."""
    differs, unknown = [], []
    for key in SAME:
        a, b = first.about.get(key), second.about.get(key)
        if a is None and b is None:
            unknown.append(key)
        elif a != b:
            differs.append(f"{key}: {_said(a)} and {_said(b)}")
    for run in (first, second):
        if not run.completed:
            differs.append(f"{run.file} did not complete")
    names = (first.file, second.file)
    if differs:
        return Comparison(*names, tuple(differs), tuple(unknown))
    return Comparison(*names, (), tuple(unknown), _figures(first, second))


def _figures(first: Run, second: Run) -> dict[str, Any]:
    figures: dict[str, Any] = {}

    def put(name: str, a: float | None, b: float | None, unit: str) -> None:
        if a is not None and b is not None:
            ratio = round(b / a, 4) if a else None
            figures[name] = {"unit": unit, "first": a, "second": b, "ratio": ratio}

    words = {*first.latency_ms, *second.latency_ms}
    if first.samples_ms and second.samples_ms:
        words |= {"p50", "p90", "p99"}
    for word in sorted(words, key=lambda w: percentile(w) or 0):
        put(f"latency {word}", first.latency(word)[0], second.latency(word)[0], "ms")
    if first.throughput and second.throughput and first.throughput[1] == second.throughput[1]:
        put("throughput", first.throughput[0], second.throughput[0], first.throughput[1])
        if first.cost_per_hour and second.cost_per_hour:
            currency = first.cost_per_hour[1]
            if currency == second.cost_per_hour[1]:
                unit = f"{currency} for 1,000,000 {first.throughput[1].removesuffix('/s')}"
                put("cost", first.cost(1e6)[0], second.cost(1e6)[0], unit)
    if first.quality and second.quality and first.quality[0] == second.quality[0]:
        put("quality", first.quality[1], second.quality[1], first.quality[0])
    return figures


def _said(value: Any) -> str:
    if value is None:
        return "not said"
    if isinstance(value, dict):
        return ", ".join(f"{k} {v:g}" for k, v in value.items())
    return str(value)
