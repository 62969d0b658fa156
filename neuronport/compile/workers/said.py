"""What an exception said, for the side that has no torch."""

from __future__ import annotations

import traceback
from typing import Any

_LONGEST = 300
_TEXT = 20000


def error(error: BaseException, phase: str) -> dict[str, Any]:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    text = "".join(traceback.format_exception(error))
    # what a compiler said is at the end of its own message, not of the stack
    return {"error": first[:_LONGEST], "text": f"{error}\n{text}"[-_TEXT:], "phase": phase}
