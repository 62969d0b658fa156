"""JSON, as ``schemas/portability.json`` says."""

from __future__ import annotations

import json

from neuronport.portability.verdict import Portability
from neuronport.reporting.escape import json_text


def render(result: Portability) -> str:
    return json_text(json.dumps(result.as_json(), indent=1, ensure_ascii=False)) + "\n"
