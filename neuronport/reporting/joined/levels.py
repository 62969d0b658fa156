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
    """Without a record no level is known, and none is concluded from anything else."""
    said: Json = body["levels"] if body is not None else {}
    rows = []
    for level, question in LEVELS.items():
        row = said.get(level)
        if not isinstance(row, Mapping):
            row = {}
        word = str(row.get("verdict") or NOT_MEASURED)
        rows.append(
            {
                "level": level,
                "question": question,
                "verdict": word if word in WORDS else NOT_MEASURED,
                "required": row.get("required"),
                "rests_on": [str(r) for r in row.get("rests_on", [])],
                "recorded": bool(row),
            }
        )
    return rows
