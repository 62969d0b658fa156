"""What was measured when a program ran on a device: written by the user, not by a command."""

from __future__ import annotations

from neuronport.records.model import Body, Kind


def _subject(body: Body) -> str:
    device = body["device"]
    return f"{body['workload']} {device.get('name') or device.get('kind', '')}"


KIND = Kind(
    name="run",
    command="the program that measures, as schemas/run.json says; not",
    schema="neuronport/run/",
    version=1,
    needs={"workload": str, "device": dict},
    many=True,
    subject=_subject,
)
