"""What ``neuronport portability`` concluded on each of the three levels."""

from neuronport.records.model import Kind

KIND = Kind(
    name="portability",
    command="neuronport portability",
    schema="neuronport/portability/",
    version=1,
    needs={"levels": dict, "records": list},
)
