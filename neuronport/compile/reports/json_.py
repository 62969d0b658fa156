"""JSON, as ``schemas/compile.json`` says."""

from __future__ import annotations

import json
from typing import Any

from neuronport import __version__
from neuronport.compile.result import COMPILER_WORDS, NEURON, Result
from neuronport.reporting.escape import json_text

SCHEMA = "neuronport/compile/1"


def render(result: Result) -> str:
    return json_text(json.dumps(as_json(result), indent=1, ensure_ascii=False)) + "\n"


def as_json(result: Result) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "tool": {"name": "neuronport", "version": __version__},
        "neuron": {
            "compiler_here": result.neuron,
            "compiled_by_neuron": any(a.compiler == NEURON for a in result.attempts),
            "missing": [
                {"driver": t.driver, "because": t.because, "get": list(t.get)}
                for t in result.tools
                if t.compiler == NEURON and not t.usable
            ],
        },
        "model": {"name": result.model, "class": result.model_class},
        "target": result.target,
        "chip": result.chip,
        "limits": {"seconds": result.seconds_limit, "megabytes": result.megabytes_limit},
        "compilers": dict(COMPILER_WORDS),
        "drivers": [t.as_json() for t in result.tools],
        "graphs": [a.as_json() for a in result.attempts],
        "failures": list(result.failures),
        "notes": list(result.notes),
        "not_looked_at": [
            {
                "path": f"{result.model}: {a.graph}, {a.mode}",
                "reason": f"{a.status}-by-{a.driver}",
                "detail": a.because,
                "line": None,
            }
            for a in result.attempts
            if a.status != "compiled"
        ]
        + [
            {"path": result.model, "reason": "not-compiled", "detail": f, "line": None}
            for f in result.failures
        ],
    }
