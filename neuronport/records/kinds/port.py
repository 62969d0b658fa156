"""What ``neuronport port`` changed or would change in a tree."""

from __future__ import annotations

from typing import Any

from neuronport.records.model import Body, Kind


def _missed(body: Body) -> list[dict[str, Any]]:
    return [
        {
            "path": str(row.get("path", "")),
            "reason": str(row.get("reason", "")),
            "detail": str(row.get("detail", "")),
            "line": row.get("line"),
        }
        for row in (*body.get("not_looked_at", ()), *body["failed"])
        if isinstance(row, dict)
    ]


def _named(body: dict[str, Any]) -> dict[str, Any]:
    """Before its schema was published a port did not name it."""
    return {"schema": "neuronport/port/1", **body}


KIND = Kind(
    name="port",
    command="neuronport port",
    schema="neuronport/port/",
    version=1,
    needs={
        "files": list,
        "changes": list,
        "held_back": list,
        "left": list,
        "failed": list,
        "churn": dict,
    },
    missed=_missed,
    steps={0: _named},
)
