"""A command line option that is about CUDA: ``--no-cuda``, ``--gpu``, ``--gpu-ids`` …"""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings, _switches
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

STRINGS = (
    r"^--?(no|use|enable|disable|with|num|n|ngpus?|multi|single|on|main|master)?[-_]?"
    r"(cuda|gpus?|cudnn|ngpus?)([-_]?(id|ids|idx|index|num|number|device|devices|list|rank|per[-_]node|"
    r"memory|mem|benchmark|deterministic|available|only))?s?$|^--?(mps|no[-_]mps|fp16|amp|apex|nccl)$"
)
EVENTS = ("str",)
METHODS = ("add_argument", "add_option")
_FLAG = re.compile(STRINGS)
_CUDA = re.compile(r"cuda|gpu|cudnn")
_COUNTED = (
    "none: torchrun --nproc-per-node says how many processes there are, one per core; in the program "
    "torch.distributed.get_world_size()"
)
_CUDAS_OWN = ("memory", "mem", "benchmark", "deterministic")
_DECLARES = frozenset(("add_argument", "option", "add_option", "Argument"))


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if not _FLAG.search(event.name) or not _CUDA.search(event.name):
        return
    role, _, _ = _strings.unwrap(event.role)
    if _strings.is_option(role, view) and isinstance(role[-1], int):
        yield Hit(
            event.span,
            f"the option {event.name} is about CUDA",
            Confidence.CERTAIN,
            replacement=_instead(event, view),
        )


def _instead(event: Event, view: ModuleView) -> str:
    """What takes the place of an option that is no choice of one device; empty: as the rule says."""
    name = event.name.lstrip("-").replace("-", "_").lower()
    if "cudnn" in name or name.endswith(_CUDAS_OWN):
        return "keep it for CUDA: it says nothing on Neuron"
    if _switches.COUNT.search(name):
        return _COUNTED
    declared = [call for call in view.calls_at.get(event.at[0], ()) if call.name in _DECLARES]
    if any(("nargs", ("const", n)) in call.kwargs for call in declared for n in ("+", "*")):
        return _switches.LIST[1] if name in _switches.LISTS | _switches.NUMBERS else ""
    held = [v[1] for c in declared for k, v in c.kwargs if k == "default" and v and v[0] == "const"]
    asked = _switches.by_value(name, held)
    return asked[1] if asked is _switches.LIST else ""
