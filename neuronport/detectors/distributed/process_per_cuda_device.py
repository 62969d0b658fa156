"""As many processes are started as there are CUDA devices: none on a Neuron host."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence, Related
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("use",)
_SPAWNERS = {
    "torch.multiprocessing.spawn": ("nprocs", 2),
    "torch.multiprocessing.spawn.spawn": ("nprocs", 2),
    "torch.multiprocessing.start_processes": ("nprocs", 2),
    "torch.multiprocessing.spawn.start_processes": ("nprocs", 2),
    "torch_xla.distributed.xla_multiprocessing.spawn": ("nprocs", 2),
    "torch.distributed.launcher.LaunchConfig": ("nproc_per_node", 2),
    "torch.distributed.launcher.api.LaunchConfig": ("nproc_per_node", 2),
    "accelerate.notebook_launcher": ("num_processes", 2),
    "accelerate.launchers.notebook_launcher": ("num_processes", 2),
    "detectron2.engine.launch": ("num_gpus_per_machine", 1),
    "pytorch_lightning.strategies.launchers.MultiProcessingLauncher": ("num_processes", None),
}
ONLY = frozenset(name.rpartition(".")[2] for name in _SPAWNERS)
_COUNTS = frozenset(("torch.cuda.device_count", "torch.cuda.device_count.device_count"))


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.role != "call" or event.name.rpartition(".")[2] not in ONLY:
        return
    found = _SPAWNERS.get(view.index.canonical(event.name, view.summary))
    if found is None:
        return
    key, position = found
    count = view.argument(event, key, position)
    if count is None:
        return
    chain = _from_count(count, view, 0)
    if chain is None:
        return
    yield Hit(
        event.span,
        f"{key}={view.text(count)} comes from torch.cuda.device_count(), which is 0 on a Neuron "
        "host: no process is started",
        Confidence.CERTAIN if len(view.follow(count)) <= 1 else Confidence.LIKELY,
        related=chain,
    )


def _from_count(value: Value, view: ModuleView, depth: int) -> tuple[Related, ...] | None:
    """How a value comes from counting CUDA devices; None: it does not, as far as is known."""
    if value is None or depth > 4:
        return None
    for atom in view.follow(value):
        inner = atom.value
        if inner is None:
            continue
        if inner[0] == "call" and inner[1] is not None and inner[1][0] == "ref":
            if view.index.canonical(inner[1][1], atom.module) in _COUNTS:
                return atom.chain
            if inner[1][1] in ("builtins.min", "builtins.max", "builtins.int") and inner[2]:
                for item in inner[2]:
                    if item is not None and item[0] != "const":
                        chain = _from_count(item, view, depth + 1)
                        if chain is not None:
                            return (*atom.chain, *chain)
        if inner[0] == "bin":
            for item in inner[2:4]:
                chain = _from_count(item, view, depth + 1)
                if chain is not None:
                    return (*atom.chain, *chain)
    return None
