"""What a port changed between two revisions (``neuronport port --churn``), whoever made it."""

from neuronport.records.model import Kind

KIND = Kind(
    name="churn",
    command="neuronport port --churn REV1..REV2",
    schema="neuronport/churn/",
    version=1,
    needs={
        "files": list,
        "code_base": dict,
        "lines": dict,
        "references": dict,
        "device_lines": dict,
        "divergence": dict,
    },
)
