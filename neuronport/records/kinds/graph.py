"""What ``neuronport graph`` found in a model: one record for each model."""

from __future__ import annotations

from typing import Any

from neuronport.records.model import Body, Kind


def _missed(body: Body) -> list[dict[str, Any]]:
    return [
        {
            "path": str(row.get("module") or row.get("graph") or body["model"].get("name", "")),
            "reason": f"not-captured-{row.get('step', '')}".rstrip("-"),
            "detail": str(row.get("reason") or row.get("error") or ""),
            "line": None,
        }
        for row in body["failures"]
        if isinstance(row, dict)
    ]


KIND = Kind(
    name="graph",
    command="neuronport graph",
    schema="neuronport/graph/",
    version=1,
    needs={
        "model": dict,
        "targets": list,
        "graphs": list,
        "summary": dict,
        "findings": list,
        "failures": list,
    },
    many=True,
    subject=lambda body: str(body["model"].get("name", "")),
    missed=_missed,
)
