"""``torch.manual_seed(seed + rank)``: every worker builds another graph, and other weights."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ONLY = ("manual_seed", "manual_seed_all", "set_rng_state", "set_seed", "seed_everything")
_SEEDS = frozenset(
    [
        "torch.manual_seed",
        "torch.random.manual_seed",
        "torch.cuda.manual_seed",
        "torch.cuda.manual_seed_all",
        "torch_xla.core.xla_model.set_rng_state",
        "transformers.set_seed",
        "accelerate.utils.set_seed",
        "pytorch_lightning.seed_everything",
        "lightning.seed_everything",
    ]
)
_RANK = re.compile(
    r"^(local_|global_|process_|dp_|data_parallel_)?(rank|ordinal|process_index)$", re.I
)
_CALLS = re.compile(r"(^|\.)get_(global_|local_|data_parallel_)?(rank|ordinal)$|global_ordinal$")


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.role != "call" or not event.args:
        return
    if view.index.canonical(event.name, view.summary) not in _SEEDS:
        return
    if any(key == "device_specific" for key, _ in event.kwargs):
        return
    rank = _rank(event.args[0], view, 0)
    if rank:
        yield Hit(
            event.span,
            f"the seed depends on {rank}: a constant that differs makes another graph on every "
            "worker",
            # Data may be all that is drawn after it.
            Confidence.POSSIBLE,
        )


def _rank(value: Value, view: ModuleView, depth: int) -> str:
    """The rank in an expression, as it is called; '' where there is none."""
    if value is None or depth > 5:
        return ""
    tag = value[0]
    if tag in ("param", "attr") and _RANK.match(str(value[2])):
        return str(value[2])
    if tag == "v":
        definition = view.summary.definitions[value[1]]
        if _RANK.match(definition.name):
            return definition.name
        return _rank(definition.value, view, depth + 1)
    if tag == "call" and value[1] is not None:
        name = str(value[1][2]) if value[1][0] == "attr" else str(value[1][1])
        if _CALLS.search(name):
            return f"{name.rpartition('.')[2]}()"
        return next((r for r in (_rank(a, view, depth + 1) for a in value[2]) if r), "")
    if tag == "bin":
        return _rank(value[2], view, depth + 1) or _rank(value[3], view, depth + 1)
    return ""
