"""From one audit's result to what people and programs read: one file per format in ``formats/``.

A reporter knows no file format it did not produce and nothing of Neuron: everything it says comes
from the :class:`~neuronport.reporting.result.AuditResult` it is given.
"""

from neuronport.reporting.output import options_for, write
from neuronport.reporting.registry import Format, formats, named
from neuronport.reporting.result import (
    AuditResult,
    Knowledge,
    RenderOptions,
    RuleInfo,
    SourceReader,
    Tree,
    UnusedSuppression,
)
from neuronport.reporting.summary import Summary, counts, summarize

__all__ = [
    "AuditResult",
    "Format",
    "Knowledge",
    "RenderOptions",
    "RuleInfo",
    "SourceReader",
    "Summary",
    "Tree",
    "UnusedSuppression",
    "counts",
    "formats",
    "named",
    "options_for",
    "summarize",
    "write",
]
