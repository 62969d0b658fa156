"""What came of compiling a model: one record for each model."""

from __future__ import annotations

from neuronport.records.model import Body, Kind


def _subject(body: Body) -> str:
    model = body["model"]
    return str(model.get("name", "") if isinstance(model, dict) else model)


KIND = Kind(
    name="compile",
    command="neuronport compile",
    schema="neuronport/compile/",
    version=1,
    needs={"model": object},
    many=True,
    subject=_subject,
    missed=lambda body: [r for r in body.get("not_looked_at", []) if isinstance(r, dict)],
)
