"""``torch_neuronx.analyze`` and ``neuron_parallel_compile --command analyze``: a JSON report.

Supported operators with counts, unsupported ones with where they failed; the training tool nests
both by level (``aten``, ``xla``). An operator may be in both lists: some of its forms compile.
"""

from __future__ import annotations

import json
from typing import Any

from neuronport.operators.observed.report import Observation, Report, operator_name
from neuronport.operators.tables import Status


def _load(text: str) -> dict[str, Any] | None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def recognises(text: str) -> bool:
    data = _load(text)
    return data is not None and "supported_operators" in data and "unsupported_operators" in data


def read(text: str) -> Report:
    data = _load(text) or {}
    supported, unsupported = data["supported_operators"], data["unsupported_operators"]
    training = isinstance(unsupported, dict)
    if training:
        supported, unsupported = supported.get("aten", {}), unsupported.get("aten", [])
    good = {operator_name(name) for name in supported}
    seen = [Observation(name, "xla", "compiled", Status.DEVICE) for name in sorted(good)]
    not_understood = []
    for row in unsupported:
        if not isinstance(row, dict) or "kind" not in row:
            not_understood.append(f"an unsupported operator without a kind: {row!r:.80}")
            continue
        name = operator_name(row["kind"])
        call = str(row.get("call", "")).splitlines()
        where = f" at {call[0]}" if call else ""
        seen.append(
            Observation(
                name,
                "xla",
                "compiled",
                Status.UNSUPPORTED,
                "?" if name in good else "",
                f"failed at {row.get('failureAt', 'an unnamed stage')}{where}",
            )
        )
    versions = ", ".join(
        f"{label} {data[key]}"
        for label, key in (
            ("torch-neuronx", "torch_neuronx_version"),
            ("neuronx-cc", "neuronx_cc_version"),
        )
        if key in data
    )
    tool = "neuron_parallel_compile analyze" if training else "torch_neuronx.analyze"
    return Report(
        tuple(seen),
        f"{tool} ({versions})" if versions else tool,
        not_understood=tuple(not_understood),
    )
