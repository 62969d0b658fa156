"""A launcher started for GPUs: ``subprocess.run("torchrun --nproc_per_node=8 train.py")``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Verdict
from neuronport.readers.python.facts import Event
from neuronport.source.processes import manner
from neuronport.source.view import ModuleView

EVENTS = ("str",)
_PER_NODE = r"--(?:nproc[-_]per[-_]node|num[-_]processes|nproc)(?:[= ](?:\d+|gpu|auto|\{\}))?"
_GPUS = (
    r"--(?:num[-_]gpus|gpus(?:[-_]per[-_](?:node|task))?|multi[-_]gpu|gpu[-_]ids|gres)"
    r"(?:[= ](?:gpu:)?[\w:{},]+)?"
)
_LAUNCHER = (
    r"\b(?:torchrun|accelerate launch|deepspeed|colossalai run|horovodrun|srun|sbatch|docker run"
    r"|torch\.distributed\.(?:launch|run))\b"
)
STRINGS = rf"{_LAUNCHER}.*?\s{_PER_NODE}|{_LAUNCHER}.*?\s{_GPUS}"
_TEXT = re.compile(STRINGS, re.S)
_FLAG = re.compile(rf"\s({_GPUS})(?=\s|$)|\s({_PER_NODE})(?=\s|$)")


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    match = _TEXT.search(event.name)
    if match is None:
        return
    role = event.role
    while role[0] in ("elem", "branch"):
        role = role[1]
    found = manner(role, view)
    if found is None:
        return
    confidence, _ = found
    flag = _FLAG.search(event.name)
    if flag is None:
        return
    if flag[1] is not None:
        message = f"a launcher is told of GPUs: {flag[1]}"
        yield Hit(event.span, message, confidence, verdict=Verdict.BREAKS)
    else:
        message = f"a launcher starts one process per device: {flag[2]}"
        yield Hit(event.span, message, confidence)
