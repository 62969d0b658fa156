"""Every figure of a report, for programs; described by ``schemas/report.json``.

The findings themselves are in the audit's record.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from neuronport.reporting.escape import json_text
from neuronport.reporting.joined.model import Report


def render(report: Report) -> Iterator[str]:
    text = json.dumps(report.data, indent=1, ensure_ascii=False, allow_nan=False)
    yield json_text(text) + "\n"
