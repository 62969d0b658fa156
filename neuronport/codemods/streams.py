"""CUDA's streams and events behind the seam; times between events by the host's clock elsewhere.

With CUDA the seam makes and asks the very objects that were written. Elsewhere there is one queue,
in which what comes later waits for what came before, so that waiting is nothing to do; and an event
synchronizes and reads the host's clock when it is recorded (what a Neuron event measures was found
to mean nothing). Without CUDA the old calls raised.
"""

from __future__ import annotations

import ast
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Left, seam
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety

TITLE = "Streams and events from one place"
_NAMES = {
    "Event": "device_event",
    "Stream": "device_stream",
    "stream": "on_stream",
    "StreamContext": "on_stream",
    "current_stream": "current_stream",
    "default_stream": "default_stream",
}
_RAW = frozenset(["cuda_stream", "_as_parameter_", "device_index", "stream_id"])
"""What other libraries take from a CUDA stream."""
_KERNELS = (
    'leave it to the code for CUDA that takes it, behind device_name() == "cuda"',
    "an NKI kernel in place of the one that runs on the stream",
)
_TIMING = (
    "events made by device_event() of the project's seam",
    "synchronize() and time.perf_counter() around what is measured",
)


def fix(finding: Finding, source: Source, project: Project) -> Any:
    if patterns.is_guarded(finding):
        return None
    if finding.rule == "event-timing":
        if source.binds("device_event") or _made_elsewhere(source, project):
            return Left(finding, "done", "the events are the host's clock outside of CUDA", ())
        return Left(finding, "needs-a-person", "goes with the events it is asked of", _TIMING)
    name = _NAMES.get(finding.rule.rpartition(".")[2])
    call = source.at(finding, ast.Call)
    node: ast.expr | None = call.func if call is not None else source.at(finding, ast.Attribute)
    if name is None or not isinstance(node, ast.Attribute | ast.Name):
        return None
    if call is not None:
        above = source.parent(call)
        if isinstance(above, ast.Attribute) and above.attr in _RAW:
            return Left(finding, "cuda-only", "another library takes the raw stream", _KERNELS)
        if name == "device_stream" and _is_given_away(source, call):
            return Left(finding, "cuda-only", "another library takes the raw stream", _KERNELS)
    return Change(
        finding, "streams", FixSafety.SAFE, TITLE, (patterns.replace(source, node, seam(name)),)
    )


def _is_given_away(source: Source, call: ast.Call) -> bool:
    """Whether the raw number of the stream a variable holds is read in the file."""
    stmt = source.parent(call)
    if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
        return False
    target = ast.dump(stmt.targets[0]).replace("Store()", "Load()")
    return any(
        isinstance(n, ast.Attribute) and n.attr in _RAW and ast.dump(n.value) == target
        for n in source.nodes
    )


def _made_elsewhere(source: Source, project: Project) -> bool:
    """Whether the file makes its events by the seam after this very port."""
    return any(
        f.rule == "api/torch.cuda.Event" and not patterns.is_guarded(f)
        for f in project.findings.get(source.path, ())
    )
