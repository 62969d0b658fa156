"""States of CUDA's random generators: the device's own, whichever it is.

With CUDA the same call is made. On Neuron the device's generator is asked; where there is only the
CPU, one state is the CPU's and the list of all states is empty, as it was. A state that another kind
of device left in a checkpoint is passed over: it says nothing to this one.
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Left, seam
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "The state of the device's random generator"
NAMES = {
    "get_rng_state": "device_rng_state",
    "get_rng_state_all": "device_rng_states",
    "set_rng_state": "set_device_rng_state",
    "set_rng_state_all": "set_device_rng_states",
}
_BOTH = (
    "save device_rng_states() of the project's seam beside torch.get_rng_state(), and restore both",
    "torch.get_device_module(device).get_rng_state(), where the device offers it",
    "seed anew after resuming, from the seed and the step",
)


def fix(finding: Finding, source: Source, project: Project) -> Any:
    if finding.rule in ("cpu-rng-state-only", "host-rng-state-only"):
        return Left(finding, "by-hand", "another entry of the checkpoint is needed", _BOTH)
    if patterns.is_guarded(finding):
        return None
    name = NAMES.get(finding.rule.rpartition(".")[2])
    call = source.at(finding, ast.Call)
    if name is None:
        return None
    if call is None:
        return Left(finding, "unclear", "handed on, not called", _BOTH)
    edit = patterns.replace(source, call.func, seam(name))
    return Change(finding, "random-state", FixSafety.SAFE, TITLE, (edit,))
