"""What ``neuronport audit`` found in a tree."""

from neuronport.records.model import Kind

KIND = Kind(
    name="audit",
    command="neuronport audit",
    schema="neuronport/audit/",
    version=1,
    needs={
        "tool": dict,
        "tree": dict,
        "targets": list,
        "summary": dict,
        "findings": list,
        "references": list,
        "not_looked_at": list,
    },
    missed=lambda body: list(body["not_looked_at"]),
)
