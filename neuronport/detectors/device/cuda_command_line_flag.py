"""A command line option that is about CUDA: ``--no-cuda``, ``--gpu``, ``--gpu-ids`` …"""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

STRINGS = (
    r"^--?(no|use|enable|disable|with|num|n|ngpus?|multi|single|on|main|master)?[-_]?"
    r"(cuda|gpus?|cudnn|ngpus?)([-_]?(id|ids|idx|index|num|number|device|devices|list|rank|per[-_]node|"
    r"memory|mem|benchmark|deterministic|available|only))?s?$|^--?(mps|no[-_]mps|fp16|amp|apex|nccl)$"
)
EVENTS = ("str",)
_FLAG = re.compile(STRINGS)
_CUDA = re.compile(r"cuda|gpu|cudnn")


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if not _FLAG.search(event.name) or not _CUDA.search(event.name):
        return
    role, _, _ = _strings.unwrap(event.role)
    if _strings.is_option(role, view) and isinstance(role[-1], int):
        yield Hit(event.span, f"the option {event.name} is about CUDA", Confidence.CERTAIN)
