"""What torch_xla counts: what ran on the CPU, what was compiled, what was executed.

For workers; ``met`` is ``torch_xla.debug.metrics``.
"""

from __future__ import annotations

from typing import Any

READ_BACK = "aten::_local_scalar_dense"
"""A value that went to the host: read, not computed there."""


def fallbacks(met: Any) -> list[str]:
    """The ``aten::`` counters since they were cleared: operators that ran on the CPU."""
    return sorted(n for n in met.counter_names() if n.startswith("aten::") and met.counter_value(n))


def status_of(names: list[str]) -> str:
    """``lowered``, ``reads-back`` or ``falls-back``, from what ``fallbacks`` returns."""
    real = [n for n in names if n != READ_BACK]
    return "falls-back" if real else "reads-back" if names else "lowered"


def samples(met: Any, name: str) -> tuple[int, float]:
    """How often a timed thing has happened since metrics were cleared, and its seconds."""
    data = met.metric_data(name)
    return (int(data[0]), float(data[1]) / 1e9) if data else (0, 0.0)
