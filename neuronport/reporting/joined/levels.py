"""The three levels of portability, as ``neuronport portability`` judged them; never judged here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]

LEVELS: Mapping[str, str] = {
    "source": "Does the same source run on CUDA, on Neuron and on the CPU?",
    "artifact": "Do checkpoints and exported models load on the other side?",
    "performance": "Does it do the work it must, as fast and as cheaply as it must?",
}
NOT_MEASURED = "not measured"
WORDS = ("holds", "holds with changes", "fails", NOT_MEASURED)


def levels(body: Json | None) -> list[dict[str, Any]]:
    """Without a record no level is known, and none is concluded from anything else.

    Raises KeyError, TypeError or AttributeError: the body is not one of `portability`.
    """
    rows = []
    for level, question in LEVELS.items():
        row = body["levels"][level] if body is not None else None
        word = row["verdict"] if row is not None else NOT_MEASURED
        rows.append(
            {
                "level": level,
                "question": question,
                "verdict": word if word in WORDS else NOT_MEASURED,
                # null where no contract says which levels are required
                "required": level in body["required"] if body and body["contract"] else None,
                "by_target": dict(row["by_target"]) if row is not None else {},
                "because": [_ground(g) for g in row["because"]] if row is not None else [],
                "not_known": [_ground(g) for g in row["not_known"]] if row is not None else [],
                "recorded": row is not None,
            }
        )
    return rows


def _ground(row: Json) -> dict[str, Any]:
    return {
        "says": row["says"],
        "rests_on": row["rests_on"],
        "decides": row["speaks_for"],
        "target": row["target"],
        "places": list(row["places"]),
    }


def reason(row: Json) -> str:
    """The first statement that decided the verdict of a level; empty: none is recorded."""
    return next((g["says"] for g in row["because"] if g["decides"] == row["verdict"]), "")
