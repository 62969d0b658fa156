"""A switch that stands for CUDA, read or set: ``args.cuda``, ``opt.gpu_ids``, ``self.use_cuda``."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

_COUNTS = frozenset(
    [
        "gpus",
        "ngpu",
        "n_gpu",
        "ngpus",
        "num_gpus",
        "n_gpus",
        "gpu_num",
        "gpu_index",
        "gpu_list",
        "device_ids",
        "ngpus_per_node",
        "gpus_per_node",
        "multi_gpu",
    ]
)
"""How many or which: what a port has to look at, but not a choice of CUDA in itself."""
NAMES = _COUNTS | frozenset(
    [
        "cuda",
        "no_cuda",
        "use_cuda",
        "nocuda",
        "gpu",
        "gpus",
        "use_gpu",
        "no_gpu",
        "gpu_id",
        "gpu_ids",
        "gpuid",
        "ngpu",
        "n_gpu",
        "ngpus",
        "num_gpus",
        "n_gpus",
        "cuda_device",
        "cuda_id",
        "on_gpu",
        "with_cuda",
        "enable_cuda",
        "gpu_num",
        "gpu_index",
        "use_gpus",
        "gpu_list",
        "device_ids",
        "multi_gpu",
        "ngpus_per_node",
        "gpus_per_node",
        "cuda_available",
        "has_cuda",
    ]
)
_NUMBERS = frozenset(("gpu", "gpu_id", "gpuid", "gpu_index", "cuda_id", "cuda_device"))
_NUMBERED = (
    "the local rank: torch.accelerator.set_device_index(local_rank) once, and a device without a number "
    "after that (torch_xla.device() on the XLA path)"
)
EVENTS = ("attr", "param")
ONLY = NAMES


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name not in NAMES:
        return
    if event.kind == "param":
        if event.name in ("device_ids", "cuda"):
            return
        says, instead = _said(event.name)
        yield Hit(
            event.span,
            f"the parameter {event.name} {says}",
            Confidence.POSSIBLE,
            replacement=instead,
        )
        return
    if view.kind(event.value).kind in ("tensor", "module", "array", "device", "class", "name"):
        return
    base = event.value
    if base is not None and base[0] == "ref":
        return
    likely = event.name not in _COUNTS and _is_settings(event, view)
    confidence = Confidence.LIKELY if likely else Confidence.POSSIBLE
    says, instead = _said(event.name)
    yield Hit(
        event.span,
        f"{view.text(event.value, whole=True)}.{event.name} {says}",
        confidence,
        replacement=instead,
    )


def _said(name: str) -> tuple[str, str]:
    """What a name stands for, and what to write instead; empty: as the rule says, of a switch."""
    return ("numbers a CUDA device", _NUMBERED) if name in _NUMBERS else ("stands for CUDA", "")


def _is_settings(event: Event, view: ModuleView) -> bool:
    """Whether the base is what holds settings: parsed arguments, a configuration, self."""
    base = event.value
    if base is None:
        return False
    if base[0] == "self":
        return True
    text = view.text(base).rpartition(".")[2].lower()
    if base[0] == "v":
        text = view.summary.definitions[base[1]].name.lower()
    return any(
        word in text
        for word in ("arg", "opt", "conf", "cfg", "param", "flag", "setting", "hparam", "self")
    )
