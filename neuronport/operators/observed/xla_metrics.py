"""``torch_xla.debug.metrics.metrics_report()``: a counter ``aten::x`` means x ran on the CPU."""

from __future__ import annotations

import re

from neuronport.operators.observed.report import Observation, Report
from neuronport.operators.tables import Status

_COUNTER = re.compile(r"^Counter: (aten|xla)::([\w.]+)\s*\n\s*Value: (\d+)", re.M)
_TRANSFERS = frozenset(("_to_cpu", "_copy_from", "_copy_from_and_resize", "_to_copy"))


def recognises(text: str) -> bool:
    return bool(re.search(r"^(Counter|Metric): \w+", text, re.M)) and (
        "TotalSamples" in text or _COUNTER.search(text) is not None
    )


def read(text: str) -> Report:
    seen = []
    for origin, name, value in _COUNTER.findall(text):
        if name in _TRANSFERS:
            continue
        name = name.removesuffix("_symint")
        if origin == "aten":
            seen.append(
                Observation(
                    f"aten::{name}", "xla", "eager", Status.CPU_FALLBACK, "?", f"{value} times"
                )
            )
        else:
            seen.append(Observation(f"aten::{name}", "xla", "eager", Status.DEVICE))
    return Report(tuple(seen), "a metrics report of torch_xla")
