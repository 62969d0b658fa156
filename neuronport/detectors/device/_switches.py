"""What a switch, a number or a list that stands for CUDA says, and what takes its place."""

from __future__ import annotations

import re
from typing import Any

SWITCH: tuple[str, str] = ("stands for CUDA", "")
"""What a name stands for, and what to write instead; empty: as the rule says, of a switch."""
OFF = (
    "turns CUDA off",
    "the device, chosen once: the CPU where this is given, else the accelerator that is there",
)
NUMBER = (
    "numbers a CUDA device",
    "one torch.device, chosen once, in place of the number and of tests for one: each process has its own "
    "core, that of its local rank (torch.accelerator.set_device_index; torch_xla.device() on the XLA path)",
)
LIST = (
    "lists CUDA devices by number",
    "no list: one process per core (torchrun --nproc-per-node), each with the device of its local rank; "
    "which cores a program may take is NEURON_RT_VISIBLE_CORES",
)
NUMBERS = frozenset(("gpu", "gpu_id", "gpuid", "gpu_index", "cuda_id", "cuda_device"))
LISTS = frozenset(("gpus", "gpu_ids", "gpu_list", "device_ids", "cuda_devices", "gpu_devices"))
COUNT = re.compile(
    r"^(n|num|nr)_?(of_)?(gpus?|cuda)|^(n|num)_?\w*gpus$|gpus?_(num|number|count)$|per_node$|multi_?gpu"
)
"""In a name: how many there are."""
_NEGATED = re.compile(r"^(no|not|without|disable)_?(cuda|gpu)")
_LISTED = re.compile(r"^\s*-?\d+\s*(,\s*-?\d+\s*)*$")
"""Numbers of devices, as a command line option has them."""


def by_name(name: str) -> tuple[str, str]:
    """What a setting of such a name says."""
    if name in NUMBERS:
        return NUMBER
    if name in LISTS:
        return LIST
    return OFF if _NEGATED.match(name) else SWITCH


def by_value(name: str, held: list[Any]) -> tuple[str, str]:
    """Likewise, where it is known what it holds."""
    held = [value for value in held if value is not None]
    if name in NUMBERS or name in LISTS:
        if held and all(isinstance(value, bool) for value in held):
            return SWITCH
        if held and all(isinstance(value, str) and _LISTED.match(value) for value in held):
            return LIST
    return by_name(name)
