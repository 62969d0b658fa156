"""What came of compiling a model; seconds stay with the compiler that took them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]

PHASES = ("capture", "lowering", "compile", "first_run")
COMPILERS = {"neuron": "Neuron", "xla-cpu": "XLA:CPU"}
"""How a compiler is named wherever its seconds are shown."""
_SECONDS = {"neuron": "neuron_seconds", "xla-cpu": "xla_cpu_seconds"}


def compiled(body: Json) -> dict[str, Any]:
    attempts = [_attempt(row) for row in body["graphs"]]
    return {
        "model": body["model"]["name"],
        "target": body["target"],
        "chip": body["chip"],
        "limits": dict(body["limits"]),
        "by_neuron": sum(a["compiler"] == "neuron" for a in attempts),
        "compiled_by_neuron": sum(
            a["compiler"] == "neuron" and a["status"] == "compiled" for a in attempts
        ),
        "neuron_usable": body["neuron"]["compiler_here"],
        "by_status": dict(Counter(a["status"] for a in attempts)),
        "attempts": attempts,
        "drivers": [dict(t) for t in body["drivers"]],
        "notes": [str(n) for n in body["notes"]],
        "failures": [str(f) for f in body["failures"]],
    }


def another_ran(part: Json) -> bool:
    """Whether a compiler that is not Neuron's was tried, so that its seconds are not taken for
    Neuron's."""
    return any(a["compiler"] != "neuron" and a["status"] != "not-tried" for a in part["attempts"])


def _attempt(row: Json) -> dict[str, Any]:
    compiler = row["compiler"]
    seconds = row[_SECONDS[compiler]]
    apart = {phase: seconds[phase] for phase in PHASES}
    together = [
        {"phases": list(item["phases"]), "seconds": item["seconds"]}
        for item in seconds["not_separable"]
    ]
    peak = row["peak_memory"] or {}
    return {
        "driver": row["driver"],
        "compiler": compiler,
        "graph": row["graph"],
        "mode": row["mode"],
        "inputs": [f"{i['dtype']}[{','.join(map(str, i['shape']))}]" for i in row["inputs"]],
        "status": row["status"],
        "because": row["because"],
        "seconds": apart,
        "together": together,
        "peak_bytes": peak.get("bytes"),
        "peak_how": peak.get("how", ""),
        "cache": row["cache"]["word"],
        "programs": row["programs"],
        "cuts": len(row["cuts"]),
        "artifacts": [{"kind": a["kind"], "bytes": a["bytes"]} for a in row["artifacts"]],
        "device": row["device"],
        "problems": [dict(p) for p in row["problems"]],
    }
