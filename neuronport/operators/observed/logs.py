"""Logs of TorchNeuron, Torch-MLIR and neuronx-cc: the lines that name an operator."""

from __future__ import annotations

import re

from neuronport.operators.observed.report import Observation, Report, operator_name
from neuronport.operators.tables import Status

ORDER = 90

_LINES = (
    (re.compile(r"failed to legalize (?:operation )?'torch\.(aten\.[\w.]+)'"), "native", "compiled", Status.UNSUPPORTED),
    (re.compile(r"No implementation could handle operation (\S+?)\. Falling back on CPU"), "native", "eager", Status.CPU_FALLBACK),
    (re.compile(r"Operation (\S+) is not implemented for Neuron"), "native", "eager", Status.UNSUPPORTED),
    (re.compile(r"Compilation error occurred on Neuron for operation=([^\s;]+)"), "native", "eager", Status.UNSUPPORTED),
    (re.compile(r"HLO to NEFF compilation failed for op '([^']+)'"), "native", "eager", Status.UNSUPPORTED),
    (re.compile(r"The operator (aten::\S+) appears to be a view operator, but it has no implementation"), "native", "eager", Status.UNSUPPORTED),
)  # fmt: skip
_HLO_HEAD = "The following HLO instructions are not supported by neuronx-cc"
_HLO = re.compile(r"^\s*(?:ROOT )?%[\w.\-]+ = \(?[\w\[\]{},: ]*?\)? ?([a-z][a-z0-9\-]*)\(", re.M)

_CODE = re.compile(r"\bNCC_[A-Z]{4}\d{3}\b")


def recognises(text: str) -> bool:
    return (
        _HLO_HEAD in text
        or any(pattern.search(text) for pattern, *_ in _LINES)
        or _CODE.search(text) is not None
    )


def read(text: str) -> Report:
    seen = [
        # one form of the operator failed; others may not
        Observation(
            operator_name(name.rstrip(".,;")), path, stage, status, "?", "one call, from a log"
        )
        for pattern, path, stage, status in _LINES
        for name in pattern.findall(text)
        if not name.startswith("aten.constant") and "::" in operator_name(name)
    ]
    _, _, after = text.partition(_HLO_HEAD)
    for opcode in _HLO.findall(after):
        seen.append(
            Observation(f"hlo::{opcode}", "xla", "compiled", Status.UNSUPPORTED, "?", "from a log")
        )
    codes = sorted(set(_CODE.findall(text)))
    says = f"a log ({', '.join(codes)})" if codes else "a log"
    return Report(tuple(seen), says)
