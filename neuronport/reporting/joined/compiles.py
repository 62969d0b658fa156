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
    attempts = [_attempt(row) for row in body["attempts"]]
    return {
        "model": str(body["model"]),
        "target": str(body.get("target", "")),
        "chip": str(body.get("chip", "")),
        "by_neuron": sum(a["compiler"] == "neuron" for a in attempts),
        "compiled_by_neuron": sum(
            a["compiler"] == "neuron" and a["status"] == "compiled" for a in attempts
        ),
        "neuron_usable": any(
            t["usable"] and t["compiler"] == "neuron" for t in body.get("tools", [])
        ),
        "by_status": dict(Counter(a["status"] for a in attempts)),
        "attempts": attempts,
        "tools": [dict(t) for t in body.get("tools", [])],
        "notes": [str(n) for n in body.get("notes", [])],
        "failures": [str(f) for f in body.get("failures", [])],
    }


def _attempt(row: Json) -> dict[str, Any]:
    compiler = row["compiler"]
    seconds = row.get(_SECONDS.get(compiler, "")) or {}
    apart = {phase: seconds.get(phase) for phase in PHASES}
    together = [
        {"phases": list(item["phases"]), "seconds": item["seconds"]}
        for item in seconds.get("not_separable", [])
    ]
    peak = row.get("peak_memory") or {}
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
        "cache": row.get("cache", {}).get("word", ""),
        "programs": row.get("programs"),
        "cuts": len(row.get("cuts", [])),
        "artifacts": [{"kind": a["kind"], "bytes": a["bytes"]} for a in row.get("artifacts", [])],
        "device": row.get("device", ""),
        "problems": [dict(p) for p in row.get("problems", [])],
    }
